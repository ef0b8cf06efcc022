"""`tablebench export` and `import`: runs in the formats of other tools."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import built_in_datasets
from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.running.builtins import builtin_registry

if TYPE_CHECKING:
    from pytest_tablebench.interchange.submissions import HubTask


_HUB_TASK = re.compile(r"([^=]+)=([\w.-]+/[\w.-]+):([\w.-]+)", re.ASCII)


def _hub_tasks(texts: Sequence[str] | None, source: str | None) -> dict[str, HubTask]:
    """Return the options of community-evals. Raises `SettingsError`."""
    from pytest_tablebench.datasets.pull import known_sources
    from pytest_tablebench.interchange.submissions import HubTask

    if not texts:
        raise SettingsError(
            "--to community-evals: name the benchmark on the hub for a dataset of the run: "
            "--hub-dataset NAME=DATASET:TASK, with the task in the eval.yaml there"
        )
    if source and not re.fullmatch(r"https?://[^\s<>]+", source):
        raise SettingsError("--source-url: not the address of a web page")
    upstreams = known_sources(built_in_datasets()).values()
    pinned = {source.repository: source.revision for source in upstreams if source.pinned}
    tasks = {}
    for text in texts:
        match = _HUB_TASK.fullmatch(text)
        if match is None:
            raise SettingsError(
                f"--hub-dataset: {text!r} is not NAME=DATASET:TASK, such as hle=cais/hle:default"
            )
        name, dataset, task = match.groups()
        tasks[name] = HubTask(dataset, task, pinned.get(dataset))
    return tasks


_FORMS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "csv": ("flat", "write_csv", ("raw",)),
    "parquet": ("flat", "write_parquet", ()),
    "inspect": ("inspect_log", "write_inspect", ()),
    "treb-submission": ("submissions", "write_treb_submission", ()),
    "community-evals": (
        "submissions",
        "write_community_evals",
        ("hub_dataset", "source_url"),
    ),
    "every-eval-ever": (
        "every_eval_ever",
        "write_every_eval_ever",
        ("model_id", "organization", "relationship", "no_samples"),
    ),
}
"""The module and function of each format's exporter, and its options."""


def export_run(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.results.run import load_run

    module, function, takes = _FORMS[options.to]
    for name in sorted({name for *_, names in _FORMS.values() for name in names}):
        if getattr(options, name) is not None and name not in takes:
            forms = [form for form, (*_, names) in _FORMS.items() if name in names]
            raise SettingsError(
                f"--{name.replace('_', '-')} needs --to {' or '.join(forms)}, not {options.to}"
            )
    fields = {name: getattr(options, name) for name in takes if getattr(options, name) is not None}
    if fields.pop("no_samples", False):
        fields["samples"] = False
    if options.to == "community-evals":
        hub_tasks = _hub_tasks(fields.pop("hub_dataset", None), fields.get("source_url"))
        fields = {"tasks": hub_tasks, "source": fields.get("source_url")}
    write = getattr(import_module(f"pytest_tablebench.interchange.{module}"), function)
    run = load_run(options.run)
    folder = options.out or options.run / "export"
    with writing(f"--out: cannot write into {folder}", "; choose another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        written = write(run, folder, **fields)
    return [f"wrote {path}" for path in written], 0


def import_results(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.interchange.every_eval_ever_reader import read_every_eval_ever
    from pytest_tablebench.interchange.helm import compared_lines, read_helm
    from pytest_tablebench.interchange.import_run import import_run
    from pytest_tablebench.interchange.lm_eval import read_lm_eval

    if options.form == "lm-eval":
        evaluations = read_lm_eval(options.paths, model=options.model)
    elif options.form == "helm":
        score_reply = partial(_helm_score, compat=options.compat)
        evaluations = [
            replace(evaluation, run={**evaluation.run, "compat": options.compat})
            for evaluation in read_helm(options.paths, score_reply, _tags)
        ]
    else:
        evaluations = read_every_eval_ever(options.paths)
    with writing(f"--out: cannot write into {options.out}", "; choose another folder"):
        imported = import_run(evaluations, options.out, model=options.model)
    compared = compared_lines(evaluations) if options.form == "helm" else []
    lines = [*imported, *compared]
    return [*lines, f"run folder: {options.out}"], 0


def _tags(dataset: str) -> Mapping[str, str]:
    tags: Callable[[], Mapping[str, str]] = getattr(
        builtin_registry().datasets[dataset], "tags", dict
    )
    return tags()


def _helm_score(
    dataset_name: str, reply: str, references: Sequence[str], *, compat: Compat
) -> dict[str, Any]:
    """Score a reply from HELM by the metric of its dataset.

    HELM's files lack FinQA's tables and printed answers, so the part that needs them is left out.
    """
    from pytest_tablebench.running.scorer import Scorer

    registry = builtin_registry()
    dataset = registry.datasets[dataset_name]
    context = {"table": None, "answer": ""} if dataset_name == "finqa" else {}
    judged = Scorer(registry, compat=compat).score_text(dataset, reply, references, **context)
    score = judged.score
    if score is None:
        raise SettingsError(f"dataset {dataset_name!r} has no metric")
    return {
        "score": score.value,
        "threshold": dataset.threshold,
        "metric": str(dataset.metric),
        "part": score.part,
        "parts": {name: part for name, part in score.parts.items() if name != "execution_accuracy"},
        "prediction": judged.prediction,
    }
