"""Runs with the published rows of RealHiTBench (spec: realhitbench.md sections 6 and 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pytest_tablebench.papers._published import (
    Noted,
    beside_published,
    caveat,
    paper,
    published,
    shares,
)
from pytest_tablebench.papers.runs import runs_by_mode
from pytest_tablebench.papers.table import PaperTable, Row, captioned
from pytest_tablebench.results.figures import mean_parts, plain_mean
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.util.names import counted
from pytest_tablebench.util.signatures import parse_call

BENCHMARK, LONG = "realhitbench", "realhitbench_long"
"""The main questions, and those about oversized tables."""

_PAPER = paper(BENCHMARK)

TASKS: Mapping[str, Sequence[str]] = _PAPER["tasks"]
"""The two figures of each task, in the order of the paper's Table 2."""

_COLUMNS = tuple((f"realhit_{task}", part) for task, parts in TASKS.items() for part in parts)
_NAMES = tuple(f"{task.upper()} {part}" for task, parts in TASKS.items() for part in parts)
_BUCKETS: Sequence[str] = _PAPER["buckets"]

# Tables 2, 5 and 7


def realhit_leaderboard(runs: Sequence[Run]) -> PaperTable | None:
    """Return the runs, a row for each strategy and modality, then Tables 2, 5 and 7.

    None without any of the five tasks.
    """
    rows: list[Noted] = [
        (
            (run.model, "this run", modality, strategy, *mean_parts(mode_rows, _COLUMNS)),
            "; ".join(_notes(run, mode_rows)),
        )
        for run, strategy, modality, mode_rows in _modes_of(runs, [BENCHMARK])
    ]
    others = (
        (*_row_labels(line), *shares(list(line.values())[4:])) for line in published("realhitbench")
    )
    names = {run.model: run.facts.model for run in runs}
    return beside_published(
        "realhit_leaderboard", _NAMES, rows, others, names=names, headline=_NAMES[::2]
    )


def _row_labels(line: Mapping[str, str]) -> tuple[str, str, str, str]:
    return line["model"], f"published, Table {line['table']}", line["input"], line["strategy"]


def _modes_of(
    runs: Sequence[Run], benchmarks: Sequence[str]
) -> Iterator[tuple[Run, str, str, list[RunRow]]]:
    """Yield the rows of each run by strategy and modality."""
    for run in runs:
        by_mode: dict[tuple[str, str], list[RunRow]] = {}
        for row in run.rows:
            if row.benchmark in benchmarks:
                by_mode.setdefault((row.strategy, row.modality), []).append(row)
        yield from ((run, *mode, rows) for mode, rows in by_mode.items())


def _notes(run: Run, rows: Sequence[RunRow]) -> Iterator[str]:
    """Yield how a run differs from the paper's, one clause each."""
    questions = len({(row.dataset, row.example_id) for row in rows})
    differ = partial(caveat, BENCHMARK)
    if questions != _PAPER["questions"]:
        count = counted(questions, "question")
        yield differ("questions", questions=count, whole=_PAPER["questions"])
    judge = run.facts.judge
    if judge is None:
        yield differ("unjudged")
    elif str(judge).rpartition("/")[2] != _PAPER["judge"]:
        yield differ("judge", judge=judge)
    if run.facts.structure != _PAPER["structure"]:
        yield differ("structure", structure=run.facts.structure)
    if run.facts.compat != "reference":
        yield differ("compat")
    serializers = sorted({row.serializer for row in rows})
    if serializers != _PAPER["serializers"] and "text" in {row.modality for row in rows}:
        yield differ("serializers", names=", ".join(serializers))
    if {row.perturbation for row in rows} - {"none"}:
        yield differ("perturbed")


# Tables 3, 4 and 6: means by task, and by tokens of the table


def realhit_means(runs: Sequence[Run]) -> PaperTable | None:
    """Return means by task and by tokens of the table, then Tables 3, 4 and 6 as printed.

    The mean of a task is over its two figures; every other mean is over the tasks' means.
    Oversized tables count into the buckets above 10K tokens alone. `delta` is what leaving out a
    part of a strategy (`treethinker[tree=off]`) changes in `all`.
    """
    names = (*TASKS, "all", "delta", *_BUCKETS)
    rows: list[Noted] = []
    for run, strategy, modality, mode_rows, whole, delta in _means_by_mode(runs):
        plain = [row for row in mode_rows if row.benchmark == BENCHMARK]
        large = [
            replace(row, dataset=row.dataset.removesuffix("_long"))
            for row in mode_rows
            if row.benchmark == LONG
        ]
        buckets = []
        for bucket in _BUCKETS:
            counted_rows = plain if bucket == _BUCKETS[0] else [*plain, *large]
            of_bucket = [row for row in counted_rows if row.tags.get("tokens") == bucket]
            buckets.append(plain_mean(_task_means(of_bucket)))
        questions = len({(row.dataset, row.example_id) for row in large})
        note = f"buckets contain {counted(questions, 'question')} about oversized tables"
        note = note if questions else "no oversized tables (realhitbench_long)"
        figures = (*_task_means(plain), whole, delta, *buckets)
        rows.append(((run.model, "this run", modality, strategy, *figures), note))
    return beside_published("realhit_means", names, rows, _published_means(names))


