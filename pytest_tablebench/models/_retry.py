"""The one bounded retry loop around a provider."""

from __future__ import annotations

import time
from collections.abc import Callable

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models._base import Provider, Reply, Request

__all__ = ["ask"]

MAX_WAIT_S = 60.0


def ask(
    provider: Provider,
    request: Request,
    *,
    retries: int,
    sleep: Callable[[float], None] = time.sleep,
    on_retry: Callable[[ModelError, int, float], None] | None = None,
) -> Reply:
    """Ask until there is an answer, an error that asking again cannot cure, or no retry left.

    Between two attempts it waits as long as the server wishes or else a random time under an
    exponentially growing bound, never above 60 seconds.

    Arguments:
        provider: who answers.
        request: what is asked.
        retries: how many further attempts may follow the first.
        sleep: waits so many seconds.
        on_retry: told the error, the number of the failed attempt and the wait that follows.
    """
    # Imported here: `pytest_tablebench.models` loads without third-party libraries.
    from tenacity import (
        RetryCallState,
        Retrying,
        retry_if_exception,
        stop_after_attempt,
        wait_random_exponential,
    )

    jitter = wait_random_exponential(max=MAX_WAIT_S)
    attempts = 0

    def retryable(error: BaseException) -> bool:
        return isinstance(error, ModelError) and error.retryable

    def wait(state: RetryCallState) -> float:
        error = _error(state)
        if error is not None and error.retry_after is not None:
            return min(max(error.retry_after, 0.0), MAX_WAIT_S)
        return jitter(state)

    def before_sleep(state: RetryCallState) -> None:
        error = _error(state)
        if on_retry is not None and error is not None:
            on_retry(error, state.attempt_number, state.upcoming_sleep)

    def once() -> Reply:
        nonlocal attempts
        attempts += 1
        return provider.complete(request)

    retrying = Retrying(
        stop=stop_after_attempt(retries + 1),
        retry=retry_if_exception(retryable),
        wait=wait,
        sleep=sleep,
        before_sleep=before_sleep,
        reraise=True,
    )
    try:
        return retrying(once)
    except ModelError as error:
        if attempts == 1:
            raise
        last = error
    # A new exception: the provider may raise the same object again for another request.
    raise ModelError(
        f"{last} (after {attempts} attempts)",
        reason=last.reason,
        retryable=last.retryable,
        whole_run=last.whole_run,
        retry_after=last.retry_after,
    )


def _error(state: object) -> ModelError | None:
    """The error of the attempt that a tenacity call state describes."""
    outcome = getattr(state, "outcome", None)
    error = outcome.exception() if outcome is not None else None
    return error if isinstance(error, ModelError) else None
