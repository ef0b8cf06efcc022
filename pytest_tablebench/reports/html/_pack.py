"""The cases of a run as compressed blocks inside the page.

The index contains what filters and rows need and is unpacked when the page opens. Blocks of
details, tables and prompts are unpacked when the user opens a case in them, and once for the
search, one by one while the page is idle. A block is JSON in ASCII, deflated, in base64, so that
no text in it can end its element.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import MODES
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.reports.html._details import (
    DETAILS,
    deflated,
    finite,
    outcome_of,
    pack_details,
    text_of,
)
from pytest_tablebench.reports.html._texts import PROMPTS, TABLES, TextPacker, packed_texts
from pytest_tablebench.results import Record
from pytest_tablebench.results.corrected import corrected_outcome
from pytest_tablebench.results.record import UNCLEAR
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import Text, example_key
from pytest_tablebench.util.names import are, counted, slug

if TYPE_CHECKING:
    from pytest_tablebench.reports.html._ahead import PageAhead


MIXED, WORSE, BETTER, CHANGED, TURNED, LOST, GAINED, OTHER, VAGUE = (1 << bit for bit in range(9))
"""Marks of a case. Its example is right in some configurations and wrong in others. It is worse, or
better, than in the other run. Its text differs from the snapshot, with the same or another verdict.
Only this run, or only the other run, has no answer. Its answer differs from the other run's. Its
reply is unclear."""

_ANSWER = 120


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
    packed.close()
    blocks = {**packed.blocks, **details}
    index = _index(records, names, packed, marks, tags)
    if before is not None:
        index["columns"] |= _columns_before(records, before)
    index["tags"] = [{"name": name[:80], "value": value[:200]} for name, value in tags]
    if ahead is None:
        cut = sum(len(record.raw or "") > limit for record in records)
    else:
        cut = ahead.cut_replies
    left_out = tuple(_notes(len(records), packed, cut, limit))
    facts = {**facts, "unsearched": left_out}
    sizes = {"details": DETAILS, "tables": TABLES, "prompts": PROMPTS}
    index |= {"facts": facts, "sizes": sizes, "limit": limit}
    blocks["index"] = deflated(index)
    return Pack(blocks, names, left_out)


# The index


def _index(
    records: Sequence[Record],
    names: Mapping[str, tuple[str, ...]],
    texts: TextPacker,
    marks: Mapping[str, int],
    tags: Mapping[tuple[str, str], int],
) -> dict[str, Any]:
    numbers = {
        axis: {name: i for i, name in enumerate(axis_names)} for axis, axis_names in names.items()
    }
    examples: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        examples.setdefault((record.dataset, record.example_id), []).append(record)
    places = {key: place for place, key in enumerate(examples)}
    mixed = {
        key for key, same in examples.items() if len({r.outcome for r in same} - {"no_answer"}) > 1
    }
    unanswered = dict.fromkeys(str(r.reason or "unknown") for r in records if r.score is None)
    reasons = {reason: number for number, reason in enumerate(unanswered)}
    columns = {
        "example": [places[r.dataset, r.example_id] for r in records],
        "serializer": [numbers["serializer"][r.serializer] for r in records],
        "perturbation": [numbers["perturbation"][r.perturbation] for r in records],
        "outcome": [outcome_of(r) for r in records],
        "score": [finite(r.score, 4) for r in records],
        "reason": [reasons[str(r.reason or "unknown")] if r.score is None else -1 for r in records],
        "marks": [
            marks.get(r.case_id, 0)
            | (MIXED if (r.dataset, r.example_id) in mixed else 0)
            | (VAGUE if UNCLEAR in r.flags else 0)
            for r in records
        ],
        "answer": [_answer(r) for r in records],
        "table": [
            texts.tables.get(example_key(r.dataset, r.example_id, r.perturbation), -1)
            for r in records
        ],
        "prompt": [texts.prompts.get(r.prompt_digest or "", -1) for r in records],
        "transcript": [texts.prompts.get(r.transcript or "", -1) for r in records],
        "repeat": [r.repeat for r in records],
        # Links use ids, which contain slugs and so do not follow from the names.
        "id": [r.case_id for r in records],
    }
    further = case_columns(records)
    return {
        "count": len(records),
        "names": {axis: list(axis_names) for axis, axis_names in names.items()} | further["names"],
        "parts": further["parts"],
        "reasons": list(reasons),
        "examples": [
            {
                "dataset": numbers["dataset"][dataset],
                "id": example_id,
                "question": texts.questions.get((dataset, example_id), "")[:300],
                "references": " | ".join(map(str, same[0].references))[:120],
                "tags": [
                    tags[tag]
                    for tag in next((r.tags for r in same if r.tags), {}).items()
                    if tag in tags
                ],
            }
            for (dataset, example_id), same in examples.items()
        ],
        "columns": columns | further["columns"],
    }


def _answer(record: Record) -> str:
    return text_of(record.prediction)[:_ANSWER]


def _columns_before(
    records: Sequence[Record], before: Mapping[str, Record]
) -> dict[str, list[Any]]:
    """Return outcome (-1: not asked), score and answer of each case in the other run.

    The answer is None if it equals this run's.
    """
    pairs = [(record, before.get(record.case_id)) for record in records]
    return {
        "outcome_before": [-1 if old is None else outcome_of(old) for _, old in pairs],
        "score_before": [None if old is None else finite(old.score, 4) for _, old in pairs],
        "answer_before": [
            None if old is None or _answer(new) == _answer(old) else _answer(old)
            for new, old in pairs
        ],
    }


# What does not fit


def _notes(count: int, places: TextPacker, cut: int, limit: int) -> Iterator[str]:
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


_PARTS = 12
_ASKED = frozenset(
    {
        *("setting", "compat", "judge", "structure", "format_retries", "limit", "sample", "shots"),
        *("demos", "configs_per_example", "seed", "api_base", "params", "repeats", "data"),
    }
)
"""Settings that identify a case, in addition to its axes."""

CORRECTED = ("right", "wrong", "no_answer", "scored", "left_out")
"""Outcomes by the corrected gold, in the order of their numbers on the page."""


def case_columns(records: Sequence[Record]) -> dict[str, Any]:
    """Return names of axes and of parts, and `columns` with one value for each case.

    Names on the axes that are in no grid, and models, are numbers of their names;
    `latency` is in seconds, `cost` in dollars; `parts` has a list for each part; `answer_number`
    numbers the distinct answers to an example; `node` is pytest's name of a case, if it does not
    follow from the id. A run with corrections also has the outcome by the corrected gold
    (`corrected`: -1 without a correction, otherwise a number of `CORRECTED`) and the score
    (`corrected_score`).
    """
    names = {
        axis.name: axis.order({*used})
        for axis in MODES
        if len(used := {getattr(record, axis.name) or "" for record in records}) > 1
        or not axis.is_optional
    }
    names["model"] = sorted({record.model for record in records})
    counts: Counter[str] = Counter()
    for record in records:
        for name, value in record.parts.items():
            counts[name] += _number(value, 6) is not None
    parts = [name for name, count in counts.most_common(_PARTS) if count]
    columns: dict[str, list[Any]] = {}
    for axis, axis_names in names.items():
        numbers = {name: number for number, name in enumerate(axis_names)}
        columns[axis] = [numbers[getattr(record, axis) or ""] for record in records]
    columns["latency"] = [_number(record.latency_s, 3) for record in records]
    columns["prompt_tokens"] = [_number(record.prompt_tokens, 0) for record in records]
    columns["completion_tokens"] = [_number(record.completion_tokens, 0) for record in records]
    columns["cost"] = [_number(record.cost_usd, 8) for record in records]
    columns["parts"] = [
        [_number(record.parts.get(name), 4) for record in records] for name in parts
    ]
    columns["answer_number"] = list(_answers(records))
    if max(len(values) for axis, values in names.items() if axis != "model") > 1:
        columns["node"] = [_node(record) for record in records]
    columns |= _corrected(records)
    return {"names": names, "parts": [name[:80] for name in parts], "columns": columns}


def _answers(records: Sequence[Record]) -> Iterator[int]:
    """Yield the number of each case's answer among the distinct answers to its example."""
    seen: dict[tuple[str, str], dict[str, int]] = {}
    for record in records:
        answers = seen.setdefault((record.dataset, record.example_id), {})
        yield answers.setdefault(text_of(record.prediction), len(answers))


