"""Compute `summary.json`, and find notable figures in it (spec: torr_analyses.md 0 to 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tablebench.claims._cheapest import MARGIN, paired_settings, settings_of
from pytest_tablebench.claims._clusters import cluster_count
from pytest_tablebench.claims.estimate import estimate
from pytest_tablebench.claims.summary._examples import Examples, by_tag
from pytest_tablebench.claims.summary._repeats import (
    consistency_figures,
    finite_values,
    memory_figures,
    part_figures,
    repeat_figures,
    sampling_cost,
)
from pytest_tablebench.config.axes import NAMED, SAME_QUESTION
from pytest_tablebench.results.figures import mean, means
from pytest_tablebench.results.record import CUT_AT, READ, SENT, TALLIES, UNCLEAR
from pytest_tablebench.results.score_table import EQUAL, Cells, ScoreTable, benchmarks_of
from pytest_tablebench.results.sheets import ScoreSheet, sheets
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Integers, ScoreColumns


def summarize(
    records: ScoreTable | Iterable[Any], *, margins: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Return the content of `summary.json` for the records of one model, or their table.

    A measure is the mean over examples of the mean over their answered configurations, and does
    not depend on the order of records. Cases without an answer are counted and left out. A measure
    that cannot be computed is None.

    The repeats of a configuration are merged into their mean score and the share that passed.
    `n_cases`, `no_answer` and `reasons` count every repeat; a configuration is missing
    (`incomplete`) if no repeat was answered. Figures of the repeats are under `repeats` (see
    `repeat_figures`), if there are any.

    A benchmark with several names on an axis of `SAME_QUESTION` has an entry for it (see
    `_settings`), judged with the axis' margin of `margins`.

    Further entries are `parts` (see `part_figures`), `consistency` (see `consistency_figures`) and
    `tags` (see `by_tag`). Cases whose perturbation changes the meaning of the table count as
    cases, but their measures are separate, under `changed_meaning` and `memory` (see
    `memory_figures`). If a scope has no other cases, they are its measures, and flagged.
    """
    table = records if isinstance(records, ScoreTable) else ScoreTable.from_records(records)
    if not len(table):
        return {"benchmarks": {}}
    parts = {
        name: _DatasetCells(table.cells, name, sheet) for name, sheet in sheets(table.cells).items()
    }
    return {
        "benchmarks": {
            name: {
                **_benchmark(table.cells, {dataset: parts[dataset] for dataset in datasets}),
                **_settings([parts[dataset].sheet for dataset in datasets], margins or {}),
            }
            for name, datasets in benchmarks_of(table).items()
        }
    }


class _DatasetCells:
    """One dataset: its sheet, its examples, and the indices of its cells."""

    def __init__(self, cells: Cells, name: str, sheet: ScoreSheet) -> None:
        self.sheet, self.examples = sheet, Examples.of(sheet, with_parts=True)
        self.code = cells.table.names["dataset"].index(name)
        self.members: Integers = (cells.codes("dataset") == self.code).nonzero()[0]
        same_meaning_cells = self.members[~self.is_altered(cells, self.members)]
        self.meant: Integers = same_meaning_cells if len(same_meaning_cells) else self.members
        """The cells whose perturbation preserves the meaning of a table; all cells without any."""

    @staticmethod
    def is_altered(cells: Cells, places: Integers) -> Flags:
        """Return which cells have a perturbation that changes the meaning of a table."""
        names, altered = cells.table.names["perturbation"], cells.table.altered
        codes = [code for code, name in enumerate(names) if name in altered]
        flags: Flags = np.isin(cells.codes("perturbation")[places], codes)
        return flags


def _benchmark(cells: Cells, parts: Mapping[str, _DatasetCells]) -> dict[str, Any]:
    return {
        **_scope(list(parts.values())),
        **_repeats(cells, list(parts.values())),
        "datasets": {name: _dataset(cells, part) for name, part in parts.items()},
    }


def _dataset(cells: Cells, part: _DatasetCells) -> dict[str, Any]:
    sheet = part.sheet
    return {
        **_scope([part]),
        **_repeats(cells, [part]),
        **_checks(cells, part),
        "reasons": _reasons(cells.table, part.code),
        **_cut_at(cells.table, part.code),
        **_prompt_read(cells.table, part.code),
        "sampled": _sampled(sheet),
        **_axes(sheet),
    }


def _scope(parts: Sequence[_DatasetCells]) -> dict[str, Any]:
    datasets, sheets = [part.examples for part in parts], [part.sheet for part in parts]
    return {
        **_figures(datasets, curve=True),
        **_changed_meaning(sheets),
        **memory_figures(sheets),
        **by_tag(datasets, [sheet.tags for sheet in sheets], _figures),
    }


def _figures(datasets: Sequence[Examples], *, curve: bool = False) -> dict[str, Any]:
    consistency = consistency_figures(datasets, curve=curve)
    return {**_measures(datasets), **part_figures(datasets), **consistency}


