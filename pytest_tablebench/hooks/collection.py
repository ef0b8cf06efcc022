"""Collection: each case of a dataset becomes one item. Items contain ids only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import pytest

from pytest_tablebench.errors import (
    DataError,
    DataMissing,
    NothingToAskError,
    SettingsError,
    SmallPoolError,
    TableBenchError,
)
from pytest_tablebench.hooks.keys import CASE_SESSION, HAS_MARKED, MARKER
from pytest_tablebench.hooks.preparation import check_names, check_unread_gates
from pytest_tablebench.session.garbage import resume_collections
from pytest_tablebench.session.pytest_modes import has_options, runs_no_test
from pytest_tablebench.util.names import escaped, slug, unknown_name
from pytest_tablebench.util.programs import suite_files

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import Dataset
    from pytest_tablebench.session.alone import Alone
    from pytest_tablebench.session.worker import Worker


def added_items(session: pytest.Session, settings: Settings) -> Iterator[pytest.Item]:
    """Yield the items of the package's suites if nothing names other tests with the marker.

    Call this after collection. A file that cannot be imported may contain tests with the marker, so
    an error of collection adds no items. A test that takes `case` lacks the marker by mistake.
    """
    config = session.config
    is_folder = config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR
    if (
        not is_folder
        or config.getini("testpaths")
        or not has_options(config)
        or config.stash.get(HAS_MARKED, False)
        or session.testsfailed
        or any("case" in getattr(item, "fixturenames", ()) for item in session.items)
    ):
        return
    only_folders = has_own_folder(settings)
    files = suite_files()
    # Node ids start at an initial path. With this one they are those of `--pyargs`.
    session._initialpaths |= {path.parent for path in files}
    for path in files:
        if path.stem == "test_own" or not only_folders:
            yield from session.genitems(pytest.Module.from_parent(session, path=path))


def has_own_folder(settings: Settings) -> bool:
    """Return whether --bench-data names own datasets, and no option names others."""
    from pytest_tablebench.datasets.folder import folder_datasets

    if settings.data is None or settings.datasets is not None:
        return False
    return any(True for _ in folder_datasets(settings.data))


LONGEST = 99
"""Maximum length of a case's part of a node id, in characters."""

_SKIPPED = object()
"""Parameter of a test whose dataset the options exclude."""
_NONE = object()
"""Parameter of a test without cases in this session; the test is dropped."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a marked test by the cases of its dataset."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    metafunc.config.stash[HAS_MARKED] = True
    name, datasets = metafunc.definition.name, _datasets_of(marker)
    if datasets is None or "case" not in metafunc.fixturenames:
        raise _malformed(name, "a test that takes `case` and `answer`")
    params, ids = _params(metafunc.config, name, datasets)
    metafunc.parametrize("case", params, ids=ids, indirect=True)
    _expect_calls(metafunc.config, params)


def _malformed(name: str, target: str) -> pytest.Collector.CollectError:
    return pytest.Collector.CollectError(
        f"{name}: write @pytest.mark.{MARKER}('dataset'), with threshold=... if needed, on {target}"
    )


def _expect_calls(config: pytest.Config, params: list[Any]) -> None:
    """Prepare for calls if a case will surely run, because no option may deselect it."""
    option = config.option
    chosen = (option.keyword, option.markexpr, option.deselect)
    if runs_no_test(config) or any(chosen) or getattr(option, "lf", False):
        return
    from pytest_tablebench.datasets.case import Case

    case = next((param for param in params if isinstance(param, Case)), None)
    if case is not None:
        config.stash[CASE_SESSION].expect_calls(case.dataset)


class _Datasets(NamedTuple):
    """The datasets of a test: one by its `name`, or several."""

    includes: Callable[[Dataset], bool]
    """Whether the test uses a dataset."""
    lenient: tuple[type[Exception], ...]
    """The errors for which a dataset is skipped."""
    short: Callable[[str], str] = str
    """Returns a dataset's name in node ids, which have it if there are several."""
    name: str = ""
    folders: bool = False
    """Whether the datasets are the folders in the data folder."""


