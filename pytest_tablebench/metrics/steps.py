"""What is done for a strategy or a score: a model asked, a program run, an answer scored.

Both are generators that yield steps and are sent what came of them. Whoever drives them keeps
each step, serves it from the store, prices it and counts it, and knows nothing of what it is for.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pytest_tablebench.serializers.content import Message

__all__ = [
    "Ask",
    "Execute",
    "Execution",
    "Grade",
    "Limits",
    "Step",
    "execution_fields",
    "read_execution",
]


@dataclass(frozen=True)
class Ask:
    """Messages for a model; `Reply` is sent back.

    Arguments:
        messages: the whole conversation so far.
        model: who is asked; None is the model under test. A judge has a lane of its own.
        expected: the text of a likely reply. A plan continues with it where there is no reply yet.
    """

    messages: tuple[Message, ...]
    model: str | None = None
    expected: str = ""


@dataclass(frozen=True)
class Limits:
    """What a program may use. It may start no process.

    Arguments:
        cpu_s, wall_s: seconds of a processor, and by the clock.
        memory_mib: MiB beyond what the libraries take that are loaded for it.
        output_bytes: of printed text, and of the value.
        disk_mib: MiB of its folder.
        files: how many it may hold.
    """

    cpu_s: float = 10.0
    wall_s: float = 30.0
    memory_mib: int = 1024
    output_bytes: int = 1_000_000
    disk_mib: int = 64
    files: int = 100


@dataclass(frozen=True)
class Execute:
    """A program for the sandbox; `Execution` is sent back.

    Arguments:
        program: Python source, as a model wrote it.
        files: what lies in its folder, by name.
        limits: what it may use.
        runner: Python source of ours that runs it: it finds the text in the variable `program`,
            and leaves in `value` what it gives back. Empty: the program is run as a script, and
            gives nothing back. What it needs of the model's is in `files`.
        keeps: names of files that are sent back, where the program left them.
        expected: a likely outcome. A plan continues with it where the program has not run yet.
    """

    program: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = Limits()
    runner: str = ""
    keeps: tuple[str, ...] = ()
    expected: Execution | None = None

    def key(self) -> str:
        """Return the SHA-256, as 64 hexadecimal digits, of all that can change the outcome."""
        files = {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()}
        identity = [self.program, files, asdict(self.limits), self.runner, self.keeps]
        text = json.dumps(identity, sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Execution:
    """What came of a program.

    Arguments:
        outcome: `ok`; `error` for an exception; or which limit it met: `timeout`, `memory`,
            `output`, `files`; `killed` by a signal, `lost` with the process that ran it.
        output: what it printed.
        value: what it gave back, as JSON values; numbers may be NaN.
        error: the exception, as `ZeroDivisionError: division by zero`.
        files: those it was to keep, by name.
        seconds: by the wall clock; None when unknown.
        from_store: whether it was run earlier, and not again.
    """

    outcome: str
    output: str = ""
    value: Any = None
    error: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    seconds: float | None = None
    from_store: bool = False


_PLAIN = tuple(
    entry.name for entry in fields(Execution) if entry.name not in {"value", "files", "from_store"}
)


def execution_fields(ran: Execution) -> dict[str, Any]:
    """Return what came of a program as JSON values; its own value as text, for it may hold NaN."""
    files = {name: base64.b64encode(data).decode("ascii") for name, data in ran.files.items()}
    plain = {name: getattr(ran, name) for name in _PLAIN}
    return {**plain, "value": json.dumps(ran.value), "files": files}


def read_execution(fields_read: Mapping[str, Any], *, from_store: bool = False) -> Execution:
    """Return what `execution_fields` wrote. Raises `ValueError`, `LookupError`, `TypeError`."""
    files = {name: base64.b64decode(data) for name, data in fields_read["files"].items()}
    plain = {name: fields_read[name] for name in _PLAIN}
    return Execution(
        **plain, value=json.loads(fields_read["value"]), files=files, from_store=from_store
    )


@dataclass(frozen=True)
class Grade:
    """An answer for a plain metric, to be scored elsewhere; `Score` is sent back.

    Arguments:
        metric: its registered name.
        function: what is registered: it is found by its module and name where it scores.
        compat: the mode of the metric.
        arguments: prediction, references and context, pickled.
    """

    metric: str
    function: Callable[..., Any]
    compat: str
    arguments: bytes

    def key(self) -> str:
        """Return the SHA-256, as 64 hexadecimal digits, of all that can change the score."""
        identity = f"{self.metric} {self.compat} ".encode() + self.arguments
        return hashlib.sha256(identity).hexdigest()


Step = Ask | Execute
