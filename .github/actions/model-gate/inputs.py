"""What the steps of the gate are told, and how they speak to the job that runs them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = [
    "INPUTS", "GateError", "check", "check_name", "choice", "lines", "merging", "one_line",
    "printable", "say", "write", "write_outputs",
]  # fmt: skip

INPUTS = frozenset(
    {
        "GATE_API_BASE", "GATE_API_KEY", "GATE_API_KEY_NAME", "GATE_ARGUMENTS", "GATE_AUTHOR",
        "GATE_BASELINE", "GATE_BASELINE_ARTIFACT", "GATE_BASELINE_REPOSITORY", "GATE_BRANCH",
        "GATE_CONNECTIONS", "GATE_DATASETS", "GATE_FOLDER", "GATE_GATES", "GATE_BUDGET",
        "GATE_MERGE", "GATE_MODEL", "GATE_NAME", "GATE_PACKAGE", "GATE_PULL",
        "GATE_PYTHON", "GATE_REPLAY", "GATE_SHARD", "GATE_TESTS", "GATE_TOKEN", "GATE_UNDECIDED",
    }
)  # fmt: skip
"""Every variable that is read; action.yml gives each step those it needs."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_SHARD = re.compile(r"[1-9][0-9]{0,2}/[1-9][0-9]{0,2}")
_KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}_(?:KEY|TOKEN)")


class GateError(Exception):
    """The gate cannot be run; the text says what to change."""


def check(environ: Mapping[str, str]) -> None:
    """Raise `GateError` for an input that cannot be meant, before anything is paid for."""
    check_name(environ)
    if not one_line(environ, "GATE_MODEL"):
        raise GateError("model: give the name of a model, such as gpt-4o or tablebench/lexical")
    choice(environ, "GATE_UNDECIDED", ("fail", "pass"))
    choice(environ, "GATE_REPLAY", ("auto", "always", "never"))
    if not lines(environ, "GATE_GATES") and not lines(environ, "GATE_TESTS"):
        raise GateError(
            "gates: give at least one, such as 'starter.performance >= 0.3', or tests of your own "
            "whose pytest configuration has bench_gate"
        )
    if one_line(environ, "GATE_BASELINE") and one_line(environ, "GATE_BASELINE_ARTIFACT"):
        raise GateError("baseline and baseline-artifact: give one of them")
    key_name = one_line(environ, "GATE_API_KEY_NAME")
    if key_name and (not _KEY_NAME.fullmatch(key_name) or key_name.startswith("GITHUB_")):
        raise GateError(
            "api-key-name: the environment variable litellm reads, in capitals and ending in "
            "_KEY or _TOKEN, such as OPENAI_API_KEY"
        )
    shard = one_line(environ, "GATE_SHARD")
    if shard and not _SHARD.fullmatch(shard):
        raise GateError('shard: a part of the cases, such as "2/4"')
    if merging(environ) and shard:
        raise GateError("shard and merge: give one of them")
    for variable in ("GATE_DATASETS", "GATE_BUDGET", "GATE_CONNECTIONS", "GATE_API_BASE"):
        one_line(environ, variable)


def check_name(environ: Mapping[str, str]) -> str:
    """Return the name of the gate's artifacts. Raises `GateError`."""
    name = one_line(environ, "GATE_NAME")
    if not _NAME.fullmatch(name):
        raise GateError("name: letters, digits, '.', '_' and '-', at most 60 of them")
    return name


def merging(environ: Mapping[str, str]) -> bool:
    """Whether this job merges parts."""
    wish = one_line(environ, "GATE_MERGE")
    if wish not in {"", "true"}:
        raise GateError("merge: true, or nothing")
    return bool(wish)


def lines(environ: Mapping[str, str], variable: str) -> list[str]:
    """Return the lines of an input, without blank ones and comments (#)."""
    found = (line.strip() for line in environ.get(variable, "").splitlines())
    return [line for line in found if line and not line.startswith("#")]


def one_line(environ: Mapping[str, str], variable: str) -> str:
    """Return an input of one line. Raises `GateError` where it has more."""
    value = environ.get(variable, "").strip()
    if any(character < " " for character in value):
        raise GateError(f"{input_name(variable)}: one line")
    return value


def choice(environ: Mapping[str, str], variable: str, choices: tuple[str, ...]) -> str:
    """Return an input that is one of a few words; the first where it is empty."""
    value = one_line(environ, variable) or choices[0]
    if value not in choices:
        raise GateError(f"{input_name(variable)}: {' or '.join(choices)}")
    return value


def input_name(variable: str) -> str:
    """Return the name of the input behind a variable."""
    return variable.removeprefix("GATE_").lower().replace("_", "-")


def printable(text: str) -> str:
    """Return a text of somebody else's without line ends and control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)[:200]


def write_outputs(environ: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Hand values to later steps; each is one line."""
    with Path(environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as stream:
        stream.writelines(f"{name}={output_value(value)}\n" for name, value in outputs.items())


def output_value(value: str) -> str:
    """Return a value unchanged; refuse one that would begin another output."""
    if "\n" in value or "\r" in value:
        raise GateError("a path of the runner contains a line end")
    return value


def say(level: str, text: str) -> None:
    """Show a line in the log and beside the job: notice, warning or error."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    write(f"::{level} title=tablebench::{escaped}\n")


def write(text: str) -> None:
    """Write to the log at once: a child's lines must not overtake it."""
    sys.stdout.write(text)
    sys.stdout.flush()
