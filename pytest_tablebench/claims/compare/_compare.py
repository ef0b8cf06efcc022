"""Compare two runs, case by case and scope by scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.compare._pair import (
    Answers,
    ConfigurationFlips,
    RunComparison,
    ScopeComparison,
    by_corrected_gold,
    comparable_facts,
    load_pair,
)
from pytest_tablebench.claims.differences import check_alike, differences_between
from pytest_tablebench.claims.estimate import mcnemar, sign_flip
from pytest_tablebench.claims.paired import MEASURES, SheetPair, paired_difference, table_sums
from pytest_tablebench.config.axes import JOINED
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.record import case_key
from pytest_tablebench.results.run import CaseKey, Run
from pytest_tablebench.results.score_table import benchmarks_of
from pytest_tablebench.results.sheets import ScoreSheet, sheets
from pytest_tablebench.util.names import counted, out_of

_TAG = 2
"""In the keys of counts, a tag instead of an axis."""


def compare_runs(
    before: Path | Run,
    after: Path | Run,
    *,
    allow_unlike: bool = False,
    corrected: bool = False,
    different_judges: bool = False,
) -> RunComparison:
    """Return the paired differences and flips of two runs, and how their settings differ.

    They are by the published gold, unless `corrected`. If both runs have the same corrections of
    the gold, the differences by the corrected gold are in `RunComparison.corrected`.

    Either run may be interrupted; only cases that both asked are paired. Raises `SettingsError`
    for a folder that is no run and for runs without a common case. Unless `allow_unlike`, it also
    raises for runs that differ in more than the model (grid, data, compat, seed, demonstrations,
    parameters, thresholds), with the differences, and `corrected` for runs without the same
    corrections. With `different_judges` the judge may differ too.
    """
    old, new = load_pair(before, after)
    runs = comparable_facts(old, new)
    if not allow_unlike:
        hint = "Compare them anyway with --allow-unlike"
        check_alike(*runs, hint=hint, different_judges=different_judges)
    by_gold: tuple[ScopeComparison, ...] = ()
    overlays = old.facts.overlay, new.facts.overlay
    if overlays[0] is not None and overlays[0] == overlays[1]:
        sides = by_corrected_gold(old), by_corrected_gold(new)
        if corrected:
            old, new = sides
        else:
            by_gold = tuple(_scopes(_paired(*sides), _pairs(*sides)))
    elif corrected:
        raise SettingsError(
            f"--corrected: {_overlays(old, new)}; `tablebench rejudge` gives a run the corrections "
            f"of another"
        )
    common = old.places.keys() & new.places.keys()
    if not common:
        raise SettingsError(
            f"{old.path} and {new.path} have no case in common: "
            f"{counted(len(old.places), 'case')} in the first, {len(new.places):,} in the second. "
            f"Runs with other serializers are paired if each has one (--bench-serializer)"
        )
    pairs = _pairs(old, new)
    datasets = _paired(old, new)
    differences = differences_between(*runs)
    return RunComparison(
        before=old,
        after=new,
        differences=differences,
        scopes=tuple(_scopes(datasets, pairs)),
        configurations=tuple(_configurations(old, new, datasets, pairs)),
        answers=_answers(pairs),
        better=_ids(new, (pair.key for pair in pairs if pair.change > 0)),
        worse=_ids(new, (pair.key for pair in pairs if pair.change < 0)),
        gained=_ids(new, (pair.key for pair in pairs if pair.gain > 0)),
        lost=_ids(new, (pair.key for pair in pairs if pair.gain < 0)),
        other_answer=_ids(
            new, (pair.key for pair in pairs if pair.has_both_answers and not pair.same_answer)
        ),
        only_before=_ids(old, old.places.keys() - common),
        only_after=_ids(new, new.places.keys() - common),
        remarks=(
            *_remarks(old, new, any(difference.unlike for difference in differences)),
            *_table_remarks(part for parts in datasets.values() for part in parts),
            *_overlay_remarks(old, new, corrected=corrected),
        ),
        corrected=by_gold,
    )


def _pairs(old: Run, new: Run) -> list[_CasePair]:
    return [_CasePair.of(key, old, new) for key in sorted(old.places.keys() & new.places.keys())]


def _overlay_remarks(old: Run, new: Run, *, corrected: bool) -> Iterator[str]:
    if corrected:
        yield f"figures and verdicts are by the corrected gold (corrections {new.facts.overlay})"
    elif old.facts.overlay != new.facts.overlay:
        yield f"{_overlays(old, new)}: compared by the published gold only"


def _overlays(old: Run, new: Run) -> str:
    before, after = (run.facts.overlay or "none" for run in (old, new))
    return f"the runs do not have the same corrections of the gold (before {before}, after {after})"


@dataclass(frozen=True, slots=True)
class _CasePair:
    """A case that both runs asked; a verdict is None if the run has none."""

    key: CaseKey
    answered_before: bool
    answered_after: bool
    before: bool | None
    after: bool | None
    same_text: bool
    same_answer: bool

    @classmethod
    def of(cls, key: CaseKey, old: Run, new: Run) -> _CasePair:
        sides = [(run.table, run.places[key]) for run in (old, new)]
        answered = [not isnan(float(table.score[row])) for table, row in sides]
        verdicts = [float(table.passed[row]) for table, row in sides]
        before, after = (None if isnan(verdict) else bool(verdict) for verdict in verdicts)
        texts = [None if table.answers is None else table.answers[row] for table, row in sides]
        same_text = texts[0] is not None and texts[0] == texts[1]
        # Compare the predictions, or the texts if the metric made no prediction.
        numbers = [
            0 if table.answer_marks is None else int(table.answer_marks[row])
            for table, row in sides
        ]
        same_answer = numbers[0] == numbers[1] if all(numbers) else same_text
        return cls(key, answered[0], answered[1], before, after, same_text, same_answer)

    @property
    def has_both_answers(self) -> bool:
        return self.answered_before and self.answered_after

    @property
    def change(self) -> int:
        """1 from wrong to right, -1 from right to wrong, else 0."""
        if self.before is None or self.after is None:
            return 0
        return int(self.after) - int(self.before)

    @property
    def gain(self) -> int:
        """1 if only the new run answered, -1 if only the old run answered, else 0."""
        return int(self.answered_after) - int(self.answered_before)


def _ids(side: Run, keys: Iterable[CaseKey]) -> tuple[str, ...]:
    return tuple(case_key(side.records[side.places[key]]) for key in sorted(keys))


def _answers(pairs: Sequence[_CasePair]) -> Answers:
    counts = dict.fromkeys(Answers.__dataclass_fields__, 0)
    for pair in pairs:
        if pair.change:
            counts["flipped"] += 1
            counts["flipped_same_text"] += pair.same_text
        elif pair.has_both_answers:
            counts["same_text" if pair.same_text else "other_text"] += 1
        elif pair.answered_before:
            counts["lost"] += 1
        else:
            counts["gained" if pair.answered_after else "neither"] += 1
    return Answers(**counts)


def _paired(old: Run, new: Run) -> dict[str, list[SheetPair]]:
    first, second = (sheets(side.table.cells) for side in (old, new))
    pairs = {
        benchmark: [
            SheetPair.of(name, first[name], second[name]) for name in names if name in first
        ]
        for benchmark, names in benchmarks_of(new.table).items()
    }
    return {benchmark: datasets for benchmark, datasets in pairs.items() if datasets}


def _scopes(
    datasets: Mapping[str, Sequence[SheetPair]], pairs: Sequence[_CasePair]
) -> Iterator[ScopeComparison]:
    """Yield each benchmark, then its datasets, each followed by its serializers and so on."""
    all_parts = [part for parts in datasets.values() for part in parts]
    altered = {part.dataset: part.altered for part in all_parts}
    tagged = {part.dataset: part.tags() for part in all_parts}
    tags_of: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for part in all_parts:
        for tag, rows in tagged[part.dataset].items():
            for row in rows:
                tags_of.setdefault((part.dataset, part.after.examples[row]), []).append(tag)

    def scopes_of(key: CaseKey) -> Iterator[tuple[Any, ...]]:
        names = {axis.name: name for axis, name in zip(JOINED, key.names, strict=True)}
        changed = names["perturbation"] in altered.get(key.dataset, ())
        for axis, name in names.items():
            if axis == "perturbation" or not changed:
                yield key.dataset, axis, name
        if not changed:
            yield (key.dataset,)
            for tag in tags_of.get((key.dataset, key.example), ()):
                yield key.dataset, _TAG, tag

    counts = Counter(
        (scope, change)
        for pair in pairs
        if pair.has_both_answers
        for scope in scopes_of(pair.key)
        for change in {0, pair.change}
    )

    def scope(
        kind: str, dataset: str | None, name: str, parts: Sequence[SheetPair], *axis: Any
    ) -> ScopeComparison:
        n, better, worse = (
            sum(counts[(part.dataset, *axis), change] for part in parts) for change in (0, 1, -1)
        )
        return ScopeComparison(
            kind=kind,
            benchmark=benchmark,
            dataset=dataset,
            name=name,
            measures={measure: paired_difference(parts, measure) for measure in MEASURES},
            no_answer_before=_unanswered([part.before for part in parts]),
            no_answer_after=_unanswered([part.after for part in parts]),
            n_cases=n,
            better=better,
            worse=worse,
        )

    for benchmark, parts in datasets.items():
        yield scope("benchmark", None, benchmark, [part.meant for part in parts])
        for whole in parts:
            part = whole.meant
            yield scope("dataset", part.dataset, part.dataset, [part])
            for kind in (axis.name for axis in JOINED):
                side = whole if kind == "perturbation" else part
                for name in side.names(kind):
                    yield scope(kind, part.dataset, name, [side.part(kind, name)], kind, name)
            for tag, rows in tagged[part.dataset].items():
                yield scope("tag", part.dataset, "=".join(tag), [part.rows(rows)], _TAG, tag)


def _unanswered(sides: Sequence[ScoreSheet]) -> float | None:
    counts = [side.counts() for side in sides]
    cases, lost = (sum(int(count[position].sum()) for count in counts) for position in (0, 1))
    return lost / cases if cases else None


def _configurations(
    old: Run,
    new: Run,
    datasets: Mapping[str, Sequence[SheetPair]],
    pairs: Sequence[_CasePair],
) -> Iterator[ConfigurationFlips]:
    """Yield the flips in single configurations, of the first repeat only.

    McNemar's test needs independent examples. If they share tables, the signs of tables flip.
    """
    before, after = (
        {(key.dataset, key.names) for key in run.places if key.repeat == 1} for run in (old, new)
    )
    all_parts = [part for parts in datasets.values() for part in parts]
    order = {part.dataset: position for position, part in enumerate(all_parts)}
    tables = {part.dataset: part.tables for part in all_parts}
    changes: dict[tuple[str, tuple[str, ...]], dict[str, int]] = {}
    for pair in pairs:
        if pair.has_both_answers and pair.key.repeat == 1:
            position = pair.key.dataset, pair.key.names
            changes.setdefault(position, {})[pair.key.example] = pair.change
    for dataset, cell in sorted(
        before & after, key=lambda position: (order[position[0]], *position)
    ):
        change_of, table_of = changes.get((dataset, cell), {}), tables[dataset] or {}
        signs = list(change_of.values())
        counts = len(signs), signs.count(1), signs.count(-1)
        names = [table_of.get(example, (None, example)) for example in change_of]
        if len(set(names)) < len(names):
            p, test = sign_flip(table_sums(signs, names)), "sign-flip over tables"
        else:
            p, test = mcnemar(*counts[1:]), "exact McNemar"
        configuration = {axis.name: name for axis, name in zip(JOINED, cell, strict=True)}
        yield ConfigurationFlips(dataset, configuration, *counts, p, test)


def _table_remarks(parts: Iterable[SheetPair]) -> Iterator[str]:
    unknown = [part.dataset for part in parts if part.clustered.clusters is None]
    if unknown:
        listing = ", ".join(unknown)
        yield (
            f"neither run names the tables of {listing}: intervals take every example as "
            f"independent, and are too narrow if examples share a table"
        )


def _remarks(old: Run, new: Run, unlike: bool) -> Iterator[str]:
    if unlike:
        yield "the runs are unlike: any setting listed above may cause a difference"
    for word, run in (("before", old), ("after", new)):
        if run.is_cut_off:
            recorded = out_of(len(run.records), run.facts.cases_planned, "case")
            yield f"{word} was interrupted: {recorded} recorded; only cases of both runs are paired"
    first, second = ({key.dataset for key in side.places} for side in (old, new))
    for word, names in (("before", first - second), ("after", second - first)):
        if names:
            listing = ", ".join(sorted(names))
            yield f"only {word} has {listing}: the means of benchmarks here do not include it"
    if old.unanswered or new.unanswered:
        yield (
            f"cases without an answer are left out on both sides ({old.unanswered} before, "
            f"{new.unanswered} after): they do not count against a model here"
        )
