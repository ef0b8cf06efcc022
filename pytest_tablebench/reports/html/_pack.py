"""The cases of a run as compressed blocks inside the page.

The index contains what filters and rows need and is unpacked when the page opens. Blocks of
details, tables and prompts are unpacked when the user opens a case in them, and once for the
search, one by one while the page is idle. A block is JSON in ASCII, deflated, in base64, so that
no text in it can end its element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_tablebench.reports.html._case_columns import case_columns
from pytest_tablebench.reports.html._details import (
    DETAILS,
    deflated,
    finite,
    outcome_of,
    pack_details,
    text_of,
)
from pytest_tablebench.reports.html._pack_texts import PROMPTS, TABLES, TextPlaces, packed_texts
from pytest_tablebench.results import Record
from pytest_tablebench.results.record import UNCLEAR
from pytest_tablebench.results.texts import Text, example_key
from pytest_tablebench.util.names import are, counted

if TYPE_CHECKING:
    from pytest_tablebench.reports.html._ahead import PageAhead

MIXED, WORSE, BETTER, CHANGED, TURNED, LOST, GAINED, OTHER, VAGUE = (1 << bit for bit in range(9))
"""Marks of a case. Its example is right in some configurations and wrong in others. It is worse, or
better, than in the other run. Its text differs from the snapshot, with the same or another verdict.
Only this run, or only the other run, has no answer. Its answer differs from the other run's. Its
reply is unclear."""

_ANSWER = 120
_COLUMNS = (
    *("example", "serializer", "perturbation", "outcome", "score", "reason", "marks", "answer"),
    *("table", "prompt", "transcript", "repeat", "id"),
)


@dataclass(frozen=True)
class Pack:
    """Blocks by the ids of their elements, and what was cut to make them fit.

    `axes` has the names of datasets, serializers and perturbations, in the order of their numbers.
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
    ahead: PageAhead | None = None,
) -> Pack:
    """Return all cases of one run as blocks, in the order of `records`.

    Arguments:
        records: the cases.
        texts: their questions, tables and prompts.
        facts: further content of the index.
        tags: numbers of (name, value) pairs that filters use.
        marks: marks from outside the run, by case id.
        before: records of the other run by case id, if there is one.
        ahead: the texts and details of these records, if they were packed during the run.
    """
    names = {
        axis: tuple(sorted({getattr(record, axis) for record in records}))
        for axis in ("dataset", "serializer", "perturbation")
    }
    packed = packed_texts(records, texts) if ahead is None else ahead.texts
    details, limit = pack_details(records, before or {}) if ahead is None else ahead.details()
    places = packed.close()
    blocks = {**packed.blocks, **details}
    index = _index(records, names, places, marks)
    if before is not None:
        index["columns"] |= _columns_before(records, before)
    for entry, example_tags in zip(index["examples"], _tags(records), strict=True):
        entry["tags"] = [tags[tag] for tag in example_tags.items() if tag in tags]
    index["tags"] = [{"name": name[:80], "value": value[:200]} for name, value in tags]
    if ahead is None:
        cut = sum(len(record.raw or "") > limit for record in records)
    else:
        cut = ahead.cut_replies
    left_out = tuple(_notes(len(records), places, cut, limit))
    facts = {**facts, "unsearched": left_out}
    sizes = {"details": DETAILS, "tables": TABLES, "prompts": PROMPTS}
    index |= {"facts": facts, "sizes": sizes, "limit": limit}
    blocks["index"] = deflated(index)
    return Pack(blocks, names, left_out)


# The index


def _index(
    records: Sequence[Record],
    names: Mapping[str, tuple[str, ...]],
    places: TextPlaces,
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
        marked = (MIXED if key in mixed else 0) | (VAGUE if UNCLEAR in record.flags else 0)
        columns["marks"].append(marks.get(record.case_id, 0) | marked)
        columns["answer"].append(text_of(record.prediction)[:_ANSWER])
        columns["table"].append(places.tables.get(example, -1))
        columns["prompt"].append(places.prompts.get(record.prompt_digest or "", -1))
        columns["transcript"].append(places.prompts.get(record.transcript or "", -1))
        columns["repeat"].append(record.repeat)
        # Links use ids, which contain slugs and so do not follow from the names.
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

    The answer is None if it equals this run's.
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


# What does not fit


def _notes(count: int, places: TextPlaces, cut: int, limit: int) -> Iterator[str]:
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
            f"the tables of {counted(places.tables_left_out, 'example')} did not fit on this page; "
            f"they are in texts.jsonl.gz"
        )
    if places.prompts_left_out:
        yield (
            f"{counted(places.prompts_left_out, 'prompt')} did not fit on this page (prompts with "
            f"a right answer are left out first); they are in texts.jsonl.gz"
        )
    if count and not places.tables and not places.prompts and not places.prompts_left_out:
        yield "this run stored no texts: questions, tables and prompts are not on this page"
