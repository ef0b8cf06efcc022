"""Two finished or cut off runs, case by case and scope by scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.compare._measures import (
    Configuration,
    PairedDataset,
    PairedExample,
    measure_difference,
)
from pytest_tablebench.results.compare._sides import (
    Answered,
    ComparedRun,
    Key,
    check_alike,
    load_compared,
    setting_differences,
)
from pytest_tablebench.results.compare._types import (
    MEASURES,
    Answers,
    Comparison,
    ConfigurationFlips,
    RunFacts,
    ScopeComparison,
    ScopeKind,
)
from pytest_tablebench.results.gates import mcnemar
from pytest_tablebench.util.names import counted, out_of, printable

__all__ = ["compare_runs"]


@dataclass(frozen=True)
class _Dataset:
    benchmark: str
    paired: PairedDataset


def compare_runs(before: Path, after: Path, *, allow_unlike: bool = False) -> Comparison:
    """Compare two run folders: paired differences, flips, and what was not done alike.

    Both may be cut off; only cases that both asked are paired. Raises `SettingsError` for a
    folder that is no run, for runs without a common case, and, unless `allow_unlike`, for runs
    that differ in more than the model (grid, data, compat, seed, demonstrations, parameters,
    thresholds), naming what differs.
    """
    old, new = load_compared(before), load_compared(after)
    runs = old.judged_beside(new), new.judged_beside(old)
    if not allow_unlike:
        check_alike(*runs, hint="Ask for it with --allow-unlike if that is what you want")
    common = old.cases.keys() & new.cases.keys()
    if not common:
        raise SettingsError(
            f"{before} and {after} have no case in common: "
            f"{counted(len(old.cases), 'case')} in the first, {len(new.cases):,} in the second"
        )
    datasets = _paired(old, new)
    differences = setting_differences(*runs)
    better, worse = _flips(old, new, common)
    return Comparison(
        before=old.about,
        after=new.about,
        differences=differences,
        scopes=tuple(_scopes(datasets)),
        configurations=tuple(_configurations(datasets)),
        answers=_answers(old, new, common),
        better=better,
        worse=worse,
        only_before=_ids(old, old.cases.keys() - common),
        only_after=_ids(new, new.cases.keys() - common),
        remarks=tuple(_remarks(old, new, any(found.unlike for found in differences))),
    )


def _ids(side: ComparedRun, keys: set[Key]) -> tuple[str, ...]:
    return tuple(side.cases[key].case_id for key in sorted(keys))


def _flips(
    old: ComparedRun, new: ComparedRun, common: set[Key]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the cases that got better and that got worse, as the new run has them."""
    pairs = [(old.cases[key], new.cases[key]) for key in sorted(common)]
    return (
        tuple(two.case_id for one, two in pairs if one.passed is False and two.passed is True),
        tuple(two.case_id for one, two in pairs if one.passed is True and two.passed is False),
    )


def _answers(old: ComparedRun, new: ComparedRun, common: set[Key]) -> Answers:
    counts = dict.fromkeys(Answers.__dataclass_fields__, 0)
    for key in common:
        one, two = old.cases[key], new.cases[key]
        if one.passed is None or two.passed is None:
            counts[_unanswered_kind(one, two)] += 1
            continue
        same = one.text is not None and one.text == two.text
        if one.passed != two.passed:
            counts["flipped"] += 1
            counts["flipped_same_text"] += same
        else:
            counts["same_text" if same else "other_text"] += 1
    return Answers(**counts)


def _unanswered_kind(one: Answered, two: Answered) -> str:
    if one.passed is not None:
        return "lost"
    return "neither" if two.passed is None else "gained"


def _paired(old: ComparedRun, new: ComparedRun) -> list[_Dataset]:
    """Return the datasets both runs recorded, with their examples, by benchmark and name."""
    sides: list[dict[str, dict[str, dict[Configuration, Answered]]]] = []
    benchmarks: dict[str, str] = {}
    for side in (old, new):
        datasets: dict[str, dict[str, dict[Configuration, Answered]]] = {}
        for (dataset, example, serializer, perturbation, repeat), case in side.cases.items():
            cases = datasets.setdefault(dataset, {}).setdefault(example, {})
            cases[serializer, perturbation, repeat] = case
            benchmarks[dataset] = case.benchmark
        sides.append(datasets)
    first, second = sides
    found = []
    for dataset in sorted(first.keys() & second.keys(), key=lambda name: (benchmarks[name], name)):
        one, two = first[dataset], second[dataset]
        examples = [
            PairedExample(name, one.get(name, {}), two.get(name, {}))
            for name in sorted(one.keys() | two.keys())
        ]
        found.append(_Dataset(benchmarks[dataset], PairedDataset(dataset, examples)))
    return found


