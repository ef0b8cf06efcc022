"""When a failed call is retried. The dispatcher applies this policy to every call."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_tablebench.errors import ModelError


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call is retried, and after what wait.

    Arguments:
        retries: how many attempts may follow the first.
        max_wait_s: the longest wait in seconds. If a server asks for a longer one, the call is not
            retried, because an earlier retry would be refused too.
    """

    retries: int
    max_wait_s: float = 60.0

    def wait(self, error: ModelError, attempt: int) -> float | None:
        """Return the seconds to wait before the next attempt, or None for no further attempt.

        The wait is the server's `Retry-After`. If that is missing or 0, the wait is drawn between 0
        and a bound of 1 s that doubles with each attempt, up to `max_wait_s` (exponential back-off
        with full jitter).

        The draw uses the global generator of `random`, because tenacity takes no other. No result
        depends on it.

        Arguments:
            error: why the attempt failed.
            attempt: the number of the failed attempt, from 1.
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
        """Return the error to report after the last attempt; it contains the number of attempts.

        A required wait above `max_wait_s` makes any error an error of the whole run.

        Arguments:
            error: why the last attempt failed. It is not changed, because a provider may raise the
                same object for another request.
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
            spent=error.spent,
        )

    def _asks_too_much(self, error: ModelError) -> bool:
        return (
            error.retryable
            and error.retry_after is not None
            and error.retry_after > self.max_wait_s
        )
