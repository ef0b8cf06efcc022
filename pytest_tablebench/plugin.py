"""Pytest hooks, options and fixtures: translation between pytest and the session.

Loads pytest and the standard library only; whatever else a case needs is imported when the
first marked test is collected.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import pytest

from pytest_tablebench._keeping import KeepingHooks
from pytest_tablebench.errors import DataMissing, SettingsError, TableBenchError
from pytest_tablebench.settings import OPTIONS, Option, Settings, read_settings

if TYPE_CHECKING:
    from pytest_tablebench.results import Outcome
    from pytest_tablebench.runner import Answer, CaseRun, Runner
    from pytest_tablebench.session import Role, Session

MARKER = "tablebench"

_SETTINGS = pytest.StashKey[Settings]()
_SESSION = pytest.StashKey["Session"]()
_RUN = pytest.StashKey["CaseRun"]()
_SKIPPED = object()
"""Stands for the cases of a dataset that the options leave out."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the registration hooks and register the built-in parts."""
    from pytest_tablebench import hookspecs, registry

    pluginmanager.add_hookspecs(hookspecs)
    pluginmanager.register(registry.BuiltIns(), "tablebench-builtins")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add every option and its ini key."""
    for option in OPTIONS:
        _add_option(parser, option.flag, option, option.help)
        kind: Any = "linelist" if option.repeat else "string"
        parser.addini(option.key, option.help, type=kind, default=None)


def _add_option(parser: pytest.Parser, flag: str, option: Option, text: str) -> None:
    parser.getgroup("tablebench", "language models on table benchmarks").addoption(
        flag,
        dest=option.key,
        metavar=option.metavar,
        help=text,
        action="append" if option.repeat else "store",
        default=None,
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
        return config.getini(key) if given is None else given

    worker = hasattr(config, "workerinput")
    try:
        settings = read_settings(get, config.invocation_params.dir)
        config.stash[_SETTINGS] = settings
        if settings.explicit and not worker:
            _runner(config)
            if not config.option.collectonly:
                _session(config).preflight()
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None
    if not worker:
        config.pluginmanager.register(KeepingHooks(config, _SESSION, settings), "tablebench-run")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker where the run is kept."""
    paths = _session(node.config).paths
    node.workerinput["tablebench_paths"] = {model: str(path) for model, path in paths.items()}


def _session(config: pytest.Config) -> Session:
    """Return the session's state, made on first use."""
    if _SESSION not in config.stash:
        from pytest_tablebench.session import Session, run_paths

        settings = config.stash[_SETTINGS]
        role: Role = "alone"
        if hasattr(config, "workerinput"):
            role = "worker"
            given = config.workerinput["tablebench_paths"]
            paths = {model: Path(path) for model, path in given.items()}
        else:
            if config.pluginmanager.hasplugin("dsession"):
                role = "controller"
            now = datetime.now(UTC).astimezone()
            paths = run_paths(settings, config.invocation_params.dir, now)
        config.stash[_SESSION] = Session(settings, role, paths)
    return config.stash[_SESSION]


def _runner(config: pytest.Config) -> Runner:
    """Return what runs cases in this process. Raises `SettingsError` for unknown names."""
    session = _session(config)
    if session.runner is None:
        from pytest_tablebench.registry import Registry
        from pytest_tablebench.runner import Runner

        session.runner = Runner(session.settings, Registry.from_hooks(config.hook))
    return session.runner


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
            from pytest_tablebench.names import unknown_name

            raise SettingsError(unknown_name("dataset", dataset, runner.registry.datasets))
        chosen = runner.settings.datasets
        if chosen is not None and dataset not in chosen:
            return [_SKIPPED], ["left-out"]
        cases, ids = runner.cases(dataset)
    except DataMissing as error:
        if config.stash[_SETTINGS].datasets is not None:
            raise pytest.Collector.CollectError(f"{test}: {error}") from None
        return [pytest.param(dataset, marks=pytest.mark.skip(reason=str(error)))], ["no-data"]
    except TableBenchError as error:
        raise pytest.Collector.CollectError(f"{test}: {error}") from None
    return list(cases), ids


