"""Errors of the project: each says what is wrong, where, and what to do about it."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

OUR_STOP = "tablebench "
"""How the reason begins where we end a session early: then the gates set the exit code."""

STOPPED = "stopped"
"""Reason of a `ModelError` for what is asked of nobody any more: it concerns the whole run."""

MODEL_STOPPED = "model_stopped"
"""Reason of a `ModelError` for what is not asked of one model any more; others go on."""

STOP_AFTER = 3
"""Failures in a row that no other case of a model can survive either, until it is given up."""

PENDING = "pending"
"""Reason of a `ModelError` for what was handed in and is answered another day."""

REFUSED = "bad_request"
"""Reason of a `ModelError` for a request that the server refused."""

CUT_OFF = "cut_off"
"""Reason of a `ModelError` for a reply that the token limit ended before any answer."""

METRIC = "metric_error"
"""Reason of a `ModelError` for an answer that a metric cannot score where it was to be scored."""

ENGINE = "engine"
"""Reason of a `ModelError` for what went wrong in our own processes that make the calls."""


class TableBenchError(Exception):
    """Base of every error raised on purpose by this project."""


class SettingsError(TableBenchError):
    """An option, ini key or name is wrong; reported before anything runs."""


class UnknownNameError(SettingsError):
    """A name that nobody has registered, so far."""


class TableError(TableBenchError, ValueError):
    """A table cannot be read, serialized or perturbed as asked; names table and cell."""


class MergedCellsError(TableError):
    """A flat table was asked for, and cells of this one are merged."""


class DataError(TableBenchError):
    """A dataset's files are there but cannot be used; names the file, row and field."""


class DataMissing(DataError):
    """A dataset's files are not there at all; says how to get them."""


class SmallPoolError(DataMissing):
    """A dataset has fewer demonstrations than its prompts should show, and is to be skipped."""


class MetricError(TableBenchError):
    """A dataset's own metric cannot score an answer; names metric, error, file and line."""


class NotJudgedError(TableBenchError):
    """A judge has no answer, or there is no judge: the score that it gives is absent.

    It is raised where a metric asks for the judge. One that knows a part of its score without
    may catch it, and raise another with what it knows.

    Arguments:
        nobody: whether no judge was named, so that no answer of the run is judged.
        reason: the kind under which a case without a score is counted.
        parts: the scores that the answer keeps.
        flags: of its record.
    """

    def __init__(
        self,
        message: str,
        *,
        nobody: bool = False,
        reason: str = "not_judged",
        parts: Mapping[str, float] | None = None,
        flags: Iterable[str] = (),
    ) -> None:
        super().__init__(message)
        self.nobody = nobody
        self.reason = reason
        self.parts = dict(parts or {})
        self.flags = tuple(flags)


class NothingToAskError(DataError):
    """None of a dataset's questions may be asked in the way that the options name."""


class StoreError(TableBenchError):
    """The answer store cannot be written; names the file and what to do.

    `whole_run`: no other answer can be kept either, as on a full disk.
    """

    def __init__(self, message: str, *, whole_run: bool = True) -> None:
        super().__init__(message)
        self.whole_run = whole_run


class ModelError(TableBenchError):
    """A model gave no answer.

    `reason` is one of the short kinds counted in reports (`rate_limit`, `timeout`, ...).
    `retryable` tells the retry loop whether asking again can help. `whole_run` marks what no
    other case of the model can survive either (a wrong key, an unknown model, nobody
    listening): after three of these in a row the model is asked no more, instead of failing every
    case for the same reason. The run stops with its last model.
    `retry_after` is the server's own wish in seconds, where it gave one. `refused` names the
    parameter that the server does not take (`system`: turns of the system). `given_up` says why
    the model is asked no more after this error; None while it is.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        retryable: bool = False,
        whole_run: bool = False,
        retry_after: float | None = None,
        refused: str | None = None,
        given_up: str | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.refused = refused
        self.retryable = retryable
        self.whole_run = whole_run
        self.retry_after = retry_after
        self.given_up = given_up

    def __reduce__(self) -> tuple[object, ...]:
        rebuild = partial(
            type(self),
            reason=self.reason,
            retryable=self.retryable,
            whole_run=self.whole_run,
            retry_after=self.retry_after,
            refused=self.refused,
            given_up=self.given_up,
        )
        return rebuild, (str(self),)


@contextlib.contextmanager
def writing(fault: str, hint: str = "") -> Iterator[None]:
    """Raise `SettingsError` for an `OSError` inside the block: `fault (reason)hint`."""
    try:
        yield
    except OSError as error:
        raise SettingsError(f"{fault} ({error.strerror or error}){hint}") from None


def described(error: BaseException) -> str:
    """Return in one line what went wrong in a part that is not ours, with file and line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
