"""Collection: every case of a dataset is one item, known by its ids only."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest

from pytest_tablebench.errors import DataMissing, SettingsError, TableBenchError
from pytest_tablebench.hooks.current import MARKER, ROLE, SESSION, SETTINGS, begin, runner_of
from pytest_tablebench.hooks.preparation import check_names, check_run
from pytest_tablebench.util.names import escaped

if TYPE_CHECKING:
    from pytest_tablebench.session.state import Session

__all__ = ["is_ours"]

_SKIPPED = object()
"""Stands for the cases of a dataset that the options leave out."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a marked test by the cases of its dataset."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    name = metafunc.definition.name
    well_formed = len(marker.args) == 1 and not set(marker.kwargs) - {"threshold"}
    if not well_formed or "case" not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{name}: write @pytest.mark.{MARKER}('dataset'), with threshold=... if need be, on "
            f"a test that takes `case` and `answer`"
        )
    params, ids = _params(metafunc.config, str(marker.args[0]), name)
    metafunc.parametrize("case", params, ids=ids, indirect=True)


def _params(config: pytest.Config, dataset: str, test: str) -> tuple[list[Any], list[str]]:
    try:
        runner = runner_of(config)
        if dataset not in runner.registry.datasets:
            runner.registry.update(config.hook)
        if dataset not in runner.registry.datasets:
            from pytest_tablebench.util.names import unknown_name

            raise SettingsError(unknown_name("dataset", dataset, runner.registry.datasets))
        chosen = runner.settings.datasets
        if chosen is not None and dataset not in chosen:
            return [_SKIPPED], ["left-out"]
        cases, ids = runner.cases(dataset)
    except DataMissing as error:
        if config.stash[SETTINGS].datasets is not None:
            raise pytest.Collector.CollectError(escaped(f"{test}: {error}")) from None
        skipped = pytest.mark.skip(reason=escaped(str(error)))
        return [pytest.param(dataset, marks=skipped)], ["no-data"]
    except TableBenchError as error:
        raise pytest.Collector.CollectError(escaped(f"{test}: {error}")) from None
    return list(cases), ids


def _has_params(item: pytest.Item) -> TypeGuard[pytest.Function]:
    return hasattr(item, "callspec")


def is_ours(item: pytest.Item) -> bool:
    """Whether an item runs a case."""
    return _has_params(item) and "case" in item.callspec.params and MARKER in item.keywords


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Name the tests before any is deselected; deselect the datasets that options leave out."""
    if SESSION not in config.stash:
        return (yield)
    from pytest_tablebench.hooks.items import arrange, name_checks

    state = config.stash[SESSION]
    state.tests = name_checks(items)
    yield
    left_out = [
        item for item in items if _has_params(item) and item.callspec.params.get("case") is _SKIPPED
    ]
    if left_out:
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=left_out)
    settings = config.stash[SETTINGS]
    if settings.stop_rule is not None:
        from pytest_tablebench.session.verdict import places

        arrange(items, lambda cases: places(settings, cases))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Take note of the plan; see that all is there; open the run folder before the first call."""
    config = session.config
    if config.stash[ROLE].unsure:
        runner_of(config)
    state = config.stash.get(SESSION, None)
    if state is None or state.runner is None:
        return
    from pytest_tablebench.hooks.items import limits, number

    state.plan(item.callspec.params.get("case") for item in session.items if _has_params(item))
    state.runner.prefetch.expect(number(session.items))
    if state.role.sends:
        from pytest_tablebench.hooks.progress import PassesWaits

        config.pluginmanager.register(PassesWaits(config, state.require_runner().prefetch))
    try:
        if state.planned or state.settings.given:
            check_names(config, state)
        if config.option.collectonly:
            return
        if state.planned or state.selection.missing:
            check_run(state, _thresholds(session.items))
            state.limits = limits(session.items, state.runner.threshold, MARKER)
        if state.planned:
            _set_out(config, state)
    except SettingsError as error:
        state.role.refuse(state, error)


def _thresholds(items: list[pytest.Item]) -> dict[str, object]:
    """Return the thresholds that markers give, by test."""
    found = {}
    for item in items:
        marker = item.get_closest_marker(MARKER) if _has_params(item) else None
        if marker is not None and marker.kwargs.get("threshold") is not None:
            found[item.nodeid.partition("[")[0]] = marker.kwargs["threshold"]
    return found


def _set_out(config: pytest.Config, state: Session) -> None:
    """Begin the run: its folder, its engine, its plan. Raises `SettingsError`."""
    if getattr(config.option, "allure_report_dir", None):
        from pytest_tablebench.hooks import allure

        benchmark_of = state.require_runner().benchmark_of
        allure.install(
            config, benchmark_of=benchmark_of, tests=state.tests, take_over=state.writes_allure
        )
    if state.role.keeps_run:
        begin(config)
    state.role.set_out(state)
