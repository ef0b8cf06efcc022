"""Runs with the published rows of RealHiTBench (spec: realhitbench.md section 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_tablebench.papers._published import (
    Noted,
    beside_published,
    published,
    shares,
)
from pytest_tablebench.papers.text import PaperTable, Value
from pytest_tablebench.results.figures import mean_parts, plain_mean
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.util.names import counted, printable

BENCHMARK, LONG = "realhitbench", "realhitbench_long"
"""The main questions, and those about oversized tables."""

TASKS = {
    "fc": ("em", "f1"),
    "nr": ("em", "f1"),
    "sc": ("em", "f1"),
    "da": ("gpt_eval", "rouge_l"),
    "cg": ("pass@1", "ecr"),
}
"""The two figures of each task, in the order of the paper's Table 2."""

_COLUMNS = tuple((f"realhit_{task}", part) for task, parts in TASKS.items() for part in parts)
_NAMES = tuple(f"{task.upper()} {part}" for task, parts in TASKS.items() for part in parts)
_BUCKETS = ("<10K", "10-20K", ">20K")
_QUESTIONS = 3071
_PUBLISHED_JUDGE = "gpt-4o"
CITATION = (
    'published: "RealHiTBench: A Comprehensive Realistic Hierarchical Table Benchmark for '
    'Evaluating LLM-Based Table Analysis", arXiv 2506.13405'
)
_CAVEATS = (
    "published rows were measured by other code, which compares the answers about rearranged "
    "tables with the model's own (--bench-structure=self), and judged by GPT-4o",
    "the printed header of the paper's Table 5 has its columns swapped; here they are right",
)


def realhit_leaderboard(runs: Sequence[Run]) -> PaperTable | None:
    """Return the runs, a row for each strategy and modality, then Tables 2, 5 and 7.

    None without any of the five tasks.
    """
    rows: list[Noted] = [
        (
            (run.model, "this run", modality, strategy, *mean_parts(rows_of_part, _COLUMNS)),
            "; ".join(_notes(run, rows_of_part)),
        )
        for run, strategy, modality, rows_of_part in _parts_of(runs)
    ]
    return beside_published(
        "realhit_leaderboard",
        "RealHiTBench leaderboard (layout of the paper's Table 2)",
        ("model", "source", "input", "strategy", *_NAMES),
        own_rows=rows,
        others=(
            (*_row_labels(line), *shares(list(line.values())[4:]))
            for line in published("realhitbench")
        ),
        notes=(CITATION, *_CAVEATS),
        names={run.model: run.facts.model for run in runs},
        headline=_NAMES[::2],
    )


def realhit_means(runs: Sequence[Run]) -> PaperTable | None:
    """Return means by task and by tokens of the table, then Tables 3, 4 and 6 as printed.

    The mean of a task is over its two figures; every other mean is over the tasks' means.
    Oversized tables count into the buckets above 10K tokens alone. `delta` is what leaving out a
    part of a strategy (`treethinker[tree=off]`) changes in `all`.
    """
    names = (*TASKS, "all", "delta", *_BUCKETS)
    rows: list[Noted] = []
    for mean, delta in means_by_mode(runs):
        figures = (*mean.by_task, mean.whole, delta, *mean.buckets)
        mode = (mean.run.model, "this run", mean.modality, mean.strategy)
        rows.append(((*mode, *figures), mean.note))
    return beside_published(
        "realhit_means",
        "RealHiTBench means by task, and by tokens of the table",
        ("model", "source", "input", "strategy", *names),
        own_rows=rows,
        others=published_means(names),
        notes=(
            CITATION,
            "Table 4's means differ from the columns of Table 2, Table 6 is over 500 "
            "questions, and the paper does not name the tokenizer of Table 3",
            "delta is the change of all against the whole strategy, as in Table 4",
        ),
    )


def means_by_mode(runs: Sequence[Run]) -> list[tuple[ModeMeans, float | None]]:
    """Return the means of each run by strategy and modality.

    They include the change of the mean over all tasks against the whole strategy, if the runs
    have one for the same questions.
    """
    means = [ModeMeans.of(*part) for part in _parts_of(runs, (BENCHMARK, LONG))]
    return [(mean, _delta(mean, means)) for mean in means]


def published_means(names: Sequence[str]) -> Iterator[tuple[Value, ...]]:
    """Yield a row for each model, table and mode, with the printed figures of these names."""
    printed: dict[tuple[str, ...], dict[str, float]] = {}
    for line in published("realhitbench_means"):
        [share] = shares([line["value"]])
        printed.setdefault(_row_labels(line), {})[line["name"]] = share
    for key, figures in printed.items():
        *whose, strategy = key
        whole = printed.get((*whose, whole_strategy(strategy)), {}).get("all")
        if strategy != whole_strategy(strategy) and whole is not None:
            # Printed with two digits, of which a difference has no more.
            figures["delta"] = round(figures["all"] - whole, 4)
        yield (*key, *map(figures.get, names))


