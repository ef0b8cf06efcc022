"""The plugin that pytest loads: options, marker, fixtures, and the hooks that register the others.

The other hooks are in `hooks`.

It imports only pytest and the standard library. Everything else is imported when the first marked
test is collected.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tablebench.config.option_spelling import singular, spelling_fault
from pytest_tablebench.config.options import OPTIONS, Option
from pytest_tablebench.config.settings import read_settings
from pytest_tablebench.errors import SettingsError, TableBenchError
from pytest_tablebench.hooks.current import make_keeper, make_worker
from pytest_tablebench.hooks.keys import CASE_SESSION, MARKER, RUN, SESSION
from pytest_tablebench.hooks.preparation import check_keys
from pytest_tablebench.registry import Registry
from pytest_tablebench.session.garbage import pause_collections, resume_collections
from pytest_tablebench.session.pytest_modes import runs_no_test, usage_error
from pytest_tablebench.session.sharing import with_shared

if TYPE_CHECKING:
    from pytest_tablebench.running.answer import Answer
    from pytest_tablebench.running.case import CaseRun

pytest_plugins = ["pytest_tablebench.hooks.collection", "pytest_tablebench.hooks.running"]
"""Further modules with hooks."""

_INI_VALUE: Any = str | int | float | bool if pytest.version_tuple >= (9, 2) else "string"
"""The type of our ini keys: pytest's typed table `[tool.pytest]` may contain numbers and booleans,
which we check ourselves. Before 9.2 pytest lacks this type and accepts only text."""

_PREFIXES = "--bench", "--model"


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the registration hooks and register the built-in parts."""
    from pytest_tablebench import hookspecs
    from pytest_tablebench.running.builtins import BuiltIns, OwnFolders

    pluginmanager.add_hookspecs(hookspecs)
    pluginmanager.register(BuiltIns(), "tablebench-builtins")
    pluginmanager.register(OwnFolders(), "tablebench-own-folders")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add every option and its ini key; those that few users need come last."""
    for option in sorted(OPTIONS, key=lambda option: option.rare):
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
    group = ("tablebench", "language models on table benchmarks")
    if option.rare:
        group = ("tablebench-rare", "language models on table benchmarks, rarely needed")
    parser.getgroup(*group).addoption(flag, dest=option.key, help=text, default=None, **how)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None]:
    """Add `--model` unless another plugin or a conftest.py has it; find the package's suites.

    Accept plurals of options. Refuse unknown options that resemble one, once the conftest files
    have added theirs.

    All other plugins have added their options by now. Adding `--model` earlier would break a plugin
    that adds it later.
    """
    args[:] = map(singular, args)
    if "--pyargs" in args:
        from pytest_tablebench.util.programs import located

        args[:] = map(located, args)
    if "--model" in args:
        # Until then pytest takes its value for a path.
        namespace, unknown = parser.parse_known_and_unknown_args(args)
        if "--model" in unknown:
            names = {args[n + 1] for n, arg in enumerate(args[:-1]) if arg == "--model"}
            paths = [path for path in namespace.file_or_dir if path not in names]
            early_config.known_args_namespace.file_or_dir = paths
    yield
    with contextlib.suppress(ValueError, argparse.ArgumentError):
        _add_option(parser, "--model", OPTIONS[0], f"short for {OPTIONS[0].flag}")
    if any(word.startswith(_PREFIXES) for word in args):
        _, unknown = parser.parse_known_and_unknown_args(args)
        if fault := spelling_fault(unknown):
            raise usage_error(fault)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read and check the options, so that a mistake is reported before the run."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(dataset, *, threshold=None, folders=False, benchmark=None): run the test once "
        f"for every case of a dataset; with folders=True for every dataset folder, with benchmark= "
        f"for every dataset of a benchmark. The test takes `case` and "
        f"`answer`",
    )

    def get(key: str) -> Any:
        value = config.getoption(key, None)
        if value == "":  # such as an unset variable of a shell
            raise SettingsError(f"--{key.replace('_', '-')} needs a value, not an empty text")
        return _of_ini(config, key) if value is None else value

    given_keys = [o.key for o in OPTIONS if config.getoption(o.key, None) is not None]
    try:
        for name in Registry.from_hooks(config.hook, ["benchmark"]).benchmarks:
            config.addinivalue_line("markers", f"{name}: a suite of the {name} benchmark")
        if config.option.help or config.option.markers:
            return  # pytest starts no session
        check_keys(config)
        settings = read_settings(get, config.invocation_params.dir, given_keys)
        settings = with_shared(settings, config)
        if settings.plan or runs_no_test(config):
            # Nothing will run, so no workers are needed.
            config.option.dist, config.option.tx, config.option.numprocesses = "no", [], None
        if settings.command_line_keys:
            pause_collections()
        if hasattr(config, "workerinput"):
            make_worker(config, settings)
        else:
            make_keeper(config, settings)
    except SettingsError as error:
        raise usage_error(error) from None


def _of_ini(config: pytest.Config, key: str) -> Any:
    """Return the value of an ini key; its relative folders start at the ini file."""
    value = config.getini(key)
    if not value or config.inipath is None or not any(o.path for o in OPTIONS if o.key == key):
        return value
    folder = config.inipath.parent
    if isinstance(value, str):
        return value if value == "none" else str(folder / Path(value).expanduser())
    return [str(folder / Path(text).expanduser()) for text in value]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close the session."""
    open_session = session.config.stash[SESSION]
    if open_session.is_used:
        open_session.close()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close our session if pytest started none, and wait for the processes that are ending."""
    resume_collections()  # after an early error
    open_session = config.stash.get(SESSION, None)
    if open_session is not None and open_session.is_used:
        open_session.close()
        open_session.reap()


@pytest.fixture
def case(request: pytest.FixtureRequest) -> CaseRun:
    """The case of this item: its ids, the rendered question, and the score once judged."""
    from pytest_tablebench.hooks.items import place_of

    if not hasattr(request, "param"):
        pytest.fail(f"mark the test with @pytest.mark.{MARKER}('dataset')", pytrace=False)
    marker = request.node.get_closest_marker(MARKER)
    cases = request.config.stash[CASE_SESSION].cases
    run = cases.runner.start(
        request.param,
        marker.kwargs.get("threshold"),
        place_of(request.node),
        cases.limits.get(request.param.dataset),
    )
    request.node.stash[RUN] = run
    return run


@pytest.fixture
def answer(request: pytest.FixtureRequest, case: CaseRun) -> Answer:
    """The model's answer. Without an answer the test ends with an error in set-up."""
    if request.config.option.setuponly:
        pytest.skip("pytest only sets up fixtures, so no model is asked")
    try:
        return case.ask()
    except TableBenchError as error:
        from pytest_tablebench.running.answer import no_answer_text

        # A traceback would contain nothing about the model, and cost milliseconds.
        pytest.fail(no_answer_text(error), pytrace=False)