def _corrected(records: Sequence[Record]) -> dict[str, list[Any]]:
    """Return the columns by the corrected gold; empty without corrections."""
    if all(record.corrected is None for record in records):
        return {}
    entries = [record.corrected for record in records]
    return {
        "corrected": [
            -1 if entry is None else CORRECTED.index(corrected_outcome(entry)) for entry in entries
        ],
        "corrected_score": [
            None if entry is None else _number(entry.get("score"), 4) for entry in entries
        ],
    }


def _number(value: Any, digits: int) -> float | int | None:
    """Return a finite number rounded to so many digits; None for any other value."""
    if not isinstance(value, int | float) or not -1e300 < value < 1e300:
        return None
    return round(float(value), digits) if digits else round(value)


def _node(record: Record) -> str:
    """Return pytest's name of a case, with short names, if the run has several modes."""
    names = ((record.example_id, 24), (record.serializer, 12), (record.perturbation, 16))
    short = (slug(text, limit, digest=True) for text, limit in names)
    return "-".join([*short, *record.case_id.split("/")[4:]])


def run_key(run: RunFacts) -> str:
    """Return the key of a run's notes, which does not depend on the folder's place."""
    identity = json.dumps([run.model, run.start, run.host or None], default=str)
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def rerun_words(run: RunFacts) -> list[str]:
    """Return the words that name the suites, and the options that differ from the defaults."""
    usual, folder = Settings(), run.prompts_folder
    words = [str(word) for word in run.named_by]
    words += [] if folder is None else [f"--bench-prompts={folder}"]
    return words + [
        f"{option.flag}={text}"
        for option in OPTIONS
        if option.setting in _ASKED and option.recorded
        for text in _setting_texts(run.entries.get(option.recorded), usual, option.setting)
        if "***" not in text  # the user has to add a removed key
    ]


def _setting_texts(value: Any, usual: Settings, setting: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        usual_params = usual.request_params()
        yield from (
            f"{name}={parameter if isinstance(parameter, str) else json.dumps(parameter)}"
            for name, parameter in value.items()
            if usual_params.get(name) != parameter
        )
    elif value is not None and value != getattr(usual, setting):
        yield str(value)
