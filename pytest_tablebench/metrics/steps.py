"""What a strategy or a judged metric has done for it: a model asked, a program run.

Both are generators that yield steps and are sent what came of them. Whoever drives them keeps
each step, serves it from the store, prices it and counts it, and knows nothing of what it is for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_tablebench.serializers.content import Message

__all__ = ["Ask", "Execute", "Execution", "Limits", "Step"]


@dataclass(frozen=True)
class Ask:
    """Messages for a model; `Reply` is sent back.

    Arguments:
        messages: the whole conversation so far.
        model: who is asked; None is the model under test. A judge has a lane of its own.
    """

    messages: tuple[Message, ...]
    model: str | None = None


@dataclass(frozen=True)
class Limits:
    """What a program may use: seconds, MiB of memory, bytes of printed text."""

    cpu_s: float = 10.0
    wall_s: float = 30.0
    memory_mib: int = 1024
    output_bytes: int = 1_000_000


@dataclass(frozen=True)
class Execute:
    """A program for the sandbox; `Execution` is sent back.

    Arguments:
        program: Python source.
        files: what lies in its folder, by name.
        limits: what it may use.
    """

    program: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    limits: Limits = Limits()

    def key(self) -> str:
        """Return the SHA-256, as 64 hexadecimal digits, of all that can change the outcome."""
        files = {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()}
        said = json.dumps([self.program, files, asdict(self.limits)], sort_keys=True)
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Execution:
    """What came of a program.

    Arguments:
        outcome: `ok`, or the short kind of what went wrong (`error`, `timeout`, `memory`, ...).
        output: what it printed.
        value: what it gave back, as JSON values.
        seconds: by the wall clock; None when unknown.
        from_store: whether it was run earlier, and not again.
    """

    outcome: str
    output: str = ""
    value: Any = None
    seconds: float | None = None
    from_store: bool = False


Step = Ask | Execute
