"""Check the names, slices and parts in gates before a run."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.datasets import cluster_of
from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.running.perturbing import changes_answers
from pytest_tablebench.running.scorer import MEMORY, asked_by, converses
from pytest_tablebench.strategies import PARSED, named_strategy
from pytest_tablebench.util.names import known_names, unknown_name

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
                    scored = runner.scorer.score(task, example, reply).score
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


def check_gates(
    gates: Iterable[Gate],
    datasets: Iterable[str],
    benchmarks: Iterable[str],
    grid: Mapping[str, Iterable[str]],
) -> None:
    """Raise `SettingsError` for a gate with an unknown name; the message names the nearest.

    `grid` has the names on each axis, by its plural.
    """
    axes = [
        {text for name in grid.get(axis.plural, ()) for text in (name, axis.label(name))}
        for axis in NAMED
    ]
    choices = dict.fromkeys(name for axis in NAMED for name in sorted(grid.get(axis.plural, ())))
    datasets = list(datasets)
    names = dict.fromkeys([*datasets, *benchmarks, "all"])
    dataset_names = set(datasets)
    for gate in gates:
        if gate.check and gate.scope in names and gate.scope not in dataset_names:
            raise SettingsError(
                f"gate {_quoted(gate)}: a test name must follow a dataset; {gate.scope!r} is not"
            )
        if gate.scope not in names and gate.scope != "run":
            raise UnknownNameError(
                f"gate {_quoted(gate)}: {unknown_name('scope', gate.scope, names)}"
            )
        for name in gate.filters:
            if not any(name in axis for axis in axes):
                message = unknown_name("serializer or perturbation", name, choices)
                raise UnknownNameError(f"gate {_quoted(gate)}: {message}")
        two_axes = permutations(axes, 2)
        if len(gate.filters) == 2 and not any(
            gate.filters[0] in first and gate.filters[1] in second for first, second in two_axes
        ):
            raise SettingsError(
                f"gate {_quoted(gate)}: two names in brackets must be of two kinds, as one "
                f"serializer and one perturbation"
            )


def check_corrected(gates: Iterable[Gate], *, has_corrections: bool) -> None:
    """Raise `SettingsError` for a gate on corrected figures of a run without corrections."""
    gate = next((gate for gate in gates if gate.corrected), None)
    if gate is not None and not has_corrections:
        raise SettingsError(
            f"gate {_quoted(gate)}: the run has no corrections; add --bench-corrections=FILE"
        )


def _quoted(gate: Gate) -> str:
    return repr(gate.text)


def check_selected(
    gates: Iterable[Gate],
    selected: Collection[str],
    missing: Mapping[str, str],
    *,
    datasets: Collection[str],
    members: Mapping[str, Iterable[str]],
    chosen: Collection[str] | None,
    must_have_cases: bool,
) -> None:
    """Raise `SettingsError` for a gate without a selected case.

    Arguments:
        gates: the gates.
        selected: datasets of the cases that will run.
        missing: datasets without data, and how to get it.
        datasets: all datasets.
        members: the datasets of each benchmark.
        chosen: the datasets that --bench-dataset names; None without that option.
        must_have_cases: whether a gate without cases is an error even if nothing else is wrong.
    """
    for gate in gates:
        names = {gate.scope, *members.get(gate.scope, ())} & set(datasets)
        if gate.scope in {"all", "run"} or names & set(selected):
            continue
        prefix = f"--bench-gate {_quoted(gate)}: "
        for name in sorted(names & set(missing)):
            raise SettingsError(f"{prefix}{name} has {missing[name]}")
        if chosen is not None and not names & set(chosen):
            raise SettingsError(
                f"{prefix}--bench-dataset leaves {gate.scope} out; add it there, or remove the gate"
            )
        if must_have_cases:
            raise SettingsError(
                f"{prefix}no case of {gate.scope} is selected; select some, or remove the gate"
            )


def check_tests(gates: Iterable[Gate], tests: Mapping[str, Sequence[str]]) -> None:
    """Raise `SettingsError` for a gate on a test that its dataset does not have.

    `tests` contains the tests' names by dataset. Gates on datasets without a test in the session
    stay undecided.
    """
    for gate in gates:
        names = tests.get(gate.scope)
        if gate.check and names is not None and gate.check not in names:
            raise SettingsError(f"gate {_quoted(gate)}: {unknown_name('test', gate.check, names)}")


def check_slice(gate: Gate, tags_of_examples: Iterable[Mapping[str, str]]) -> None:
    """Raise `SettingsError` for a gate on a slice that has no example.

    `tags_of_examples` is read until the first example with all tags of the gate.
    """
    from pytest_tablebench.claims.gates import without_tags

    values: dict[str, set[str]] = {tag: set() for tag, _ in gate.tags}
    for tags in tags_of_examples:
        if all(tags.get(tag) == value for tag, value in gate.tags):
            return
        for tag in values.keys() & tags.keys():
            values[tag].add(tags[tag])
    raise SettingsError(f"--bench-gate {_quoted(gate)}: {without_tags(gate, values)}")


def check_part(gate: Gate, parts_by_dataset: Iterable[Collection[str] | None]) -> None:
    """Raise `SettingsError` for a gate on a part that no score of its datasets has.

    If the parts of a dataset are unknown (None), the gate is checked at the end of the run.
    """
    scope_parts = dict[str, None]()
    for parts in parts_by_dataset:
        if parts is None or gate.part in parts:
            return
        scope_parts |= dict.fromkeys(parts)
    part = str(gate.part)
    names = known_names(part, scope_parts)
    raise SettingsError(
        f"--bench-gate {_quoted(gate)}: no score of this scope has a part {part!r}; {names}"
    )
