"""Checks of the names in gates: scopes, axes, tests, tags and parts of scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pytest_tablebench.errors import SettingsError, UnknownNameError
from pytest_tablebench.results.gates._grammar import Gate, parse_gate, prefix
from pytest_tablebench.util.entries import listing
from pytest_tablebench.util.names import known_names, printable, unknown_name

SHOWN = 20
"""Values of a tag that are named where a gate's is nowhere."""


def parse_gates(texts: Iterable[str]) -> list[Gate]:
    """Read gates; of those that ask the same, however they are written, the first one.

    Raises `SettingsError` as `parse_gate` does.
    """
    return list(dict.fromkeys(map(parse_gate, texts)))


def recorded_gates(run: Mapping[str, Any]) -> list[str]:
    """Return the gates that a `run.json` names, judged or not."""
    entries = listing(run.get("gates"))
    texts = [entry.get("gate") if isinstance(entry, dict) else entry for entry in entries]
    return [text for text in texts if isinstance(text, str)]


def gate_without_baseline(gates: Iterable[Gate]) -> Gate | None:
    """Return the first gate that compares with a baseline: where there is none, an error."""
    return next((gate for gate in gates if gate.baseline), None)


def check_gates(
    gates: Iterable[Gate],
    datasets: Iterable[str],
    benchmarks: Iterable[str],
    serializers: Iterable[str],
    perturbations: Iterable[str],
    *,
    strategies: Iterable[str] = (),
    modalities: Iterable[str] = (),
) -> None:
    """Raise `SettingsError` for a gate on what does not exist, naming the nearest that does."""
    axes = [set(serializers), set(perturbations), set(strategies), set(modalities)]
    axis_names = dict.fromkeys(name for axis in axes for name in sorted(axis))
    datasets = list(datasets)
    names = dict.fromkeys([*datasets, *benchmarks, "all"])
    dataset_names = set(datasets)
    for gate in gates:
        if gate.check and gate.scope in names and gate.scope not in dataset_names:
            raise SettingsError(
                prefix(gate.text) + f"a test stands behind a dataset, which {gate.scope!r} is not"
            )
        if gate.scope not in names and gate.scope != "run":
            raise UnknownNameError(prefix(gate.text) + unknown_name("scope", gate.scope, names))
        for name in gate.filters:
            if name not in axis_names:
                message = unknown_name("serializer or perturbation", name, axis_names)
                raise UnknownNameError(prefix(gate.text) + message)
        if len(gate.filters) == 2 and not _of_two_axes(*gate.filters, axes):
            raise SettingsError(
                prefix(gate.text) + "two names in brackets are one serializer and one "
                "perturbation, or others of two kinds"
            )


def _of_two_axes(first: str, second: str, axes: list[set[str]]) -> bool:
    return any(
        first in axis and second in other_axis
        for axis in axes
        for other_axis in axes
        if axis is not other_axis
    )


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
    """Raise `SettingsError` for a gate on which no selected case can tell anything.

    Arguments:
        gates: the gates.
        selected: datasets of the cases that will run.
        missing: those without data, and how to get it.
        datasets: all there are.
        members: the datasets of each benchmark.
        chosen: those that --bench-dataset names; None without that option.
        must_have_cases: whether a gate without cases is an error although nothing else is wrong.
    """
    for gate in gates:
        names = {gate.scope, *members.get(gate.scope, ())} & set(datasets)
        if gate.scope in {"all", "run"} or names & set(selected):
            continue
        about = f"--bench-gate {gate.text!r}: "
        for name in sorted(names & set(missing)):
            raise SettingsError(f"{about}{name} has {missing[name]}")
        if chosen is not None and not names & set(chosen):
            raise SettingsError(
                f"{about}--bench-dataset leaves {gate.scope} out; name it there, or leave out "
                f"the gate as well"
            )
        if must_have_cases:
            raise SettingsError(
                f"{about}no case of {gate.scope} is selected; leave out the gate, or select some"
            )


def check_tests(gates: Iterable[Gate], tests: Mapping[str, Sequence[str]]) -> None:
    """Raise `SettingsError` for a gate on a test that does not exist over its dataset.

    `tests` has their names by dataset. A dataset that no test of the session is about is left to
    the gate itself: undecided.
    """
    for gate in gates:
        names = tests.get(gate.scope)
        if gate.check and names is not None and gate.check not in names:
            raise SettingsError(
                f"gate {printable(gate.text, 100)!r}: {unknown_name('test', gate.check, names)}"
            )


def without_tags(gate: Gate, values: Mapping[str, Collection[str]]) -> str:
    """Return why no example has the tags of a gate; `values` are those of each tag."""
    for tag, value in gate.tags:
        tag_values = values.get(tag, ())
        if value not in tag_values:
            shown = [printable(tag_value, 60) for tag_value in sorted(tag_values)[:SHOWN]]
            names = known_names(value, shown) if shown else "none has that tag"
            text = printable(f"{tag}={value}", 80)
            return f"no example of this scope has {text}; {names}"
    return "no example of this scope has all these tags"


def without_part(gate: Gate, parts: Iterable[str]) -> str:
    """Return that no score has the part that a gate is on; `parts` are those there are."""
    part = str(gate.part)
    names = known_names(part, [printable(name, 60) for name in parts])
    return f"no score of this scope has a part {printable(part, 80)!r}; {names}"
