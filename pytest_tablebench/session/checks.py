"""Is everything there that the selected cases need? Asked before the first call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_tablebench.session.cases import Cases
    from pytest_tablebench.session.verdict import Verdicts

__all__ = ["check_data", "check_selection"]


def check_selection(
    cases: Cases, verdicts: Verdicts | None, thresholds: Mapping[str, object]
) -> None:
    """Raise `SettingsError` for a threshold, a gate or a replay that no selected case fits.

    Arguments:
        cases: those that were selected.
        verdicts: what judges the run.
        thresholds: those that markers give, by test.
    """
    from pytest_tablebench.running.name_checks import check_tests
    from pytest_tablebench.running.preflight import check_replay, check_threshold

    for place, value in thresholds.items():
        check_threshold(place, value)
    datasets = cases.selection.datasets()
    if verdicts is not None:
        meant = "bench_gate" in cases.settings.command_line_keys
        verdicts.check_selected(datasets, cases.selection.missing, meant=meant)
        check_tests(verdicts.gates, cases.tests)
    if datasets:
        check_replay(cases.runner)


def check_data(cases: Cases, verdicts: Verdicts | None) -> None:
    """Raise `SettingsError` for datasets that nobody can run, and for gates on unknown tags.

    One process of a run does this for all: the files are read for it.
    """
    from pytest_tablebench.running.gate_subjects import check_subjects
    from pytest_tablebench.running.preflight import check_datasets

    check_datasets(cases.runner, cases.selection.datasets())
    if verdicts is not None and "bench_gate" in cases.settings.command_line_keys:
        check_subjects(cases.runner, verdicts.gates, cases.selection.cases)
