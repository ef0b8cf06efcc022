"""`tablebench migrate OLD NEW [NEW ...]`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.migration import Migration, exit_code_of, judge_migration
from pytest_tablebench.commands._project_runs import PendingAnswers, Project
from pytest_tablebench.commands.outputs import (
    CommandAnswer,
    print_lines,
    show_answer,
)
from pytest_tablebench.config.addresses import endpoint
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.reports.migration import migration_report
from pytest_tablebench.reports.plan import plan_table
from pytest_tablebench.results import PENDING_CODE
from pytest_tablebench.results.folder import claim_folder, output_folder
from pytest_tablebench.results.run import load_run
from pytest_tablebench.util.names import counted, slug


def migrate_model(options: argparse.Namespace) -> tuple[list[str], int]:
    models = _checked(options)
    limits = () if options.limit is None else (f"--bench-limit={options.limit}",)
    project = Project("migrate", tuple(options.rest), limits, ("--bench-limit", "--bench-max-cost"))
    project.check()
    plans = project.plan(models, options.max_cost)
    calls = sum(plan["calls"] for plan in plans.values())
    print_lines(_plan_lines(models, plans, options.max_cost))
    missing = _missing_keys(models, plans) if calls else []
    if calls and not options.yes:
        return [*missing, "nothing was asked or written; add --yes to ask"], 0
    if missing:
        raise SettingsError("; ".join(missing))
    folder = options.out
    if folder is None:
        name = f"{datetime.now(UTC).astimezone():%Y-%m-%dT%H-%M-%S}-migrate"
        folder, _ = claim_folder(Path("tablebench-results", name))
    try:
        with output_folder(folder, "migrate"):
            migrations = _judged(project, models, plans, folder, options)
            return [], show_answer(options, _answer(migrations, folder, options))
    except PendingAnswers as error:
        return [str(error)], PENDING_CODE


def _checked(options: argparse.Namespace) -> list[str]:
    """Return the models, OLD first. Raises `SettingsError` for input that cannot be meant."""
    models = [options.old, *options.new]
    if not all(model.strip() for model in models):
        raise SettingsError("a model's name is empty")
    if options.old in options.new:
        raise SettingsError(
            f"OLD and NEW are the same model, {options.old}; name the model that may replace it"
        )
    for number, model in enumerate(models):
        if model in models[:number]:
            raise SettingsError(f"{model} is named twice; name each candidate once")
    if not 0 <= options.margin < 1:
        raise SettingsError(
            f"--margin takes a share from 0 to below 1, such as 0.01, not {options.margin:g}"
        )
    if options.max_cost is not None and not 0 <= options.max_cost < float("inf"):
        raise SettingsError(f"--max-cost takes US dollars from 0, not {options.max_cost:g}")
    return models


def _plan_lines(
    models: Sequence[str], plans: Mapping[str, Mapping[str, Any]], max_cost: float | None
) -> list[str]:
    others = [name for name in plans if name not in models]
    lines = [f"plan: {models[0]} and {counted(len(models) - 1, 'candidate')}"]
    lines += [f"  {line}" for line in terminal_lines([plan_table([*models, *others], plans)])]
    costs = [plan["cost_usd"] for plan in plans.values() if plan["calls"]]
    total = sum(cost for cost in costs if cost is not None)
    if max_cost is not None and None not in costs and total > max_cost:
        lines.append(
            f"  this may cost ${total:.2f}, and --max-cost stops it at ${max_cost:.2f}: cases "
            f"that are not asked leave the verdict undecided"
        )
    return lines


def _missing_keys(models: Sequence[str], plans: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each model that has missing answers, a hosted provider and no key."""
    lines = []
    for model in models:
        plan = plans.get(model)
        if plan is None or not plan["calls"] or plan["priced_by_reply"]:
            continue
        if plan["has_server"] or endpoint(model, None, plan["provider"]) is not None:
            continue  # the user's own server may need no key
        names = load().validate_environment(model)["missing_keys"]
        keys = [name for name in names if "KEY" in name or "TOKEN" in name]
        if keys:
            lines.append(
                f"{model}: {counted(plan['calls'], 'answer')} missing from the "
                f"store, and no key to ask for them: set {', '.join(keys)}"
            )
    return lines


def _judged(
    project: Project,
    models: Sequence[str],
    plans: Mapping[str, Mapping[str, Any]],
    folder: Path,
    options: argparse.Namespace,
) -> list[Migration]:
    """Run all models, and return the verdict on each candidate."""
    left, baseline = options.max_cost, None
    runs = []
    for model in models:
        path = folder / slug(model, 60)
        project.run(model, path, baseline=baseline, max_cost=left)
        run = load_run(path)
        runs.append(run)
        baseline = runs[0].path
        if left is not None:
            left = max(0.0, left - (run.facts.cost_usd or 0.0))
    return [judge_migration(runs[0], run, options.margin, plans=plans) for run in runs[1:]]


def _answer(
    migrations: Sequence[Migration], folder: Path, options: argparse.Namespace
) -> CommandAnswer:
    for name, ending in (("page", "html"), ("markdown", "md"), ("json", "json")):
        if getattr(options, name) is None:
            setattr(options, name, folder / f"migration.{ending}")
    return CommandAnswer(
        migration_report(migrations, options.page.parent),
        [migration.to_json() for migration in migrations],
        exit_code_of(migrations),
        [f"runs: {folder}"],
    )
