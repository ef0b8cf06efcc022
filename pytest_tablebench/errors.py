"""The errors of this package. Each message says what is wrong, where, and what to do."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

OUR_STOP = "tablebench "
"""The start of the reason when we end a session early; the gates then set the exit code."""

STOPPED = "stopped"
"""Reason of a `ModelError` if the whole run makes no further calls."""

MODEL_STOPPED = "model_stopped"
"""Reason of a `ModelError` if one model gets no further calls and others continue."""

STOP_AFTER = 3
"""The number of consecutive failures of the whole model after which it gets no more calls."""

SKIPPED = "skipped"
"""The reason of a case whose test pytest skipped before the case had a result."""

PENDING = "pending"
"""Reason of a `ModelError` for a request in a batch that is not answered yet."""

REFUSED = "bad_request"
"""Reason of a `ModelError` for a request that the server refused."""

CUT_OFF = "cut_off"
"""Reason of a `ModelError` for a reply that the token limit ended before any answer."""

CONTENT_FILTER = "content_filter"
"""Reason of a `ModelError` for an answer that the provider's filter withheld."""

REFUSED_ANSWER = "refused"
"""Reason of a `ModelError` for a reply in which the provider marks a refusal."""

EMPTY = "empty"
"""Reason of a `ModelError` for a complete reply without any text."""

THOUGHTS_ALONE = "thoughts_alone"
"""Reason of a `ModelError` for a complete reply with thoughts and without an answer."""

PROMPT_CUT_BY_SERVER = "prompt_cut_by_server"
"""Reason of a `ModelError` for a reply to a prompt of which the server read only a part."""

OUT_OF_TURNS = "out_of_turns"
"""Reason of a `ModelError` for a conversation whose last turn still calls tools."""

PAID_WITHOUT_ANSWER = frozenset(
    {
        *(CUT_OFF, CONTENT_FILTER, REFUSED_ANSWER, EMPTY, THOUGHTS_ALONE, PROMPT_CUT_BY_SERVER),
        OUT_OF_TURNS,
    }
)
"""The reasons of replies that are paid for, stored and kept in records, but are no answer."""

METRIC = "metric_error"
"""Reason of a `ModelError` for an answer that a metric could not score in another process."""

ENGINE = "engine"
"""Reason of a `ModelError` for a failure in the engine's own processes."""


class TableBenchError(Exception):
    """The base of all errors that this package raises on purpose."""


class SettingsError(TableBenchError):
    """An option, ini key or name is wrong; reported before anything runs."""


class UnknownNameError(SettingsError):
    """A name that is not registered so far."""


class TableError(TableBenchError, ValueError):
    """A table cannot be read, serialized or perturbed; the message names table and cell."""


class LargeWorkbookError(TableError):
    """A workbook has more values than openpyxl can make objects of."""


class MergedCellsError(TableError):
    """The table has merged cells, but a flat table is needed."""


class DataError(TableBenchError):
    """A dataset's files cannot be used; the message names file, row and field."""


class DataMissing(DataError):
    """A dataset's files are missing; the message says how to get them."""


class SmallPoolError(DataMissing):
    """A dataset has fewer demonstrations than its prompts should show, so it is skipped."""


class MetricError(TableBenchError):
    """A dataset's metric failed; the message names metric, error, file and line."""


class NotJudgedError(TableBenchError):
    """A judge did not answer, or the run has no judge, so a judged score is missing.

    It is raised in a metric that asks the judge. A metric that can compute a part of its score
    without the judge may catch it and raise another with these parts.

    Arguments:
        no_judge: whether the run has no judge.
        reason: the reason under which a case without a score is counted.
        parts: the scores that the answer keeps.
        flags: of its record.
    """

    def __init__(
        self,
        message: str,
        *,
        no_judge: bool = False,
        reason: str = "not_judged",
        parts: Mapping[str, float] | None = None,
        flags: Iterable[str] = (),
    ) -> None:
        super().__init__(message)
        self.no_judge = no_judge
        self.reason = reason
        self.parts = dict(parts or {})
        self.flags = tuple(flags)


class NothingToAskError(DataError):
    """The options exclude all questions of a dataset."""


class StoreError(TableBenchError):
    """The store cannot be written; the message names the file and what to do.

    `whole_run` is true if no other answer can be stored either, as on a full disk.
    """

    def __init__(self, message: str, *, whole_run: bool = True) -> None:
        super().__init__(message)
        self.whole_run = whole_run


class ModelError(TableBenchError):
    """A model gave no answer.

    Arguments:
        reason: the short kind that reports count (`rate_limit`, `timeout`, ...).
        retryable: whether asking again can help.
        whole_run: whether every other case of the model would fail in the same way (a wrong key, an
            unknown model, no server). After three of these in a row the model gets no more calls.
            The run stops with its last model.
        retry_after: the seconds that the server asks to wait, or None.
        refused: the parameter that the server does not accept (`system` for system messages).
        given_up: why the model gets no more calls after this error, or None.
        spent: tokens and cost of a response with an error that was paid for, named as in `Reply`;
            None for no payment.
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
        spent: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.refused = refused
        self.retryable = retryable
        self.whole_run = whole_run
        self.retry_after = retry_after
        self.given_up = given_up
        self.spent = spent
        self.room: int | None = None
        """The tokens that the prompt leaves for the reply, if more were requested."""
        self.prompt_sent: int | None = None
        """About how many tokens the prompt has, if the server read only a part of it."""

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), reason=self.reason), self.args, vars(self)


def missing_package(subject: str, packages: str, extra: str) -> str:
    """Return the message that `subject` needs packages, with the command that installs them."""
    return f"{subject} needs {packages}: {install_command(extra)}"


def install_command(extra: str) -> str:
    """Return the command that installs this package with an extra."""
    return f"pip install 'pytest-tablebench[{extra}]'"


@contextlib.contextmanager
def writing(fault: str, hint: str = "") -> Iterator[None]:
    """Raise `SettingsError` for an `OSError` inside the block: `fault (reason)hint`."""
    try:
        yield
    except OSError as error:
        raise SettingsError(f"{fault} ({error.strerror or error}){hint}") from None


@contextlib.contextmanager
def errors_of(source: str, *kinds: type[Exception]) -> Iterator[None]:
    """Put the source in front of errors inside the block; those of `kinds` become `SettingsError`.

    A `SettingsError` keeps its class.
    """
    try:
        yield
    except SettingsError as error:
        raise type(error)(f"{source}: {error}") from None
    except kinds as error:
        raise SettingsError(f"{source}: {error}") from None


def described(error: BaseException) -> str:
    """Return an error of a registered part in one line, with its file and line."""
    frames = traceback.extract_tb(error.__traceback__)
    location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{location}"
