"""Pytest hooks, options and fixtures: translation between pytest and the session.

Loads pytest and the standard library only; whatever else a case needs is imported when the
first marked test is collected.
"""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest

from pytest_tablebench.config.options import OPTIONS, Option
from pytest_tablebench.config.settings import Settings, read_settings
from pytest_tablebench.errors import DataMissing, SettingsError, TableBenchError
from pytest_tablebench.hooks.escaping import HarmlessWarnings, escape_report
from pytest_tablebench.hooks.preparation import (
    check_keys,
    check_names,
    check_run,
    names_are_known,
)
from pytest_tablebench.hooks.reporting import ReportingHooks
from pytest_tablebench.session.roles import Controller, Role, Worker, role_of
from pytest_tablebench.util.names import escaped

if TYPE_CHECKING:
    from pytest_tablebench.running.runner import Answer, CaseRun, Runner
    from pytest_tablebench.session.state import Session

MARKER = "tablebench"

_SETTINGS = pytest.StashKey[Settings]()
_ROLE = pytest.StashKey[Role]()
_SESSION = pytest.StashKey["Session"]()
_RUN = pytest.StashKey["CaseRun"]()
_CALLED = pytest.StashKey[bool]()
"""Set when the item's test has run to its end."""
_BEGUN = pytest.StashKey[bool]()
_MAKING = threading.Lock()
_INI_VALUE: Any = str | int | float | bool if pytest.version_tuple >= (9, 2) else "string"
"""Numbers and true or false may stand in pytest's typed table, `[tool.pytest]`; everywhere else
all is text. What a value may be is ours to say. Before 9.2 pytest knows no such type: text only."""
_SKIPPED = object()
"""Stands for the cases of a dataset that the options leave out."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the registration hooks and register the built-in parts."""
    from pytest_tablebench import hookspecs
    from pytest_tablebench.running.builtins import BuiltIns

    pluginmanager.add_hookspecs(hookspecs)
    pluginmanager.register(BuiltIns(), "tablebench-builtins")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add every option and its ini key."""
    for option in OPTIONS:
        _add_option(parser, option.flag, option, option.help)
        kind: Any = "linelist" if option.repeat else "string" if option.path else _INI_VALUE
        parser.addini(option.key, option.help, type=kind, default=None)


def _add_option(parser: pytest.Parser, flag: str, option: Option, text: str) -> None:
    how: dict[str, Any] = {"action": "append" if option.repeat else "store"}
    if option.switch:
        how = {"action": "store_true"}
    else:
        how["metavar"] = option.metavar
    if option.bare is not None:
        how |= {"nargs": "?", "const": option.bare}
    parser.getgroup("tablebench", "language models on table benchmarks").addoption(
        flag, dest=option.key, help=text, default=None, **how
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    """Add `--model` unless another plugin or a conftest has it: then only the long name exists.

    That is known here at the earliest; added any sooner, it would break whoever comes later.
    """
    if "--model" in args:
        # What stands behind it looks like a path until then.
        known, unknown = parser.parse_known_and_unknown_args(args)
        if "--model" in unknown:
            names = {args[n + 1] for n, arg in enumerate(args[:-1]) if arg == "--model"}
            paths = [path for path in known.file_or_dir if path not in names]
            early_config.known_args_namespace.file_or_dir = paths
    yield
    with contextlib.suppress(ValueError, argparse.ArgumentError):
        _add_option(parser, "--model", OPTIONS[0], f"short for {OPTIONS[0].flag}")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read and check the options; say now, not after an hour, what cannot work."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(dataset, *, threshold=None): run the test once for every case of a dataset; "
        f"the test takes `case` and `answer`",
    )
    for benchmark in ("starter", "torr"):
        config.addinivalue_line("markers", f"{benchmark}: a suite of the {benchmark} benchmark")

    def get(key: str) -> Any:
        given = config.getoption(key, None)
        if given == "":  # an unset variable of a shell, say: not the same as no option
            raise SettingsError(f"--{key.replace('_', '-')} needs a value, not an empty text")
        return _of_ini(config, key) if given is None else given

    role = config.stash[_ROLE] = role_of(config)
    given = [o.key for o in OPTIONS if config.getoption(o.key, None) is not None]
    try:
        check_keys(config)
        settings = read_settings(get, config.invocation_params.dir, given)
        if settings.plan:
            # Nothing will run, so there is nothing to spread over workers.
            config.option.dist, config.option.tx, config.option.numprocesses = "no", [], None
        config.stash[_SETTINGS] = settings
        unsure = False
        if not role.keeps_run:
            return
        if given:
            _runner(config)
            unsure = not names_are_known(config, _session(config))
        if isinstance(role, Controller):
            from pytest_tablebench.hooks.xdist import ControllerHooks

            workers = ControllerHooks(settings, role, lambda: _session(config), unsure=unsure)
            config.pluginmanager.register(workers, "tablebench-xdist")
        reporting = ReportingHooks(config, _SESSION, settings, role, lambda: _begin(config))
        config.pluginmanager.register(reporting, "tablebench-run")
        if given:
            # Behind those: what it registers sees a case's report before they take it.
            _begin(config)
    except SettingsError as error:
        raise pytest.UsageError(escaped(str(error))) from None


def _begin(config: pytest.Config) -> None:
    """Make ready for a run, once: something is asked for, or a case is selected.

    Raises `SettingsError` for what cannot work, now rather than after an hour.
    """
    if config.stash.get(_BEGUN, False):
        return
    config.stash[_BEGUN] = True
    settings, state = config.stash[_SETTINGS], _session(config)
    if settings.explicit:
        _runner(config)
        state.take_verdicts()
    if not config.option.collectonly and not settings.plan:
        state.preflight()
        if settings.snapshot:
            from pytest_tablebench.hooks.snapshots import SnapshotHooks

            hooks = SnapshotHooks(config, _SESSION, settings)
            config.pluginmanager.register(hooks, "tablebench-snapshots")


def _of_ini(config: pytest.Config, key: str) -> Any:
    """Return the value of an ini key; folders in it start where the file lies."""
    value = config.getini(key)
    if not value or config.inipath is None or not any(o.path for o in OPTIONS if o.key == key):
        return value
    folder = config.inipath.parent
    if isinstance(value, str):
        return value if value == "none" else str(folder / Path(value).expanduser())
    return [str(folder / Path(text).expanduser()) for text in value]


def _session(config: pytest.Config) -> Session:
    """Return the session's state, made on first use."""
    with _MAKING:  # the controller of workers is asked from other threads too
        if _SESSION not in config.stash:
            from pytest_tablebench.session.state import Session, run_paths

            settings = config.stash[_SETTINGS]
            paths = run_paths(
                settings, config.invocation_params.dir, datetime.now(UTC).astimezone()
            )
            state = config.stash[_SESSION] = Session(settings, config.stash[_ROLE], paths)
            if state.writer is not None:
                from pytest_tablebench.hooks.selection import selected_by

                state.writer.selected_by = selected_by(config)
            config.pluginmanager.register(HarmlessWarnings())
        return config.stash[_SESSION]


