"""Check before the first call that the slices and parts of gates exist."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.claims.gate_names import check_part, check_slice
from pytest_tablebench.datasets import cluster_of
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.running.judging import converses
from pytest_tablebench.running.perturbing import changes_answers
from pytest_tablebench.running.scoring import MEMORY, asked_by, judge_example
from pytest_tablebench.strategies import PARSED, named_strategy

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import Gate
    from pytest_tablebench.datasets import Example
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.running.runner import Runner

TRIED = 3
"""Examples whose expected answers are scored to find the parts of a metric."""


def check_subjects(runner: Runner, gates: Iterable[Gate], cases: Sequence[Case]) -> None:
    """Raise `SettingsError` for a gate on an empty slice, or on a part that no score has.

    Judged and executed scores, and metrics or strategies that fail here, have unknown parts. Gates
    on them are checked at the end of the run.
    """
    chosen: dict[str, dict[str, None]] = {}
    perturbations: dict[str, set[str]] = {}
    for case in cases:
        chosen.setdefault(case.dataset, {})[case.example_id] = None
        perturbations.setdefault(case.dataset, set()).add(case.perturbation)
    members = runner.registry.members()
    for gate in gates:
        names = chosen if gate.scope == "all" else [gate.scope, *members.get(gate.scope, ())]
        examples = {name: tuple(chosen[name]) for name in names if name in chosen}
        # Another shard may have the examples of a slice.
        if examples and gate.tags and runner.settings.shard is None:
            check_slice(gate, _tags_of(runner, examples))
        if examples and gate.part is not None:
            if gate.part == MEMORY:
                used = set().union(*(perturbations[name] for name in examples))
                _check_memory(runner, gate, used)
            check_part(
                gate, (_parts_of(runner, name, ids[:TRIED]) for name, ids in examples.items())
            )


def _check_memory(runner: Runner, gate: Gate, perturbations: Iterable[str]) -> None:
    registry = runner.registry.perturbations
    if not any(changes_answers(registry, name) for name in perturbations):
        raise SettingsError(
            f"--bench-gate {gate.text!r}: only answers after a changed cell have "
            f"the part {MEMORY}; add --bench-perturbation=none,counterfactual"
        )


def _tags_of(runner: Runner, examples: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    for dataset, example_ids in examples.items():
        for example_id in example_ids:
            example = _loaded(runner, dataset, example_id)
            if example is not None:
                yield {str(tag): str(value) for tag, value in example.tags.items()}


def _parts_of(runner: Runner, dataset: str, example_ids: Sequence[str]) -> dict[str, None] | None:
    """Return the parts of a dataset's scores, None if they are not known before the run."""
    registry, parts = runner.registry, dict[str, None]()
    for name in runner.axes.defaults(dataset).strategy:
        strategy, _ = named_strategy(name, registry.strategies)
        measures = getattr(strategy, "measures", None)
        if measures is None and not registry.is_built_in("strategy", strategy.name):
            return None
        named = runner.named_metrics(dataset)
        task = asked_by(registry, dataset, name)
        if named or converses(registry.metrics.get(str(task.metric))):
            return None
        parts |= dict.fromkeys([*(measures or ()), *([PARSED] if task.reply_form else [])])
        if task.metric is None:
            continue
        examples = [_loaded(runner, dataset, example_id) for example_id in example_ids]
        for example in filter(None, examples):
            perfect_reply = example.target
            if task.several:
                perfect_reply = json.dumps([perfect_reply] * len(task.dataset.versions(example)))
            for reply in (perfect_reply, ""):
                try:
                    scored = judge_example(
                        registry, task, reply, example, compat=runner.settings.compat
                    ).score
                except Exception:  # its case reports the error
                    return None
                parts |= dict.fromkeys(scored.parts if scored else ())
    return {**parts, MEMORY: None}


def planned_clusters(runner: Runner, cases: Iterable[Case]) -> dict[str, dict[str, str]]:
    """Return the cluster of each planned example by dataset; loads the examples."""
    clusters: dict[str, dict[str, str]] = {}
    for dataset, example_id in dict.fromkeys((case.dataset, case.example_id) for case in cases):
        example = _loaded(runner, dataset, example_id)
        if example is not None:
            clusters.setdefault(dataset, {})[example_id] = cluster_of(example)
    return clusters


def _loaded(runner: Runner, dataset: str, example_id: str) -> Example | None:
    with contextlib.suppress(Exception):  # bad data, which its case reports
        return runner.source(dataset).example(example_id)
    return None