def _has_params(item: pytest.Item) -> TypeGuard[pytest.Function]:
    return hasattr(item, "callspec")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the datasets that the options leave out."""
    if _SESSION not in config.stash:
        return
    left_out = [
        item for item in items if _has_params(item) and item.callspec.params.get("case") is _SKIPPED
    ]
    if left_out:
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Take note of the plan; open the run folder before the first call."""
    config = session.config
    state = config.stash.get(_SESSION, None)
    if state is None or state.runner is None:
        return
    state.plan(item.callspec.params.get("case") for item in session.items if _has_params(item))
    if not state.planned or config.option.collectonly:
        return
    try:
        if state.keeper is not None:
            state.keeper.open()
        else:
            state.preflight()
    except SettingsError as error:
        if state.role == "worker":
            # A worker cannot end the session itself: its first case says so, unasked.
            state.require_runner().stopped = str(error)
            return
        raise pytest.UsageError(str(error)) from None
    if state.keeper is not None:
        facts = state.facts()
        if facts is not None:
            state.keeper.learn(facts)


# Running.


@pytest.fixture
def case(request: pytest.FixtureRequest) -> CaseRun:
    """One case of the benchmark: its ids, the question as asked, and its score once judged."""
    if not hasattr(request, "param"):
        pytest.fail(f"mark the test with @pytest.mark.{MARKER}('dataset')", pytrace=False)
    marker = request.node.get_closest_marker(MARKER)
    run = _runner(request.config).start(request.param, marker.kwargs.get("threshold"))
    request.node.stash[_RUN] = run
    return run


@pytest.fixture
def answer(case: CaseRun) -> Answer:
    """What the model said. Without an answer the test ends here, as an error in set-up."""
    return case.ask()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the case's record on the report that decides its outcome."""
    report = yield
    run = item.stash.get(_RUN, None)
    if run is None and call.when == "setup" and report.failed and _has_params(item):
        run = _never_asked(item)
    if run is not None:
        if call.when == "teardown":
            del item.stash[_RUN]
        else:
            _annotate(item, run, call, report)
    return report


def _never_asked(item: pytest.Function) -> CaseRun | None:
    """Return the case of a test whose other fixtures failed before `case` was made."""
    from pytest_tablebench.cases import Case

    param = item.callspec.params.get("case")
    return _runner(item.config).start(param) if isinstance(param, Case) else None


def _annotate(
    item: pytest.Item, run: CaseRun, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    from pytest_tablebench._escaping import escape_traceback, escaped
    from pytest_tablebench.assertions import WrongAnswer
    from pytest_tablebench.runner import no_answer_text

    error = call.excinfo.value if call.excinfo else None
    expected_failure = hasattr(report, "wasxfail")
    if (report.skipped and not expected_failure) or (call.when == "setup" and error is None):
        return
    state = _session(item.config)
    if isinstance(error, WrongAnswer):
        report.longrepr = str(error)
    elif error is not None and error is run.error and isinstance(error, TableBenchError):
        report.longrepr = no_answer_text(error)
    else:
        escape_traceback(report.longrepr)
    report.sections[:] = [(title, escaped(text)) for title, text in report.sections]
    outcome: Outcome
    if run.answer is not None and error is None:
        outcome = "right"
    elif run.answer is not None and call.when == "call" and isinstance(error, AssertionError):
        outcome = "wrong"
    else:
        outcome = "no_answer"
    stopped = state.require_runner().stopped
    if stopped is not None and not item.session.shouldstop:
        item.session.shouldstop = stopped
    if getattr(error, "reason", None) != "stopped":  # it was never asked
        report.tablebench = state.payload(run, outcome, error)  # type: ignore[attr-defined]
