"""Lines of the terminal: the header, data, and outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.config.settings import Settings, without_credentials
from pytest_tablebench.documents.formats import origins_text
from pytest_tablebench.util.names import counted, shortened
from pytest_tablebench.util.programs import program

__all__ = [
    "beside_line",
    "data_lines",
    "dataset_lines",
    "header_line",
    "in_process_lines",
    "missing_lines",
    "outcome_line",
    "plan_line",
    "short_path",
    "test_lines",
]


MANY_MISSING = 3
"""The number of missing datasets up to which each has its own line."""


def header_line(settings: Settings, paths: Mapping[str, Path]) -> str:
    """Return the line with model, data, store and result folders."""
    default = "" if settings.model_given else " (the default)"
    models = ", ".join(shortened(model, 60) for model in settings.models)
    at = f" at {without_credentials(settings.api_base)}" if settings.api_base else ""
    setting = f"setting {settings.setting}; " if settings.setting else ""
    if settings.prompts is not None:
        setting += f"prompts {short_path(settings.prompts.folder)}; "
    data = settings.data_folder()
    results = ", ".join(short_path(path) for path in paths.values())
    return (
        f"tablebench: model {models}{default}{at}; {setting}compat {settings.compat}; "
        f"data {short_path(data)}; store {_store(settings)}; results {results}"
    )


def _store(settings: Settings) -> str:
    """Return `replay`, the place of the answer store, or `none`."""
    if settings.replay:
        return "replay"
    if isinstance(settings.store, str):
        return without_credentials(settings.store)
    folder = settings.store_folder()
    return short_path(folder) if folder is not None else "none"


def short_path(path: Path) -> str:
    """Return the path, relative to the working folder if it is inside."""
    working_folder = Path.cwd()
    inside = path.relative_to(working_folder) if path.is_relative_to(working_folder) else path
    return str(inside)


def plan_line(cases: int, grid: Mapping[str, Any] | None, models: int) -> str:
    """Return the line with the number of cases and the grid that they form."""
    if not grid:
        return f"tablebench: {counted(cases, 'case')}"
    factors = f", {models} models" if models > 1 else ""
    sizes = [(axis, len(grid.get(axis.plural, ()))) for axis in NAMED]
    shown = [
        counted(size, axis.name, axis.plural) for axis, size in sizes if axis.in_grid or size > 1
    ]
    return f"tablebench: {counted(cases, 'case')}; grid {' x '.join(shown)}{factors}"


def dataset_lines(by_dataset: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return lines on datasets with unusual settings, and the origin of these."""
    together: dict[str, list[str]] = {}
    for name, facts in by_dataset.items():
        text = origins_text(facts)
        if text:
            together.setdefault(text, []).append(shortened(name, 60))
    return [f"tablebench: {', '.join(names)}: {text}" for text, names in together.items()]


def in_process_lines(models: Iterable[str]) -> list[str]:
    """Return the lines that name the models which run in the test process."""
    return [
        f"tablebench: {shortened(model, 60)} answers in the process of its test, one call at a "
        f"time: --bench-connections and a budget have no effect on it"
        for model in models
    ]


def data_lines(datasets: Mapping[str, Any]) -> list[str]:
    """Return lines on problems of the data: notes and unusable rows."""
    together: dict[str, list[str]] = {}
    for raw, facts in datasets.items():
        for note in facts["notes"]:
            together.setdefault(note, []).append(shortened(raw, 60))
    lines = [f"{', '.join(names)}: {note}" for note, names in together.items()]
    for raw, facts in datasets.items():
        name = shortened(raw, 60)
        problems = facts["problems"]
        if problems:
            lines.append(f"{name}: {counted(len(problems), 'bad row')} left out:")
            lines += [f"  {shortened(problem, 300)}" for problem in problems[:5]]
            if len(problems) > 5:
                lines.append(f"  ... and {len(problems) - 5} more (all of them in run.json)")
    return lines


def missing_lines(missing: Mapping[str, str]) -> list[str]:
    """Return the lines on datasets without data: one each, or one for many."""
    if len(missing) > MANY_MISSING:
        names = [shortened(name, 60) for name in missing]
        shown = ", ".join(names[:MANY_MISSING])
        return [
            f"skipped, no data: {shown} and {len(names) - MANY_MISSING} more datasets "
            f"(`{program('tablebench')} list` has the command for each)"
        ]
    return [
        f"{shortened(name, 60)}: skipped, {shortened(reason, 500)}"
        for name, reason in missing.items()
    ]


def test_lines(tests: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one line for each dataset with several tests."""
    return [
        f"{shortened(dataset, 60)}: each case has one record; checks in it: "
        f"{shortened(', '.join(names), 400)}"
        for dataset, names in tests.items()
        if len(names) > 1
    ]


def beside_line(test: str, count: int) -> str:
    """Return the line on a test that fails on right answers without a gate on it."""
    return (
        f"{shortened(test, 200)} failed {counted(count, 'time')} and has no gate, so the exit "
        f"code is 1; a gate on its pass rate: DATASET::{shortened(test, 200)}.pass_rate"
    )


def outcome_line(outcomes: Iterable[str], *, has_gates: bool) -> str:
    """Return the line that opens the summary: the number of cases of each outcome."""
    counts = Counter(outcomes)
    exit_code = (
        "fail no build by themselves: the gates do"
        if has_gates
        else "set exit code 1, unless the run has gates (--bench-gate)"
    )
    scored = f", {counts['scored']:,} only scored" if counts["scored"] else ""
    return (
        f"{counts['right']:,} right, {counts['wrong']:,} wrong, {counts['no_answer']:,} without an "
        f"answer{scored}. Wrong answers are failed tests and {exit_code}."
    )
