"""What changed between two runs of a model in addition to its answers, in words."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_tablebench.config.axes import MODES, SAME_QUESTION
from pytest_tablebench.results.compare import setting_differences
from pytest_tablebench.results.history._past_runs import PastRun
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.names import printable

ChangeKind = Literal["data", "prompt", "package", "corrections", "parameter", "setting"]

_PROMPT = frozenset(
    {
        *("prompts", "shots", "demos", "small_pool", "structure", "format_retries", "compat"),
        *("grid", *(axis.name for axis in MODES if axis.changes_the_question)),
    }
)
"""Settings that change what the model reads."""

_PARAMETERS = frozenset(
    {
        *("params", "params_sent", "reasoning_tokens", "extend_cut", "context", "api_base"),
        *(axis.name for axis in SAME_QUESTION),
    }
)
"""Settings of the calls."""


@dataclass(frozen=True)
class RunChange:
    """A difference from the run before: its kind, its name, and the values before and after."""

    kind: ChangeKind
    name: str
    before: str
    after: str

    @property
    def text(self) -> str:
        """The change in words, such as `package pytest-tablebench: 0.1.0 to 0.2.0`."""
        values = f"{printable(self.before, 80)} to {printable(self.after, 80)}"
        return f"{self.kind} {printable(self.name, 80)}: {values}"


def changes_between(
    before: PastRun, after: PastRun, datasets: Collection[str]
) -> tuple[RunChange, ...]:
    """Return what changed between two runs for some datasets.

    A setting that only one of the runs recorded is no change.
    """
    changes = []
    for difference in setting_differences(before.run, after.run):
        first, _, rest = difference.name.partition(".")
        is_of_others = first == "datasets" and rest.rpartition(".")[0] not in datasets
        if first != "model" and not is_of_others:
            changes.append(_named(difference.name, difference.before, difference.after))
    if not any(change.kind == "parameter" for change in changes):
        changes += _sent(before, after)
    files = [json.dumps(run.run.get("model_file"), sort_keys=True) for run in (before, after)]
    if files[0] != files[1]:
        changes.append(RunChange("setting", "model file", *files))
    return tuple(changes)


def _named(name: str, before: str, after: str) -> RunChange:
    """Return a difference of run.json under the words of a history."""
    first, _, rest = name.partition(".")
    word = first.partition(" ")[0]  # `shots of a, b` are the shots of two datasets
    if "corrections" in name:
        return RunChange("corrections", name, before, after)
    if first == "datasets":
        dataset, _, part = rest.rpartition(".")
        return RunChange("data", f"of {dataset}, {part}", before, after)
    if first == "versions":
        return RunChange("package", rest, before, after)
    if word in _PARAMETERS:
        return RunChange("parameter", rest if first == "params" else name, before, after)
    return RunChange("prompt" if word in _PROMPT else "setting", name, before, after)


def _sent(before: PastRun, after: PastRun) -> Iterator[RunChange]:
    """Yield parameters that are sent differently, although the runs requested the same."""
    old, new = before.run.get("params_sent"), after.run.get("params_sent")
    if not isinstance(old, dict) or not isinstance(new, dict):
        return
    for name in sorted({*old, *new}):
        values = [json.dumps(sent[name]) if name in sent else "not sent" for sent in (old, new)]
        if values[0] != values[1]:
            yield RunChange("parameter", f"{name} as sent", values[0], values[1])


def dataset_names(run: PastRun, benchmark: str) -> tuple[str, ...]:
    """Return the datasets of a benchmark that a run has figures of."""
    return tuple(sorted(mapping(run.benchmarks, benchmark, "datasets")))
