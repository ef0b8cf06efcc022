"""When a failed call is made again. The dispatcher applies it to every call."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_tablebench.errors import ModelError


@dataclass(frozen=True)
class RetryPolicy:
    """How often and after what wait a call is made again.

    Arguments:
        retries: how many further attempts may follow the first.
        max_wait_s: no wait is longer than so many seconds; a server that asks for a longer one
            is not asked again, because asking earlier than it says only makes it worse.
    """

    retries: int
    max_wait_s: float = 60.0

    def wait(self, error: ModelError, attempt: int) -> float | None:
        """Return the seconds to wait before asking again, or None: do not ask again.

        The wait is what the server wishes by `Retry-After`. Where it has no wish, or wishes no
        wait at all, it is drawn between 0 and a bound of 1 s that doubles with each attempt, up
        to `max_wait_s` (exponential back-off with full jitter).

        The draw comes from the `random` module's own generator: the library that makes it has
        no argument for another. Waits are times, nothing that a result may depend on.

        Arguments:
            error: why the attempt failed.
            attempt: which attempt failed, 1 for the first.
        """
        if not error.retryable or attempt > self.retries or self._asks_too_much(error):
            return None
        if error.retry_after is not None and error.retry_after > 0:
            return error.retry_after
        # Imported here: `pytest_tablebench.models` loads without third-party libraries.
        from tenacity import RetryCallState, Retrying, wait_random_exponential

        state = RetryCallState(Retrying(), None, (), {})
        state.attempt_number = attempt
        return wait_random_exponential(max=self.max_wait_s)(state)

    def final(self, error: ModelError, attempts: int) -> ModelError:
        """Return the error to report when there is no further attempt: it says how many there were.

        A wait above `max_wait_s` concerns every case of the run, whatever the error itself.

        Arguments:
            error: why the last attempt failed; it is not changed, because a provider may raise
                the same object for another request.
            attempts: how many attempts were made.
        """
        too_much = self._asks_too_much(error)
        if attempts == 1 and not too_much:
            return error
        message = str(error)
        if too_much:
            message += (
                f"; the server asks for a wait of {error.retry_after:g} s, more than the "
                f"{self.max_wait_s:g} s allowed: run again later"
            )
        if attempts > 1:
            message += f" (after {attempts} attempts)"
        return ModelError(
            message,
            reason=error.reason,
            retryable=error.retryable,
            whole_run=error.whole_run or too_much,
            retry_after=error.retry_after,
        )

    def _asks_too_much(self, error: ModelError) -> bool:
        return (
            error.retryable
            and error.retry_after is not None
            and error.retry_after > self.max_wait_s
        )