def _changed_meaning(sheets: Sequence[ScoreSheet]) -> dict[str, Any]:
    changed = [sheet.other for sheet in sheets if sheet.meant is not sheet]
    others = [sheet for sheet in changed if sheet is not None]
    if len(others) < len(sheets):
        return {}
    measures = _measures([Examples.of(sheet) for sheet in others])
    figures = {
        "perturbations": sorted({name for sheet in others for name in sheet.names("perturbation")}),
        "value": measures["performance"],
        "ci95": measures["ci95"]["performance"],
        **{name: measures[name] for name in ("pass_rate", "no_answer", "n_examples", "n_cases")},
    }
    return {"changed_meaning": figures}


def _axes(sheet: ScoreSheet) -> dict[str, Any]:
    """Return the measures by axis and name; strategies and so on only if there are several."""
    by_axis = {}
    for axis in NAMED:
        names = sheet.names(axis.name)
        if axis.in_grid or len(names) > 1:
            by_axis[axis.plural] = {
                name: _measures([Examples.of(sheet.part(axis.name, name))]) for name in names
            }
    return by_axis


def _settings(whole_sheets: Sequence[ScoreSheet], margins: Mapping[str, float]) -> dict[str, Any]:
    """Return the measures of each name on an axis that does not change the question.

    Each has its difference to the last in the axis' order. There is an
    entry for each such axis with several names. `add_spending` adds tokens, costs and the cheapest
    name.
    """
    sheets = [sheet.meant for sheet in whole_sheets]
    blocks = {}
    for axis in SAME_QUESTION:
        names = settings_of(sheets, axis)
        if not names:
            continue
        margin = margins.get(axis.name, MARGIN)
        paired = paired_settings(sheets, axis, names, margin)
        settings = {}
        for name in names:
            used = [sheet for sheet in sheets if name in sheet.names(axis.name)]
            measures = _measures([Examples.of(sheet.part(axis.name, name)) for sheet in used])
            difference = paired.get(name)
            settings[name] = measures | ({} if difference is None else {"paired": difference})
        blocks[axis.plural] = {
            "reference": names[-1],
            "margin": margin,
            "level": 0.95,
            "settings": settings,
        }
    return blocks


def _repeats(cells: Cells, parts: Sequence[_DatasetCells]) -> dict[str, Any]:
    figures = repeat_figures(cells, [part.meant for part in parts])
    return {} if figures is None else {"repeats": figures}


def _checks(cells: Cells, part: _DatasetCells) -> dict[str, Any]:
    """Return the figures of each test over the cases, under `checks`; empty without tests.

    `pass_rate` is the mean over examples of the mean over their configurations. `n_cases` is the
    number of configurations with a verdict, `failed` the number of those that did not pass, and
    `untold` the number without a verdict because the test failed early. As in gates, cases with a
    changed meaning count only if the test has no others.
    """
    figures: dict[str, Any] = {}
    for name in part.sheet.checks:
        rows = cells.sparse["checks"][name].rows
        rows = rows[np.isin(rows, part.members)]
        plain = rows[~part.is_altered(cells, rows)]
        sheet = part.sheet.meant if len(plain) else part.sheet
        shares = sheet.checks[name]
        values, n_cases = means(shares), int(np.isfinite(shares).sum())
        has_verdict = np.isfinite(values)
        groups = None if sheet.groups is None else sheet.groups[has_verdict].tolist()
        rate = estimate([finite_values(values)], [groups])
        figures[name] = {
            "pass_rate": rate.value,
            "n_examples": rate.examples,
            "n_cases": n_cases,
            "failed": int((shares < 1).sum()),
            "untold": len(plain if len(plain) else rows) - n_cases,
            "ci95": rate.ci95,
        }
    return {"checks": figures} if figures else {}


def _sampled(sheet: ScoreSheet) -> dict[str, Any] | None:
    """Return the cost of sampling configurations for each example; None without sampling."""
    is_asked = sheet.is_asked
    sizes = is_asked.sum(axis=1)
    if sizes.min() < sizes.max() or bool((is_asked == is_asked[0]).all()):
        return None  # the whole grid, a fixed part of it, or an interrupted run
    grid_size = sheet.size // len(sheet.examples)
    answered = (row[np.isfinite(row)].tolist() for row in sheet.scores)
    cost = sampling_cost([scores for scores in answered if scores], grid_size)
    width, is_assumed = cost or (None, False)
    return {
        "drawn": int(sizes[0]),
        "of": grid_size,
        "width_ratio": width,
        "assumed": is_assumed,
    }


