"""Parse gates: `SCOPE.MEASURE OP BOUND` (design: section 6)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.record import TALLIES
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import shortened, unknown_name

MEASURES = (
    "performance", "robustness", "pass_rate", "no_answer", *TALLIES,
    "cost", "consistency", "changed_meaning",
)  # fmt: skip
"""The measures of gates. Any other name is a part of the score."""

COUNTS = ("no_answer", *TALLIES)
"""The measures that count cases."""

_USE = re.compile(r"turns|calls|failed_calls|calls_\w+")
"""The figures of conversations with tools, which are means of numbers per case."""

_TAG = re.compile(r"\{([^{}]*)\}\s*")
_PART = re.compile(r"[\w@^:/+-]{1,80}")

CORRECTED = "@corrected"
"""The end of a scope whose figures are by the corrected gold."""

EXAMPLE = "torr.performance >= 0.45"

_BOUND = re.compile(
    r"(?P<baseline>baseline)?\s*(?P<sign>[+-])?\s*(?:(?P<number>\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})"
    r"\s*(?P<percent>%)?)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Gate:
    """One gate. Gates that differ only in their spelling are equal.

    Args:
        scope: `all`, `run`, a benchmark or a dataset.
        filters: the names in brackets: serializers, perturbations, or names on the
            other axes (`pot`, or `strategy=pot`).
        measure: one of `MEASURES`, or a named part of the score.
        at_least: whether the operator is `>=`.
        bound: a share of 1, or dollars for cost. With `baseline`, the margin added to the
            baseline's value.
        check: the test whose pass rate is judged; None for the pass rate of the cases.
        tags: tags and values that an example must have.
        corrected: whether the figure is by the corrected gold.
    """

    scope: str
    filters: tuple[str, ...]
    measure: str
    at_least: bool
    bound: float
    baseline: bool = False
    text: str = field(default="", compare=False)
    check: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    corrected: bool = False

    @property
    def counted(self) -> bool:
        """Whether the measure is a count or a cost, judged without an interval (section 6)."""
        return self.measure == "cost" or self.measure in COUNTS or self.is_use

    @property
    def is_use(self) -> bool:
        """Whether the measure is a number of turns or of calls of tools."""
        return _USE.fullmatch(self.measure) is not None

    @property
    def allows_missing(self) -> bool:
        """Whether the gate names how many cases of its scope may have no answer."""
        return self.measure == "no_answer" and not self.at_least

    @property
    def part(self) -> str | None:
        """The named part of the score that the gate measures; None for another measure."""
        return None if self.measure in MEASURES else self.measure

    @property
    def at_end(self) -> bool:
        """Whether the gate can be judged only after all planned cases.

        The examples of a slice are not known before they are asked, parts of a score may be
        outside of 0 to 1, and consistency compares all answers to an example.
        """
        return bool(self.tags) or self.measure not in ("performance", "robustness", "pass_rate")

    def __str__(self) -> str:
        """Return the gate as it was written."""
        return self.text


def parse_gate(text: str | Gate) -> Gate:
    """Parse a gate such as `wikitq[html].performance >= baseline - 0.05`, unless it is parsed.

    Raises `SettingsError` with the gate, the position and what is valid there. It does not
    check whether the scope exists.
    """
    if isinstance(text, Gate):
        return text
    if not text.strip():
        raise SettingsError(f"a gate is empty; write for example {EXAMPLE!r}")
    position = _operator(text)
    if position < 0:
        raise _error(text, len(text.rstrip()), "`>=` or `<=` and a bound are missing")
    operator = text[position : position + 2]
    if operator not in (">=", "<="):
        raise _error(text, position, "a gate compares with `>=` or `<=`")
    scope, filters, tags, measure = _left(text, position)
    scope, corrected = _view(text, scope)
    if (scope == "run") != (measure == "cost"):
        raise _error(text, 0, "cost is measured for the whole run only: `run.cost <= 20`")
    scope, check = _check_name(text, scope, measure)
    bound, baseline = _bound(text, position + 2)
    claim = scope, filters, measure, operator == ">=", bound, baseline
    gate = Gate(*claim, " ".join(text.split()), check, tags, corrected)
    _check_range(gate, text, position + 2)
    return gate


def parse_gates(texts: Iterable[str]) -> list[Gate]:
    """Parse gates; keep the first of equal ones. Raises `SettingsError` as `parse_gate` does."""
    return list(dict.fromkeys(map(parse_gate, texts)))


def recorded_gates(run: RunFacts) -> list[str]:
    """Return the texts of the gates of a run, judged or not."""
    return [entry if isinstance(entry, str) else entry["gate"] for entry in run.gates]


def gate_without_baseline(gates: Iterable[Gate]) -> Gate | None:
    """Return the first gate that compares with a baseline; None if no gate does."""
    return next((gate for gate in gates if gate.baseline), None)


def baseline_needed(gate: Gate) -> str:
    """Return the message for a gate that compares with a baseline, if none is named."""
    return f"gate {gate.text!r} needs a baseline; name its run folder with --bench-baseline=RUN"


def _operator(text: str) -> int:
    """Return the index of the operator, preferably outside brackets; -1 without one."""
    depth, inside = 0, -1
    for index, mark in enumerate(text):
        depth += (mark in "[{") - (mark in "]}")
        if mark in "<>=":
            if depth <= 0:
                return index
            inside = index if inside < 0 else inside
    return inside


def _left(text: str, end: int) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...], str]:
    """Parse `SCOPE[NAME]{TAG=VALUE}.MEASURE` before the operator."""
    left = text[:end].rstrip()
    dot = left.rfind(".")
    if dot < 0 or "]" in left[dot:] or "}" in left[dot:]:
        raise _error(text, len(left), "`.` and a measure are missing: " + ", ".join(MEASURES))
    measure = left[dot + 1 :].strip()
    if measure not in MEASURES and (
        _PART.fullmatch(measure) is None or get_close_matches(measure, MEASURES, cutoff=0.75)
    ):
        raise SettingsError(_prefix(text) + unknown_name("measure", measure, MEASURES))
    whole, tags = _tags(text, left[:dot].rstrip())
    scope, filters = _scope(text, whole)
    if scope == "run" and tags:
        raise _error(text, left.find("{"), "the cost of a run has no tag")
    if scope == "run" and filters:
        raise _error(text, left.find("["), "the cost of a run has no serializer or perturbation")
    return scope, filters, tags, measure


def _tags(text: str, left: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split `SCOPE{TAG=VALUE}{TAG=VALUE}`; a value may contain anything but a brace."""
    depth, start = 0, len(left)
    for position, mark in enumerate(left):
        depth += (mark == "[") - (mark == "]")
        if mark == "{" and depth == 0:
            start = position
            break
    tags: dict[str, str] = {}
    position = start
    while position < len(left):
        group = _TAG.match(left, position)
        tag, _, value = (group[1] if group else "").partition("=")
        if group is None or not (tag.strip() and value.strip()) or tag.strip() in tags:
            raise _error(
                text,
                position,
                "braces contain one tag and its value, each tag once: `{structure=merged}`",
            )
        tags[tag.strip()] = value.strip()
        position = group.end()
    return left[:start].rstrip(), tuple(sorted(tags.items()))