def _datasets_of(marker: pytest.Mark) -> _Datasets | None:
    """Return the datasets of a test; None for a malformed marker.

    Any unusable folder is skipped. A benchmark's dataset is skipped only if its data is missing,
    or if the run's perturbations leave it without questions.
    """
    options, benchmark = marker.kwargs, marker.kwargs.get("benchmark")
    is_several = options.get("folders") is True or benchmark is not None
    unknown = set(options) - {"threshold", "folders", "benchmark"}
    if unknown or len(marker.args) != (not is_several):
        return None
    if not is_several:
        name = str(marker.args[0])
        return _Datasets(lambda dataset: dataset.name == name, (DataMissing,), name=name)
    if benchmark is None:
        return _Datasets(
            lambda dataset: dataset.is_own,
            (TableBenchError,),
            lambda name: slug(name, 20),
            folders=True,
        )
    return _Datasets(
        lambda dataset: dataset.benchmark == benchmark,
        (DataMissing, NothingToAskError),
        lambda name: slug(name.removeprefix(f"{benchmark}_"), 32),
    )


def _params(config: pytest.Config, test: str, datasets: _Datasets) -> tuple[list[Any], list[str]]:
    """Return the cases of a test and their ids; of several datasets with the dataset's name.

    A dataset with a lenient error is skipped, unless an option names it. Datasets with the same
    error share one skipped item.
    """
    params: list[tuple[Any, str]] = []
    left_out: dict[str, str] = {}
    try:
        runner = config.stash[CASE_SESSION].cases.runner
        registered, chosen = runner.registry.datasets, runner.settings.datasets
        if datasets.name and datasets.name not in registered:
            runner.registry.update(config.hook)
            if datasets.name not in registered:
                raise SettingsError(unknown_name("dataset", datasets.name, registered))
        if datasets.name and chosen is not None and datasets.name not in chosen:
            return [_SKIPPED], ["left-out"]
        for name, dataset in registered.items():
            if not datasets.includes(dataset) or (chosen is not None and name not in chosen):
                continue
            try:
                cases, ids = runner.cases(name)
            except datasets.lenient as error:
                is_named = chosen is not None and not isinstance(error, SmallPoolError)
                if is_named or (datasets.folders and dataset.folder == "."):
                    raise  # an option names it
                runner.missing[name] = str(error)
                left_out.setdefault(str(error), name)
            else:
                if not datasets.name:
                    ids = [slug(f"{datasets.short(name)}-{node_id}", LONGEST) for node_id in ids]
                params += zip(cases, ids, strict=True)
        if datasets.folders and not params and not left_out:
            _require_questions(config)
    except TableBenchError as error:
        raise pytest.Collector.CollectError(escaped(f"{test}: {error}")) from None
    alone = not params and len(left_out) == 1
    for why, name in left_out.items():
        skipped = pytest.mark.skip(reason=escaped(why))
        node_id = "no-data" if alone else f"{datasets.short(name)}-no-data"
        params.append((pytest.param(name, marks=skipped), node_id))
    params = params or [(_NONE, "no-dataset")]
    return [case for case, _ in params], [node_id for _, node_id in params]


def _require_questions(config: pytest.Config) -> None:
    """Raise `DataError` if the option's data folder contains tables but no questions."""
    from pytest_tablebench.datasets.folder import QUESTION_FILES, has_tables_alone

    settings = config.stash[CASE_SESSION].settings
    if "bench_data" in settings.command_line_keys and has_tables_alone(settings.data_folder()):
        raise DataError(
            f"{settings.data_folder()} has tables but no questions: add one of "
            f"{', '.join(QUESTION_FILES)} to this folder"
        )


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, obj: object
) -> Generator[None, Any, Any]:
    """Drop a test without cases; pytest does not even count it as deselected.

    Refuse a marker on a `unittest.TestCase`, whose methods take no fixtures.
    """
    items = yield
    is_test_case = isinstance(items, pytest.Class) and isinstance(obj, type) and _is_test_case(obj)
    if is_test_case and (name := _marked(collector, obj)):
        raise _malformed(name, "a function: methods of unittest.TestCase take no `case`")
    if isinstance(items, list) and items and _has_params(items[0]):
        params = items[0].callspec.params
        return [] if params.get("case") is _NONE else items
    return items


