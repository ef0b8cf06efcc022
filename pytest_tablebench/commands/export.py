"""`tablebench export RUN --to FORM`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from pytest_tablebench.errors import SettingsError, writing

if TYPE_CHECKING:
    from pytest_tablebench.interchange.community_evals import HubTask


_HUB_TASK = re.compile(r"([^=]+)=([\w.-]+/[\w.-]+):([\w.-]+)", re.ASCII)


def _hub_tasks(texts: Sequence[str] | None, source: str | None) -> dict[str, HubTask]:
    """Return the options of community-evals. Raises `SettingsError`."""
    from pytest_tablebench.datasets.pull import UPSTREAM
    from pytest_tablebench.interchange.community_evals import HubTask

    if not texts:
        raise SettingsError(
            "--to community-evals: name the benchmark on the hub for a dataset of the run: "
            "--hub-dataset NAME=DATASET:TASK, with the task in the eval.yaml there"
        )
    if source and not re.fullmatch(r"https?://[^\s<>]+", source):
        raise SettingsError("--source-url: not the address of a web page")
    pinned = {
        upstream.repository: upstream.revision for upstream in UPSTREAM.values() if upstream.pinned
    }
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
    "treb-submission": ("treb_submission", "write_treb_submission", ()),
    "community-evals": (
        "community_evals",
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