def _measures(datasets: Sequence[Examples]) -> dict[str, Any]:
    cases, unanswered, answered = (
        sum(int(dataset[name].sum()) for dataset in datasets)
        for name in ("cases", "lost", "answered")
    )
    most = max(int(dataset.is_asked.sum(axis=1).max()) for dataset in datasets)
    flags = ["one configuration"] if most == 1 else []
    flags += ["incomplete"] if answered < sum(dataset.size for dataset in datasets) else []
    flags += (
        ["changed meaning"] if any(dataset.sheet.is_altered.any() for dataset in datasets) else []
    )
    measures: dict[str, Any] = {}
    bounds: dict[str, Any] = {}
    for name in ("performance", "robustness", "pass_rate"):
        columns = [dataset[name] for dataset in datasets]
        groups = [dataset.groups_of(dataset[name]) for dataset in datasets]
        figure = estimate(list(map(finite_values, columns)), groups)
        measures[name], bounds[name] = figure.value, figure.ci95
    lost = {name: sum(int(dataset[name].sum()) for dataset in datasets) for name in TALLIES}
    lost = {"no_answer": unanswered, **lost}
    if lost[UNCLEAR]:
        highest = (mean(finite_values(dataset["pass_rate_high"])) for dataset in datasets)
        measures["pass_rate_high"] = mean(highest)
    return {
        **measures,
        **{name: count / cases if cases else None for name, count in lost.items()},
        "n_examples": sum(map(len, datasets)),
        "n_clusters": _cluster_count(datasets),
        "n_cases": cases,
        "ci95": bounds,
        "flags": flags,
    }


def _cluster_count(datasets: Sequence[Examples]) -> int | None:
    """Return the number of clusters of the answered examples; None if records name none.

    Datasets over the same tables share clusters.
    """
    answered = [(dataset.clusters, np.isfinite(dataset["performance"])) for dataset in datasets]
    return cluster_count(
        [None if names is None else names[used].tolist() for names, used in answered if used.any()]
    )


def _cut_at(table: ScoreColumns, dataset: int) -> dict[str, Any]:
    """Return the lowest and the highest token limit of a dataset's cut replies."""
    marks = table.tallies.get(CUT_AT)
    if marks is None:
        return {}
    limits = marks.values[table.codes["dataset"][marks.rows] == dataset]
    return {"cut_at": [int(limits.min()), int(limits.max())]} if len(limits) else {}


def _prompt_read(table: ScoreColumns, dataset: int) -> dict[str, Any]:
    """Return the tokens read and sent of the prompt of which the server read the least."""
    columns = [table.tallies.get(name) for name in (READ, SENT)]
    if any(column is None for column in columns):
        return {}
    read, sent = (
        column.values[table.codes["dataset"][column.rows] == dataset]
        for column in columns
        if column is not None
    )
    lowest = int(np.argmin(read / sent)) if len(read) else None
    return {} if lowest is None else {"prompt_read": [int(read[lowest]), int(sent[lowest])]}


def _reasons(table: ScoreColumns, dataset: int) -> dict[str, int]:
    """Return the number of a dataset's cases without an answer, by reason, the largest first."""
    counts = np.bincount(table.codes["reason"][table.codes["dataset"] == dataset])
    reasons = {name: int(n) for name, n in zip(table.names["reason"], counts, strict=False) if n}
    reasons.pop("", None)
    return dict(sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0])))


class Spread(NamedTuple):
    """The best and the worst of some scopes by performance (paper Table 5).

    Several names mean a tie; if all scopes tie, `best` and `worst` are equal. `answers` are the
    smallest and the largest number of answers of a scope.
    """

    best: tuple[str, ...]
    high: float
    worst: tuple[str, ...]
    low: float
    answers: tuple[int, int]

    @property
    def all_equal(self) -> bool:
        """Whether all scopes tie."""
        return self.best == self.worst


def spread(scopes: Mapping[str, Mapping[str, Any]]) -> Spread | None:
    """Return the best and the worst scopes; None if fewer than two have a value."""
    values = {
        name: scope["performance"]
        for name, scope in sorted(scopes.items())
        if scope["performance"] is not None
    }
    if len(values) < 2:
        return None
    high, low = max(values.values()), min(values.values())
    best, worst = (
        tuple(name for name, value in values.items() if abs(value - end) < EQUAL)
        for end in (high, low)
    )
    answers = [round(scopes[name]["n_cases"] * (1 - scopes[name]["no_answer"])) for name in values]
    return Spread(best, high, worst, low, (min(answers), max(answers)))


def same_meaning(scope: Mapping[str, Any], axis: str) -> dict[str, Mapping[str, Any]]:
    """Return an axis of `summary.json` without perturbations that change the meaning of a table."""
    changed = (scope.get("changed_meaning") or {}).get("perturbations", ())
    return {name: figures for name, figures in scope[axis].items() if name not in changed}


def informative_checks(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checks of a dataset in `summary.json`; none if they repeat its pass rate.

    That is the case for a single test that passes exactly as often as answers are right.
    """
    checks: dict[str, Any] = scope.get("checks") or {}
    are_alike = {check["pass_rate"] for check in checks.values()} == {scope["pass_rate"]}
    return {} if len(checks) == 1 and are_alike else checks
