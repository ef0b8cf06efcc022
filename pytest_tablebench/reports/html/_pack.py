"""The cases of a run as compressed blocks inside the page.

The index holds what filters, search and rows need and is unpacked when the page opens; blocks
of details, tables and prompts are unpacked when a case in them is opened. The search knows the
beginnings of texts only: to unpack all details would take seconds in a large run. A block is JSON
in ASCII, deflated, in base64, so no text in it can end the element that holds it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_tablebench.reports.html._drawn import shown_chart
from pytest_tablebench.reports.html._tables import shown_example
from pytest_tablebench.results import Record
from pytest_tablebench.results._texts import ExampleText, Text, TranscriptText, example_key
from pytest_tablebench.util.names import are, counted

MIXED, WORSE, BETTER, CHANGED, TURNED = 1, 2, 4, 8, 16
"""Marks of a case: its example is right in some configurations and wrong in others; worse or
better than in the baseline; another text than the stored one, with the same or another verdict."""

_DETAILS, _TABLES, _PROMPTS = 256, 64, 24
_REPLY_LIMITS = (20_000, 8_000, 3_000, 1_200, 500, 200)
_DETAIL_BUDGET, _TABLE_BUDGET = 13_000_000, 6_500_000
_WRONG_PROMPT_BUDGET, _RIGHT_PROMPT_BUDGET = 9_000_000, 5_000_000
_TURNS, _TURN_LIMIT = 40, 20_000
_PROMPT_LIMIT = 60_000
_OUTCOMES = ("right", "wrong", "no_answer")


@dataclass(frozen=True)
class CaseMarks:
    """Facts about cases from outside the run, by case id.

    `before` holds a flipped case's outcome and reply in the baseline.
    """

    flags: Mapping[str, int]
    before: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Pack:
    """Blocks by the ids of their elements, and what was cut to make them fit.

    `datasets`, `serializers` and `perturbations` give the numbers by which filters name them.
    """

    blocks: Mapping[str, str]
    datasets: tuple[str, ...]
    serializers: tuple[str, ...]
    perturbations: tuple[str, ...]
    notes: tuple[str, ...]


def pack(
    records: Sequence[Record],
    texts: Iterable[Text],
    marks: CaseMarks,
    facts: Mapping[str, Any],
    tags: Mapping[tuple[str, str], int],
) -> Pack:
    """Return all cases of one run as blocks; `facts` goes into the index as it is.

    `tags` are the names and values that filters know, with their numbers.
    """
    ordered = sorted(
        records, key=lambda r: (r.dataset, r.example_id, r.serializer, r.perturbation, r.case_id)
    )
    names = {
        axis: tuple(sorted({getattr(record, axis) for record in ordered}))
        for axis in ("dataset", "serializer", "perturbation")
    }
    blocks, places = _pack_texts(ordered, texts)
    details, limit = _pack_details(ordered, marks)
    blocks |= details
    index = _index(ordered, names, places, marks)
    for entry, found in zip(index["examples"], _tags(ordered), strict=True):
        entry.append([tags[tag] for tag in found.items() if tag in tags])
    index["tags"] = [[name[:80], value[:200]] for name, value in tags]
    index |= {"facts": dict(facts), "sizes": [_DETAILS, _TABLES, _PROMPTS], "limit": limit}
    blocks["index"] = _deflated(index)
    return Pack(
        blocks,
        names["dataset"],
        names["serializer"],
        names["perturbation"],
        tuple(_notes(ordered, places, limit)),
    )


def _deflated(value: Any, level: int = 6) -> str:
    data = json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
    return base64.b64encode(zlib.compress(data, level)).decode("ascii")


# The index


def _index(
    records: Sequence[Record],
    names: Mapping[str, tuple[str, ...]],
    places: _Places,
    marks: CaseMarks,
) -> dict[str, Any]:
    numbers = {axis: {name: i for i, name in enumerate(found)} for axis, found in names.items()}
    examples: dict[tuple[str, str], int] = {}
    listed: list[list[Any]] = []
    reasons: dict[str, int] = {}
    columns: dict[str, list[Any]] = {name: [] for name in ("e", "s", "p", "o", "v", "r", "f")}
    columns |= {"a": [], "t": [], "q": [], "h": [], "n": [], "k": []}
    mixed = _mixed(records)
    for record in records:
        key = (record.dataset, record.example_id)
        if key not in examples:
            examples[key] = len(listed)
            question = places.questions.get(key, "")
            references = " | ".join(map(str, record.references))
            dataset = numbers["dataset"][record.dataset]
            listed.append([dataset, record.example_id, question[:300], references[:120]])
        example = example_key(record.dataset, record.example_id, record.perturbation)
        reason = -1
        if record.score is None:
            reason = reasons.setdefault(str(record.reason or "unknown"), len(reasons))
        columns["e"].append(examples[key])
        columns["s"].append(numbers["serializer"][record.serializer])
        columns["p"].append(numbers["perturbation"][record.perturbation])
        columns["o"].append(_OUTCOMES.index(_outcome(record)))
        columns["v"].append(_finite(record.score, 4))
        columns["r"].append(reason)
        columns["f"].append(marks.flags.get(record.case_id, 0) | (MIXED if key in mixed else 0))
        columns["a"].append(_text(record.prediction)[:120])
        columns["t"].append(places.tables.get(example, -1))
        columns["q"].append(places.prompts.get(record.prompt_digest or "", -1))
        columns["h"].append(places.prompts.get(record.transcript or "", -1))
        columns["n"].append(record.repeat)
        # What links go by: ids hold slugs, so they do not follow from the names.
        columns["k"].append(record.case_id)
    return {
        "count": len(records),
        "names": [list(names[axis]) for axis in ("dataset", "serializer", "perturbation")],
        "reasons": list(reasons),
        "examples": listed,
        "columns": columns,
    }


def _outcome(record: Record) -> str:
    """Return the outcome; by the score where a record has one that nobody knows."""
    if record.outcome in _OUTCOMES:
        return record.outcome
    return "no_answer" if record.score is None else "right" if record.passed else "wrong"


def _tags(records: Iterable[Record]) -> Iterable[Mapping[str, str]]:
    found: dict[tuple[str, str], Mapping[str, str]] = {}
    for record in records:
        key = record.dataset, record.example_id
        found[key] = found.get(key) or record.tags
    return found.values()


def _mixed(records: Iterable[Record]) -> set[tuple[str, str]]:
    seen: dict[tuple[str, str], set[str]] = {}
    for record in records:
        if record.outcome != "no_answer":
            seen.setdefault((record.dataset, record.example_id), set()).add(record.outcome)
    return {key for key, outcomes in seen.items() if len(outcomes) > 1}


# Details


def _pack_details(records: Sequence[Record], marks: CaseMarks) -> tuple[dict[str, str], int]:
    """Return the blocks of details, replies cut as far as it takes to fit."""
    found: dict[str, str] | None = None
    for limit in _REPLY_LIMITS:
        found = _details(records, marks, limit)
        if found is not None:
            return found, limit
    # Not even so: the page stays small, and says that nothing of the replies is in it.
    return _details(records, marks, 0) or {}, 0


def _details(records: Sequence[Record], marks: CaseMarks, limit: int) -> dict[str, str] | None:
    # A first guess without compressing: it halves text at the very least.
    if limit and sum(min(len(r.raw or ""), limit) for r in records) > 6 * _DETAIL_BUDGET:
        return None
    blocks, size = {}, 0
    for number, start in enumerate(range(0, len(records), _DETAILS)):
        chunk = [_detail(record, marks, limit) for record in records[start : start + _DETAILS]]
        block = _deflated(chunk)
        size += len(block)
        if limit and size > _DETAIL_BUDGET:
            return None
        blocks[f"d{number}"] = block
    return blocks


class _Excerpt(str):
    """The beginning of a text, with the length of the whole."""

    __slots__ = ("whole",)
    whole: int


def excerpt(record: Record) -> Record:
    """Return a record with as much of its long texts as a page may show."""
    return replace(record, raw=_beginning(record.raw), prediction=_beginning(record.prediction))


def _beginning(text: Any) -> Any:
    if not isinstance(text, str) or len(text) <= _REPLY_LIMITS[0]:
        return text
    beginning = _Excerpt(text[: _REPLY_LIMITS[0] + 1])
    beginning.whole = len(text)
    return beginning


def _length(text: str) -> int:
    return text.whole if isinstance(text, _Excerpt) else len(text)


def _detail(record: Record, marks: CaseMarks, limit: int) -> list[Any]:
    raw, read = record.raw, _text(record.prediction)
    parts = {str(name)[:80]: _finite(value, 6) for name, value in list(record.parts.items())[:40]}
    cost, latency = _finite(record.cost_usd, 8), _finite(record.latency_s, 4)
    facts = [record.strategy, record.modality, record.model, record.metric, list(record.flags)]
    checks = list(record.checks.items())[:40]
    outcome, reply = marks.before.get(record.case_id, (None, ""))
    return [
        record.case_id,
        None if raw is None else raw[:limit],
        0 if raw is None else _length(raw),
        None if record.prediction is None else read[:limit],
        _length(read),
        [str(reference)[:2000] for reference in record.references[:10]],
        len(record.references),
        parts,
        facts,
        [latency, record.prompt_tokens, record.completion_tokens, cost, record.from_store],
        record.prompt_digest,
        outcome and [outcome, reply[: min(limit, 2000)], _length(reply)],
        [[str(name)[:200], None if passed is None else bool(passed)] for name, passed in checks],
        shown_chart(record),
    ]


def _finite(value: Any, digits: int) -> float | str | None:
    """Return a number that JSON has, anything else as text."""
    if value is None:
        return None
    if isinstance(value, int | float) and abs(value) < 1e300:  # also false for NaN
        return round(float(value), digits)
    return str(value)[:200]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, default=str)


# Tables and prompts


@dataclass
class _Places:
    """Where the texts of a case are: block number times block size plus place in the block."""

    questions: dict[tuple[str, str], str]
    tables: dict[str, int]
    prompts: dict[str, int]
    tables_left_out: int = 0
    prompts_left_out: int = 0


class _Blocks:
    """Collects values into blocks until a budget is used up."""

    def __init__(self, size: int, budget: int, store: Callable[[str], int]) -> None:
        self._size, self._budget, self._store = size, budget, store
        self._waiting: list[tuple[Callable[[int], None], Any]] = []
        self.left_out = 0

    def add(self, value: Any, place: Callable[[int], None]) -> None:
        if self._budget <= 0:
            self.left_out += 1
            return
        self._waiting.append((place, value))
        if len(self._waiting) == self._size:
            self.close()

    def close(self) -> None:
        """Store what is waiting, unless it does not fit any more."""
        if not self._waiting:
            return
        block = _deflated([value for _, value in self._waiting])
        self._budget -= len(block)
        if self._budget < 0:
            self.left_out += len(self._waiting)
        else:
            number = self._store(block)
            for offset, (place, _) in enumerate(self._waiting):
                place(number * self._size + offset)
        self._waiting = []


def _pack_texts(records: Sequence[Record], texts: Iterable[Text]) -> tuple[dict[str, str], _Places]:
    """Return the blocks of tables and prompts; those of cases that are not right come first."""
    keys = {example_key(r.dataset, r.example_id, r.perturbation): r for r in records}
    wrong = {
        digest
        for r in records
        if r.outcome != "right"
        for digest in (r.prompt_digest, r.transcript)
    }
    asked = {digest for r in records for digest in (r.prompt_digest, r.transcript)}
    blocks: dict[str, str] = {}
    places = _Places({}, {}, {})

    def store(letter: str) -> Callable[[str], int]:
        def keep(block: str) -> int:
            number = sum(name.startswith(letter) for name in blocks)
            blocks[f"{letter}{number}"] = block
            return number

        return keep

    tables = _Blocks(_TABLES, _TABLE_BUDGET, store("t"))
    first = _Blocks(_PROMPTS, _WRONG_PROMPT_BUDGET, store("q"))
    rest = _Blocks(_PROMPTS, _RIGHT_PROMPT_BUDGET, store("q"))
    for found in texts:
        if isinstance(found, ExampleText):
            record = keys.get(found.id)
            if record is not None:
                places.questions.setdefault((record.dataset, record.example_id), found.question)
                tables.add(shown_example(found), _placer(places.tables, found.id))
        elif found.digest in asked:
            target = first if found.digest in wrong else rest
            shown: list[Any]
            if isinstance(found, TranscriptText):
                shown = [[who, said[:_TURN_LIMIT], len(said)] for who, said in found.turns[:_TURNS]]
            else:
                shown = [found.text[:_PROMPT_LIMIT], len(found.text)]
            target.add(shown, _placer(places.prompts, found.digest))
    for part in (tables, first, rest):
        part.close()
    places.tables_left_out = tables.left_out
    places.prompts_left_out = first.left_out + rest.left_out
    return blocks, places


def _placer(places: dict[str, int], key: str) -> Callable[[int], None]:
    def place(number: int) -> None:
        places[key] = number

    return place


# What does not fit


def _notes(records: Sequence[Record], places: _Places, limit: int) -> Iterator[str]:
    cut = sum(len(record.raw or "") > limit for record in records)
    if cut:
        yield (
            f"{counted(cut, 'reply', 'replies')} {are(cut)} cut to {counted(limit, 'character')} "
            f"here; whole ones are in records.jsonl"
        )
    if places.tables_left_out:
        yield (
            f"the tables of {counted(places.tables_left_out, 'example')} did not fit in here; they "
            f"are in texts.jsonl.gz"
        )
    if places.prompts_left_out:
        yield (
            f"{counted(places.prompts_left_out, 'prompt')} did not fit in here (those of right "
            f"answers are left out first); they are in texts.jsonl.gz"
        )
    if records and not places.tables and not places.prompts and not places.prompts_left_out:
        yield "this run kept no texts: questions, tables and prompts are not in here"