def _is_test_case(test_class: type) -> bool:
    unittest = sys.modules.get("unittest")  # loaded if the module has such a class
    is_collected = getattr(test_class, "__test__", True)
    return unittest is not None and is_collected and issubclass(test_class, unittest.TestCase)


def _marked(module: pytest.Collector, test_case: object) -> str:
    """Return the name of the marked method, class or module of a test case; "" without a marker."""
    methods = [name for name in dir(test_case) if name.startswith("test")]
    places = [(name, getattr(test_case, name, None)) for name in methods]
    for name, owner in [*places, ("the class", test_case)]:
        markers = getattr(owner, "pytestmark", [])
        for mark in markers if isinstance(markers, list) else [markers]:
            if getattr(mark, "name", None) == MARKER:
                return name
    return module.name if module.get_closest_marker(MARKER) is not None else ""


def _has_params(item: pytest.Item) -> TypeGuard[pytest.Function]:
    return hasattr(item, "callspec")


def is_ours(item: pytest.Item) -> bool:
    """Whether an item runs a case."""
    return _has_params(item) and "case" in item.callspec.params and MARKER in item.keywords


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Name the tests before any is deselected; deselect the datasets that options exclude.

    Add the package's suites where no test has the marker.
    """
    case_session = config.stash[CASE_SESSION]
    if not case_session.is_used:
        return (yield)
    from pytest_tablebench.hooks.items import arrange, name_checks

    items.extend(added_items(session, case_session.settings))
    case_session.cases.tests = name_checks(items)
    yield
    left_out = [
        item for item in items if _has_params(item) and item.callspec.params.get("case") is _SKIPPED
    ]
    if left_out:
        dropped = set(left_out)
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=left_out)
    settings = case_session.settings
    if settings.stop_rule is not None:
        arrange(items, settings.seed)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Record the selected cases, check the settings against them, and start the run."""
    config = session.config
    case_session = config.stash[CASE_SESSION]
    if not case_session.is_used:
        return
    from pytest_tablebench.hooks.items import limits, number

    cases = case_session.cases
    cases.select(item.callspec.params.get("case") for item in session.items if _has_params(item))
    cases.runner.prefetch.expect(number(session.items))
    try:
        if cases.planned or case_session.settings.command_line_keys:
            check_names(case_session)
        if runs_no_test(config):
            return
        if cases.planned or cases.selection.missing:
            case_session.check(_thresholds(session.items))
            cases.limits = limits(session.items, cases.runner.threshold)
        if cases.planned:
            check_unread_gates(config, filter(is_ours, session.items))
            _start_run(case_session)
    except SettingsError as error:
        case_session.refuse(error)
    finally:
        resume_collections()


def _thresholds(items: list[pytest.Item]) -> dict[str, object]:
    """Return the thresholds set by markers, by test."""
    thresholds = {}
    for item in items:
        marker = item.get_closest_marker(MARKER) if _has_params(item) else None
        if marker is not None and marker.kwargs.get("threshold") is not None:
            thresholds[item.nodeid.partition("[")[0]] = marker.kwargs["threshold"]
    return thresholds


def _start_run(session: Alone | Worker) -> None:
    if getattr(session.config.option, "allure_report_dir", None):
        from pytest_tablebench.hooks._allure import WithoutCases

        session.config.pluginmanager.register(WithoutCases(), "tablebench-allure")
    session.start_run()