def _scopes(datasets: Sequence[_Dataset]) -> Iterator[ScopeComparison]:
    """Yield each benchmark, and behind it its datasets with their formats and perturbations."""
    for benchmark in dict.fromkeys(part.benchmark for part in datasets):
        own = [part.paired for part in datasets if part.benchmark == benchmark]
        yield _scope("benchmark", benchmark, None, benchmark, own)
        for paired in own:
            name = paired.dataset
            yield _scope("dataset", benchmark, name, name, [paired])
            yield from _axis("serializer", 0, benchmark, paired)
            yield from _axis("perturbation", 1, benchmark, paired)


def _axis(
    kind: ScopeKind, position: int, benchmark: str, paired: PairedDataset
) -> Iterator[ScopeComparison]:
    for name in sorted({str(key[position]) for key in paired.grid}):
        part = _part(paired, lambda key, name=name: key[position] == name)  # type: ignore[misc]
        yield _scope(kind, benchmark, paired.dataset, name, [part])


def _part(paired: PairedDataset, keep: Callable[[Configuration], bool]) -> PairedDataset:
    """Return the dataset with some of its configurations only."""
    examples = []
    for example in paired.examples:
        before = {key: case for key, case in example.before.items() if keep(key)}
        after = {key: case for key, case in example.after.items() if keep(key)}
        if before or after:  # sampled configurations: not every example was asked here
            examples.append(PairedExample(example.example_id, before, after))
    return PairedDataset(paired.dataset, examples)


def _scope(
    kind: ScopeKind,
    benchmark: str,
    dataset: str | None,
    name: str,
    datasets: Sequence[PairedDataset],
) -> ScopeComparison:
    examples = [example for part in datasets for example in part.examples]
    before = [case for example in examples for case in example.before.values()]
    after = [case for example in examples for case in example.after.values()]
    pairs = [pair for example in examples for pair in example.common]
    return ScopeComparison(
        kind=kind,
        benchmark=benchmark,
        dataset=dataset,
        name=name,
        measures={measure: measure_difference(datasets, measure) for measure in MEASURES},
        no_answer_before=_unanswered(before),
        no_answer_after=_unanswered(after),
        n_cases=len(pairs),
        better=sum(bool(new.passed) and not old.passed for old, new in pairs),
        worse=sum(bool(old.passed) and not new.passed for old, new in pairs),
    )


def _unanswered(cases: Sequence[Answered]) -> float | None:
    return sum(case.score is None for case in cases) / len(cases) if cases else None


def _configurations(datasets: Sequence[_Dataset]) -> Iterator[ConfigurationFlips]:
    """Yield the flips inside single configurations, of the first repeat only."""
    for part in datasets:
        for key in sorted(part.paired.grid):
            serializer, perturbation, repeat = key
            if repeat != 1:
                continue
            pairs = [
                (example.before[key].passed, example.after[key].passed)
                for example in part.paired.examples
                if key in example.before and key in example.after
            ]
            told = [(bool(old), bool(new)) for old, new in pairs if None not in {old, new}]
            better = sum(new and not old for old, new in told)
            worse = sum(old and not new for old, new in told)
            p = mcnemar(better, worse)
            name = part.paired.dataset
            yield ConfigurationFlips(name, serializer, perturbation, len(told), better, worse, p)


def _remarks(old: ComparedRun, new: ComparedRun, unlike: bool) -> Iterator[str]:
    """Yield what a reader must know, in plain sentences."""
    if unlike:
        yield "the runs are unlike: a difference may come from anything named above"
    for word, about in (("before", old.about), ("after", new.about)):
        if about.cut_off:
            yield f"{word} was cut off: {_counted(about)}; only what both asked is paired"
    first, second = ({key[0] for key in side.cases} for side in (old, new))
    for word, names in (("before", first - second), ("after", second - first)):
        if names:
            shown = ", ".join(printable(name, 60) for name in sorted(names))
            yield f"only {word} has {shown}: no benchmark's mean here holds it"
    if old.about.unanswered or new.about.unanswered:
        yield (
            f"cases without an answer are left out on both sides ({old.about.unanswered} before, "
            f"{new.about.unanswered} after): what one model could not answer does not count "
            f"against it here"
        )


def _counted(about: RunFacts) -> str:
    return f"{out_of(about.recorded, about.planned, 'case')} recorded"
