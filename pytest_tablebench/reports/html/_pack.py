"""The cases of a run as compressed blocks inside the page.

The index holds what filters and rows need and is unpacked when the page opens; blocks of details,
tables and prompts are unpacked when a case in them is opened, and once for the search, one by one
while the page is idle. A block is JSON in ASCII, deflated, in base64, so no text in it can end the
element that holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.reports.html._case_columns import case_columns
from pytest_tablebench.reports.html._details import (
    DETAILS,
    deflated,
    finite,
    outcome_of,
    pack_details,
    text_of,
)
from pytest_tablebench.reports.html._tables import is_cut, shown_example
from pytest_tablebench.results import Record
from pytest_tablebench.results.texts import ExampleText, Text, TranscriptText, example_key
from pytest_tablebench.util.names import are, counted

MIXED, WORSE, BETTER, CHANGED, TURNED, LOST, GAINED, OTHER = (1 << bit for bit in range(8))
"""Marks of a case: its example is right in some configurations and wrong in others; worse or
better than in the other run; another text than the stored one, with the same or another verdict;
without an answer in this run alone, or in the other alone; another answer than there."""

_TABLES, _PROMPTS = 64, 24
_TABLE_BUDGET = 6_500_000
_WRONG_PROMPT_BUDGET, _RIGHT_PROMPT_BUDGET = 9_000_000, 5_000_000
_TURNS, _TURN_LIMIT = 40, 20_000
_PROMPT_LIMIT = 60_000
_ANSWER = 120
_COLUMNS = (
    *("example", "serializer", "perturbation", "outcome", "score", "reason", "marks", "answer"),
    *("table", "prompt", "transcript", "repeat", "id"),
)


@dataclass(frozen=True)
class Pack:
    """Blocks by the ids of their elements, and what was cut to make them fit.

    `axes` has the names of datasets, serializers and perturbations by the numbers that filters
    call them.
    """

    blocks: Mapping[str, str]
    axes: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]


def pack(
    records: Sequence[Record],
    texts: Iterable[Text],
    facts: Mapping[str, Any],
    tags: Mapping[tuple[str, str], int],
    *,
    marks: Mapping[str, int],
    before: Mapping[str, Record] | None = None,
) -> Pack:
    """Return all cases of one run as blocks, in the order of `records`.

    `facts` goes into the index as it is.

    `tags` are the names and values that filters know, with their numbers. By case id, `marks` has
    the marks from outside the run, `before` the records of the other run, if there is one.
    """
    names = {
        axis: tuple(sorted({getattr(record, axis) for record in records}))
        for axis in ("dataset", "serializer", "perturbation")
    }
    blocks, places = _pack_texts(records, texts)
    details, limit = pack_details(records, before or {})
    blocks |= details
    index = _index(records, names, places, marks)
    if before is not None:
        index["columns"] |= _columns_before(records, before)
    for entry, example_tags in zip(index["examples"], _tags(records), strict=True):
        entry["tags"] = [tags[tag] for tag in example_tags.items() if tag in tags]
    index["tags"] = [{"name": name[:80], "value": value[:200]} for name, value in tags]
    left_out = tuple(_notes(records, places, limit))
    facts = {**facts, "unsearched": left_out}
    sizes = {"details": DETAILS, "tables": _TABLES, "prompts": _PROMPTS}
    index |= {"facts": facts, "sizes": sizes, "limit": limit}
    blocks["index"] = deflated(index)
    return Pack(blocks, names, left_out)


# The index


def _index(
    records: Sequence[Record],
    names: Mapping[str, tuple[str, ...]],
    places: _TextPlaces,
    marks: Mapping[str, int],
) -> dict[str, Any]:
    numbers = {
        axis: {name: i for i, name in enumerate(axis_names)} for axis, axis_names in names.items()
    }
    examples: dict[tuple[str, str], int] = {}
    listed: list[dict[str, Any]] = []
    reasons: dict[str, int] = {}
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    mixed = _mixed(records)
    for record in records:
        key = (record.dataset, record.example_id)
        if key not in examples:
            examples[key] = len(listed)
            listed.append(
                {
                    "dataset": numbers["dataset"][record.dataset],
                    "id": record.example_id,
                    "question": places.questions.get(key, "")[:300],
                    "references": " | ".join(map(str, record.references))[:120],
                }
            )
        example = example_key(record.dataset, record.example_id, record.perturbation)
        reason = -1
        if record.score is None:
            reason = reasons.setdefault(str(record.reason or "unknown"), len(reasons))
        columns["example"].append(examples[key])
        columns["serializer"].append(numbers["serializer"][record.serializer])
        columns["perturbation"].append(numbers["perturbation"][record.perturbation])
        columns["outcome"].append(outcome_of(record))
        columns["score"].append(finite(record.score, 4))
        columns["reason"].append(reason)
        columns["marks"].append(marks.get(record.case_id, 0) | (MIXED if key in mixed else 0))
        columns["answer"].append(text_of(record.prediction)[:_ANSWER])
        columns["table"].append(places.tables.get(example, -1))
        columns["prompt"].append(places.prompts.get(record.prompt_digest or "", -1))
        columns["transcript"].append(places.prompts.get(record.transcript or "", -1))
        columns["repeat"].append(record.repeat)
        # What links go by: ids hold slugs, so they do not follow from the names.
        columns["id"].append(record.case_id)
    further = case_columns(records)
    return {
        "count": len(records),
        "names": {
            **{axis: list(axis_names) for axis, axis_names in names.items()},
            **further["names"],
        },
        "parts": further["parts"],
        "reasons": list(reasons),
        "examples": listed,
        "columns": columns | further["columns"],
    }


def _columns_before(
    records: Sequence[Record], before: Mapping[str, Record]
) -> dict[str, list[Any]]:
    """Return outcome (-1: not asked), score and answer of each case in the other run.

    An answer that reads as this run's own is None.
    """
    columns: dict[str, list[Any]] = {
        "outcome_before": [],
        "score_before": [],
        "answer_before": [],
    }
    for record in records:
        other = before.get(record.case_id)
        columns["outcome_before"].append(-1 if other is None else outcome_of(other))
        columns["score_before"].append(None if other is None else finite(other.score, 4))
        answers = [
            text_of(present.prediction)[:_ANSWER]
            for present in (record, other)
            if present is not None
        ]
        columns["answer_before"].append(answers[-1] if answers[0] != answers[-1] else None)
    return columns


def _tags(records: Iterable[Record]) -> Iterable[Mapping[str, str]]:
    by_example: dict[tuple[str, str], Mapping[str, str]] = {}
    for record in records:
        key = record.dataset, record.example_id
        by_example[key] = by_example.get(key) or record.tags
    return by_example.values()


def _mixed(records: Iterable[Record]) -> set[tuple[str, str]]:
    seen: dict[tuple[str, str], set[str]] = {}
    for record in records:
        if record.outcome != "no_answer":
            seen.setdefault((record.dataset, record.example_id), set()).add(record.outcome)
    return {key for key, outcomes in seen.items() if len(outcomes) > 1}


# Tables and prompts


@dataclass
class _TextPlaces:
    """Where the texts of a case are: block number times block size plus place in the block."""

    questions: dict[tuple[str, str], str]
    tables: dict[str, int]
    prompts: dict[str, int]
    tables_cut: int = 0
    prompts_cut: int = 0
    tables_left_out: int = 0
    prompts_left_out: int = 0


class _Blocks:
    """Collects values into blocks until a budget is used up, and records their places.

    Arguments:
        letter: what the ids of the blocks begin with, in `blocks`, where they are put.
        size: values in a block.
        budget: characters of all these blocks.
        places: by a value's key, the number of its block times `size` plus its place there.
    """

    def __init__(
        self, letter: str, size: int, budget: int, blocks: dict[str, str], places: dict[str, int]
    ) -> None:
        self._letter, self._size, self._budget = letter, size, budget
        self._blocks, self._places = blocks, places
        self._waiting: dict[str, Any] = {}
        self.left_out = 0

    def add(self, key: str, value: Any) -> None:
        if self._budget <= 0:
            self.left_out += 1
            return
        self._waiting[key] = value
        if len(self._waiting) == self._size:
            self.close()

    def close(self) -> None:
        """Store what is waiting, unless it does not fit any more."""
        if not self._waiting:
            return
        block = deflated(list(self._waiting.values()))
        self._budget -= len(block)
        if self._budget < 0:
            self.left_out += len(self._waiting)
        else:
            number = sum(name.startswith(self._letter) for name in self._blocks)
            self._blocks[f"{self._letter}{number}"] = block
            for place, key in enumerate(self._waiting, number * self._size):
                self._places[key] = place
        self._waiting = {}


def _pack_texts(
    records: Sequence[Record], texts: Iterable[Text]
) -> tuple[dict[str, str], _TextPlaces]:
    """Return the blocks of tables and prompts; those of cases that are not right come first."""
    keys = {example_key(r.dataset, r.example_id, r.perturbation): r for r in records}
    wrong = {
        digest
        for r in records
        if r.outcome != "right"
        for digest in (r.prompt_digest, r.transcript)
    }
    digests = {digest for r in records for digest in (r.prompt_digest, r.transcript)}
    blocks: dict[str, str] = {}
    places = _TextPlaces({}, {}, {})

    tables = _Blocks("t", _TABLES, _TABLE_BUDGET, blocks, places.tables)
    first = _Blocks("q", _PROMPTS, _WRONG_PROMPT_BUDGET, blocks, places.prompts)
    rest = _Blocks("q", _PROMPTS, _RIGHT_PROMPT_BUDGET, blocks, places.prompts)
    for text in texts:
        if isinstance(text, ExampleText):
            record = keys.get(text.id)
            if record is not None:
                places.questions.setdefault((record.dataset, record.example_id), text.question)
                places.tables_cut += is_cut(text)
                tables.add(text.id, shown_example(text))
        elif text.digest in digests:
            target = first if text.digest in wrong else rest
            if isinstance(text, TranscriptText):
                turns = text.turns[:_TURNS]
                places.prompts_cut += len(text.turns) > _TURNS or any(
                    len(content) > _TURN_LIMIT for _, content in turns
                )
                target.add(text.digest, {"turns": [_turn(*turn) for turn in turns]})
            else:
                places.prompts_cut += len(text.text) > _PROMPT_LIMIT
                shown = {"text": text.text[:_PROMPT_LIMIT], "length": len(text.text)}
                target.add(text.digest, shown)
    for part in (tables, first, rest):
        part.close()
    places.tables_left_out = tables.left_out
    places.prompts_left_out = first.left_out + rest.left_out
    return blocks, places


def _turn(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "text": content[:_TURN_LIMIT], "length": len(content)}


# What does not fit


def _notes(records: Sequence[Record], places: _TextPlaces, limit: int) -> Iterator[str]:
    cut = sum(len(record.raw or "") > limit for record in records)
    if cut:
        yield (
            f"{counted(cut, 'reply', 'replies')} {are(cut)} cut to {counted(limit, 'character')} "
            f"here; whole ones are in records.jsonl"
        )
    for number, noun in ((places.tables_cut, "table"), (places.prompts_cut, "prompt")):
        if number:
            yield (
                f"{counted(number, noun)} {are(number)} here in part; whole ones are in "
                f"texts.jsonl.gz"
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