def _runner(config: pytest.Config) -> Runner:
    """Return what runs cases in this process. Raises `SettingsError` for a name used twice."""
    session = _session(config)
    if session.runner is None:
        from pytest_tablebench.registry import Registry
        from pytest_tablebench.running.runner import Runner

        session.serve(Runner(session.settings, Registry.from_hooks(config.hook)))
        if session.settings.explicit:
            from pytest_tablebench.hooks.trimming import ReportTrimmer

            trimmer = ReportTrimmer(config, MARKER, worker=session.role.sends)
            config.pluginmanager.register(trimmer)
        if isinstance(session.role, Worker):
            from pytest_tablebench.hooks.crashes import RunningCases
            from pytest_tablebench.hooks.xdist import WorkerHooks

            config.pluginmanager.register(WorkerHooks())
            config.pluginmanager.register(RunningCases(session, session.role.note))
    return session.require_runner()


# Collection: ids only.


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
        runner = _runner(config)
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
        if config.stash[_SETTINGS].datasets is not None:
            raise pytest.Collector.CollectError(escaped(f"{test}: {error}")) from None
        skipped = pytest.mark.skip(reason=escaped(str(error)))
        return [pytest.param(dataset, marks=skipped)], ["no-data"]
    except TableBenchError as error:
        raise pytest.Collector.CollectError(escaped(f"{test}: {error}")) from None
    return list(cases), ids