@dataclass(frozen=True)
class ModeMeans:
    """The means of a run in one mode: of its tasks, of all of them, and by tokens of the table."""

    run: Run
    strategy: str
    modality: str
    by_task: tuple[float | None, ...]
    buckets: tuple[float | None, ...]
    questions: frozenset[tuple[str, str, str]]
    note: str
    rows: tuple[RunRow, ...] = ()

    @classmethod
    def of(cls, run: Run, strategy: str, modality: str, rows: Sequence[RunRow]) -> ModeMeans:
        plain = [row for row in rows if row.benchmark == BENCHMARK]
        large = [
            replace(row, dataset=row.dataset.removesuffix("_long"))
            for row in rows
            if row.benchmark == LONG
        ]
        buckets = []
        for bucket in _BUCKETS:
            counted_rows = plain if bucket == _BUCKETS[0] else [*plain, *large]
            of_bucket = [row for row in counted_rows if row.tags.get("tokens") == bucket]
            buckets.append(plain_mean(task_mean(of_bucket, task) for task in TASKS))
        large_questions = {(row.dataset, row.example_id) for row in large}
        note = f"buckets contain {counted(len(large_questions), 'question')} about oversized tables"
        return cls(
            run=run,
            strategy=strategy,
            modality=modality,
            by_task=tuple(task_mean(plain, task) for task in TASKS),
            buckets=tuple(buckets),
            questions=frozenset((row.dataset, row.example_id, row.serializer) for row in plain),
            note=note if large_questions else "no oversized tables (realhitbench_long)",
            rows=tuple(plain),
        )

    @property
    def whole(self) -> float | None:
        """The mean of the tasks' means."""
        return plain_mean(self.by_task)


def _delta(part: ModeMeans, means: Sequence[ModeMeans]) -> float | None:
    """Return what a strategy without one of its parts scores more than the whole strategy.

    Both are of one model, one modality and the same questions; None without such a run.
    """
    if part.strategy == whole_strategy(part.strategy) or part.whole is None:
        return None

    def setting(mode_means: ModeMeans, strategy: str) -> tuple[object, ...]:
        return mode_means.run.facts.model, mode_means.modality, strategy, mode_means.questions

    like = setting(part, whole_strategy(part.strategy))
    wholes = (other.whole for other in means if setting(other, other.strategy) == like)
    whole = next(wholes, None)
    return None if whole is None else part.whole - whole


def whole_strategy(strategy: str) -> str:
    """Return the name of a strategy without its parameters."""
    return strategy.partition("[")[0]


def _row_labels(line: Mapping[str, str]) -> tuple[str, ...]:
    return line["model"], f"published, Table {line['table']}", line["input"], line["strategy"]


def _parts_of(
    runs: Sequence[Run], benchmarks: Sequence[str] = (BENCHMARK,)
) -> Iterator[tuple[Run, str, str, list[RunRow]]]:
    """Yield the rows of each run by strategy and modality."""
    for run in runs:
        benchmark_rows = [row for row in run.rows if row.benchmark in benchmarks]
        for strategy, modality in dict.fromkeys(
            (row.strategy, row.modality) for row in benchmark_rows
        ):
            mode_rows = [
                row
                for row in benchmark_rows
                if (row.strategy, row.modality) == (strategy, modality)
            ]
            yield run, strategy, modality, mode_rows


def task_mean(rows: Sequence[RunRow], task: str) -> float | None:
    """Return the mean of a task's two figures, of those that rows have."""
    return plain_mean(mean_parts(rows, [(f"realhit_{task}", part) for part in TASKS[task]]))


def _notes(run: Run, rows: Sequence[RunRow]) -> list[str]:
    """Return how a run differs from the paper's, one clause each."""
    notes = []
    questions = len({(row.dataset, row.example_id) for row in rows})
    if questions != _QUESTIONS:
        notes.append(f"{counted(questions, 'question')} of {_QUESTIONS:,}")
    judge = run.facts.judge
    if judge is None:
        notes.append("no judge")
    elif str(judge).rpartition("/")[2] != _PUBLISHED_JUDGE:
        notes.append(f"judged by {printable(str(judge), 60)}")
    if run.facts.structure != "self":
        notes.append(f"structure {printable(str(run.facts.structure), 20)}, paper self")
    if run.facts.compat != "reference":
        notes.append("mode fixed, several metrics differ from the paper's")
    serializers = sorted({row.serializer for row in rows})
    if serializers != ["latex"] and "text" in {row.modality for row in rows}:
        notes.append(f"serializers {printable(', '.join(serializers), 80)}, paper latex")
    perturbations = {row.perturbation for row in rows} - {"none"}
    if perturbations:
        notes.append("perturbed tables too")
    return notes