def _task_means(rows: Sequence[RunRow]) -> list[float | None]:
    """Return the mean of each task's two figures, of those that rows have."""
    figures = iter(mean_parts(rows, _COLUMNS))
    return [plain_mean(pair) for pair in zip(figures, figures, strict=True)]


_ModeMeans = tuple[Run, str, str, list[RunRow], float | None, float | None]
"""Run, strategy, modality, rows, the mean of the tasks' means, and its change."""


def _means_by_mode(runs: Sequence[Run]) -> Iterator[_ModeMeans]:
    """Yield the mean of each run by strategy and modality.

    Its change is against the whole strategy, None unless the runs have one for the same model,
    modality and questions.
    """
    wholes: dict[tuple[object, ...], float | None] = {}
    modes = []
    for run, strategy, modality, rows in _modes_of(runs, [BENCHMARK, LONG]):
        plain = [row for row in rows if row.benchmark == BENCHMARK]
        questions = frozenset((row.dataset, row.example_id, row.serializer) for row in plain)
        like, mean = (run.facts.model, modality, questions), plain_mean(_task_means(plain))
        wholes.setdefault((*like, strategy), mean)
        modes.append((run, strategy, modality, rows, mean, like))
    for run, strategy, modality, rows, mean, like in modes:
        is_part = strategy != _whole_strategy(strategy)
        whole = wholes.get((*like, _whole_strategy(strategy))) if is_part else None
        change = None if mean is None or whole is None else mean - whole
        yield run, strategy, modality, rows, mean, change


def _published_means(names: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each model, table and mode, with the printed figures of these names."""
    printed: dict[tuple[str, ...], dict[str, float]] = {}
    for line in published("realhitbench_means"):
        printed.setdefault(_row_labels(line), {})[line["name"]] = float(line["value"]) / 100
    for (*labels, strategy), figures in printed.items():
        whole = printed.get((*labels, _whole_strategy(strategy)), {}).get("all")
        if strategy != _whole_strategy(strategy) and whole is not None:
            # Printed with two digits, of which a difference has no more.
            figures["delta"] = round(figures["all"] - whole, 4)
        yield (*labels, strategy, *map(figures.get, names))


def _whole_strategy(strategy: str) -> str:
    """Return the name of a strategy without its parameters."""
    return strategy.partition("[")[0]


# Table 4: TreeThinker without one of its parts

_STRATEGY = "treethinker"
_PARTS = _PAPER[_STRATEGY]
_MEASURES: Sequence[str] = _PARTS["measures"]


def realhit_ablations(runs: Sequence[Run]) -> PaperTable | None:
    """Return the means of each variant of TreeThinker, and the printed ones.

    None without a run of TreeThinker over one of the five tasks. `delta` is the change of `all`
    against the whole strategy. The other columns are means of the strategy's own measures.
    """
    rows: list[Noted] = []
    for run, strategy, modality, mode_rows, whole, delta in _means_by_mode(runs):
        if _whole_strategy(strategy) == _STRATEGY and whole is not None:
            labels = (run.model, "this run", modality, _variant(strategy))
            plain = [row for row in mode_rows if row.benchmark == BENCHMARK]
            measures = (plain_mean(row.parts.get(name) for row in plain) for name in _MEASURES)
            rows.append(((*labels, whole, delta, *measures), strategy))
    blanks = (None,) * len(_MEASURES)
    others = (
        (model, source, modality, _variant(str(strategy)), *figures, *blanks)
        for model, source, modality, strategy, *figures in _published_means(("all", "delta"))
        if str(source).endswith("Table 4")
    )
    return beside_published("realhit_ablations", _MEASURES, rows, others)


def _variant(strategy: str) -> str:
    """Return what is left out of TreeThinker, or added to it; `all` for neither."""
    if "[" not in strategy:
        return "all"
    try:
        _, params = parse_call("strategy", strategy, words=True)
    except ValueError:
        return strategy
    names = (
        _PARTS["variants"]
        .get(name, {})
        .get(str(value), _PARTS["by_rule"] if name == "align" else f"{name}={value}")
        for name, value in params.items()
    )
    return ", ".join(filter(None, names)) or "all"


# Figure 4: scores of each serializer by task

SerializerMeans = Mapping[str, Mapping[str, Sequence[float | None]]]
"""Means by run and serializer, in the order of `TASKS`."""


def serializer_means(runs: Sequence[Run], benchmark: str) -> SerializerMeans:
    """Return the mean of each task by run and serializer; empty for other benchmarks."""
    if benchmark != BENCHMARK:
        return {}
    return {
        run.model: {
            name: _task_means([row for row in run.rows if row.serializer == name])
            for name in dict.fromkeys(row.serializer for row in run.rows)
        }
        for run in runs_by_mode(runs, benchmark)
    }


def serializer_tables(means_by_run: SerializerMeans) -> list[PaperTable]:
    """Return the table of the figure; none without runs."""
    rows = [
        (model, name, *by_task)
        for model, by_name in means_by_run.items()
        for name, by_task in by_name.items()
    ]
    return [captioned("formats_by_task", rows, [*TASKS])] if rows else []
