"""`tablebench models`: the models of a project, their retirement, prices and abilities."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.files import real_path

if TYPE_CHECKING:
    from pytest_tablebench.store.upkeep import Survey

RESULTS = "tablebench-results"
"""The folder in which runs write their folders by default."""


def show_models(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.config.project_file import project_models
    from pytest_tablebench.reports.models import models_report
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
    from pytest_tablebench.commands._asking import settings_of
    from pytest_tablebench.store.upkeep import survey

    folder = settings_of(argparse.Namespace(bench_store=options.bench_store)).store_folder()
    if folder is None or not folder.is_dir():
        missing = options.bench_store is not None and folder is not None
        return None, [f"--bench-store: {folder} does not exist"] if missing else []
    try:
        return survey(folder), []
    except OSError as error:
        raise SettingsError(f"--bench-store: {folder}: {error.strerror or error}") from None