def _scope(text: str, left: str) -> tuple[str, tuple[str, ...]]:
    """Parse `SCOPE`, `SCOPE[NAME]` or `SCOPE[NAME][NAME]`; brackets inside a name must match."""
    name, filters = left, []
    if "[" in left or "]" in left:
        name = left.partition("[")[0]
        depth, start = 0, 0
        for index in range(len(name), len(left)):
            mark = left[index]
            if depth == 0 and mark != "[" and not mark.isspace():
                raise _error(text, index, "a bracket has no counterpart")
            if mark == "[":
                depth += 1
                start = index + 1 if depth == 1 else start
            elif mark == "]":
                depth -= 1
                if depth == 0:
                    filters.append(left[start:index].strip())
        if depth or "]" in name:
            raise _error(text, len(left), "a bracket has no counterpart")
    if not name.strip():
        raise _error(text, 0, "the scope is missing: `all`, a benchmark or a dataset")
    if not all(filters) or len(filters) > 2:
        *names, last = (axis.name for axis in NAMED)
        raise _error(
            text,
            len(name),
            f"brackets contain a {', '.join(names)} or {last}; up to two",
        )
    return name.strip(), tuple(sorted(filters))


def _view(text: str, scope: str) -> tuple[str, bool]:
    """Split `SCOPE@corrected`."""
    name, mark, rest = scope.partition(CORRECTED)
    name, rest = name.strip(), rest.strip()
    if not mark or (rest and not rest.startswith("::")):
        return scope, False
    if not name:
        raise _error(text, 0, "the scope is missing: `all`, a benchmark or a dataset")
    if name == "run":
        raise _error(text, 0, "the cost of a run does not depend on the gold")
    if rest or "::" in name:
        raise _error(text, 0, "tests read the published gold: leave out `@corrected`")
    return name, True


def _check_name(text: str, scope: str, measure: str) -> tuple[str, str | None]:
    """Split `DATASET::TEST`; the only measure of a test is its pass rate."""
    dataset, separator, check = (part.strip() for part in scope.partition("::"))
    if not separator:
        return scope, None
    if not dataset or not check or dataset in ("all", "run"):
        raise _error(text, 0, "write a test after its dataset: `prices::test_tone.pass_rate`")
    if measure != "pass_rate":
        raise _error(text, 0, f"a test has only a pass rate: `{dataset}::{check}.pass_rate`")
    return dataset, check


def _bound(text: str, start: int) -> tuple[float, bool]:
    """Parse the number, or `baseline` with or without a margin, after the operator."""
    right = text[start:].strip()
    bound_match = _BOUND.fullmatch(right)
    help_text = "the bound is a number (0.45 or 45 %) or `baseline - 0.05`"
    if not right or bound_match is None:
        raise _error(text, start, help_text)
    number, sign, baseline = bound_match["number"], bound_match["sign"], bound_match["baseline"]
    if not number and (sign or not baseline):
        raise _error(text, start, help_text)
    if number and baseline and not sign:
        raise _error(text, start, help_text)
    value = float(number or 0) / (100 if bound_match["percent"] else 1)
    return (-value if sign == "-" and value else value), bool(baseline)


def _check_range(gate: Gate, text: str, position: int) -> None:
    if gate.measure == "cost":
        if gate.bound < 0 and not gate.baseline:
            raise _error(text, position, "the bound of a cost is in dollars, 0 or more")
    elif gate.is_use:
        if gate.bound < 0 and not gate.baseline:
            raise _error(text, position, "the bound is a number of turns or calls, 0 or more")
    elif not -1 <= gate.bound <= 1 or (gate.bound < 0 and not gate.baseline):
        raise _error(text, position, "the bound is a share from 0 to 1; write 45 % or 0.45 for 45")


def _error(text: str, position: int, message: str) -> SettingsError:
    return SettingsError(f"{_prefix(text)}at character {position + 1}: {message}")


def _prefix(text: str) -> str:
    return f"gate {shortened(' '.join(text.split()), 100)!r}: "
