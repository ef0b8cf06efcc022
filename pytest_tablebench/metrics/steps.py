"""Steps of a strategy or a metric: ask a model, run a program, score an answer elsewhere.

Strategies and metrics are generators that yield steps and receive their outcomes. The driver
records, stores, prices and counts each step, whatever its purpose.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pytest_tablebench.serializers.content import Message


@dataclass(frozen=True)
class Ask:
    """Messages for a model; the generator receives a `Reply`.

    Arguments:
        messages: the whole conversation so far.
        model: the model to ask; None is the model under test. A judge has its own lane.
        expected: the text of a likely reply. A plan continues with it if there is no reply yet.
        tools: the tools that it may call, as in OpenAI's protocol.
    """

    messages: tuple[Message, ...]
    model: str | None = None
    expected: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Limits:
    """What a program may use. It may start no process.

    Arguments:
        cpu_s: seconds of processor time.
        wall_s: seconds by the clock.
        memory_mib: MiB in addition to the libraries that are loaded for it.
        output_bytes: of printed text, and of the value.
        disk_mib: MiB of its folder.
        files: the number of files in its folder.
    """

    cpu_s: float = 10.0
    wall_s: float = 30.0
    memory_mib: int = 1024
    output_bytes: int = 1_000_000
    disk_mib: int = 64
    files: int = 100


@dataclass(frozen=True)
class Execute:
    """A program for the sandbox; the generator receives an `Execution`.

    Arguments:
        program: Python source, as a model wrote it.
        files: the files in its folder, by name.
        limits: what it may use.
        runner: our Python source that runs it. It reads the text in the variable `program` and
            leaves its result in `value`. If empty, the program runs as a script and has no value.
        keeps: names of files that are sent back if the program wrote them.
        expected: a likely outcome. A plan continues with it if the program has not run yet.
    """

    program: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = Limits()
    runner: str = ""
    keeps: tuple[str, ...] = ()
    expected: Execution | None = None

    def key(self) -> str:
        """Return the SHA-256, as 64 hexadecimal digits, of all that can change the outcome."""
        files = {
            name: getattr(data, "digest", None) or hashlib.sha256(data).hexdigest()
            for name, data in self.files.items()
        }
        identity = [self.program, files, asdict(self.limits), self.runner, self.keeps]
        text = json.dumps(identity, sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Execution:
    """The outcome of a program.

    Arguments:
        outcome: `ok`; `error` for an exception; `timeout`, `memory`, `output` or `files` for the
            limit it exceeded; `killed` by a signal; `lost` with the process that ran it.
        output: the printed text.
        value: its value, as JSON values; numbers may be NaN.
        error: the exception, as `ZeroDivisionError: division by zero`.
        files: the files to keep, by name.
        seconds: by the wall clock; None if unknown.
        from_store: whether the outcome is stored from an earlier run.
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
    """Return an outcome as JSON values; its value is a JSON text, because it may contain NaN."""
    files = {name: base64.b64encode(data).decode("ascii") for name, data in ran.files.items()}
    plain = {name: getattr(ran, name) for name in _PLAIN}
    return {**plain, "value": json.dumps(ran.value), "files": files}


def read_execution(fields_read: Mapping[str, Any], *, from_store: bool = False) -> Execution:
    """Return an outcome from its `execution_fields`.

    Raises `ValueError`, `LookupError` or `TypeError` for other fields.
    """
    files = {name: base64.b64decode(data) for name, data in fields_read["files"].items()}
    plain = {name: fields_read[name] for name in _PLAIN}
    return Execution(
        **plain, value=json.loads(fields_read["value"]), files=files, from_store=from_store
    )


@dataclass(frozen=True)
class Grade:
    """An answer for a plain metric that is scored elsewhere; the outcome is a `Score`.

    Arguments:
        metric: its registered name.
        function: the registered function; the scoring process imports it by module and name.
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