def _has_params(item: pytest.Item) -> TypeGuard[pytest.Function]:
    return hasattr(item, "callspec")


def _is_ours(item: pytest.Item) -> bool:
    return _has_params(item) and "case" in item.callspec.params and MARKER in item.keywords


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Name the tests before any is deselected; deselect the datasets that options leave out."""
    if _SESSION not in config.stash:
        return (yield)
    from pytest_tablebench.hooks.items import arrange, name_checks

    state = config.stash[_SESSION]
    state.tests = name_checks(items)
    yield
    left_out = [
        item for item in items if _has_params(item) and item.callspec.params.get("case") is _SKIPPED
    ]
    if left_out:
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=left_out)
    settings = config.stash[_SETTINGS]
    if settings.stop_rule is not None:
        from pytest_tablebench.session.verdict import places

        arrange(items, lambda cases: places(settings, cases))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Take note of the plan; see that all is there; open the run folder before the first call."""
    config = session.config
    if config.stash[_ROLE].unsure:
        _runner(config)
    state = config.stash.get(_SESSION, None)
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
        if state.planned or state.missing:
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
        _begin(config)
    state.role.set_out(state)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close what is still open; a worker tells what it has read past."""
    state = session.config.stash.get(_SESSION, None)
    if state is not None:
        state.close()
        state.role.finish(session.config, state)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close what is open where no session came about, and wait for what was told to end."""
    state = config.stash.get(_SESSION, None)
    if state is not None:
        state.close()
        state.reap()


# Running.


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run nothing where only the plan was asked for."""
    settings = session.config.stash.get(_SETTINGS, None)
    if settings is None or not settings.plan:
        return None
    state = session.config.stash.get(_SESSION, None)
    ours = state is not None and bool(state.planned or state.missing)
    # One of a configuration file stops no session that has nothing to do with us.
    return True if ours or "bench_plan" in settings.given else None


@pytest.fixture
def case(request: pytest.FixtureRequest) -> CaseRun:
    """One case of the benchmark: its ids, the question as asked, and its score once judged."""
    from pytest_tablebench.hooks.items import POSITION

    if not hasattr(request, "param"):
        pytest.fail(f"mark the test with @pytest.mark.{MARKER}('dataset')", pytrace=False)
    marker = request.node.get_closest_marker(MARKER)
    run = _runner(request.config).start(
        request.param,
        marker.kwargs.get("threshold"),
        request.node.stash.get(POSITION, None),
        _session(request.config).limits.get(request.param.dataset),
    )
    request.node.stash[_RUN] = run
    return run


@pytest.fixture
def answer(case: CaseRun) -> Answer:
    """What the model said. Without an answer the test ends here, as an error in set-up."""
    from pytest_tablebench.errors import TableBenchError

    try:
        return case.ask()
    except TableBenchError as error:
        from pytest_tablebench.running.runner import no_answer_text

        # Failed without a traceback: it would say nothing about the model, and cost milliseconds.
        pytest.fail(no_answer_text(error), pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Note when the test itself is over: what is reported before are its subtests."""
    try:
        return (yield)
    finally:
        if _RUN in item.stash:
            item.stash[_CALLED] = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what a test found of its case on the report that tells it."""
    run = item.stash.get(_RUN, None)
    if run is not None and call.excinfo is not None:
        from pytest_tablebench.hooks.outcomes import spare_traceback

        spare_traceback(item, run, call.excinfo.value)
    report = yield
    if run is not None:
        vars(item).pop("repr_failure", None)
    elif call.when == "setup" and not report.passed and _is_ours(item):
        from pytest_tablebench.hooks.outcomes import never_asked

        run = never_asked(item, _runner(item.config))
        if run is None:  # there is no data
            report.tablebench_skipped = True  # type: ignore[attr-defined]
    if run is None:
        return report
    from pytest_tablebench.hooks.outcomes import FAILED_PARTS, annotate, annotate_part

    if call.when == "teardown":
        del item.stash[_RUN]
        item.stash[_CALLED], item.stash[FAILED_PARTS] = False, 0
    elif call.when == "call" and not item.stash.get(_CALLED, False):
        annotate_part(item, call, report)
    else:
        annotate(item, run, call, report, _session(item.config))
    escape_report(report)
    return report
