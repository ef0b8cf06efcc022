"""The cases and tests of pytest's collected items, and their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from pytest_tablebench.datasets.case import Case
from pytest_tablebench.hooks.keys import CASE_SESSION, MARKER

# One mapping for the session uses a third of the memory of an entry in each item's stash.
_PLACES = pytest.StashKey[dict[pytest.Item, int]]()
_CHECKS = pytest.StashKey[dict[tuple[str, str], str]]()


def case_of(item: pytest.Item) -> Case | None:
    """Return the case of an item; None for an item without one."""
    param = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return param if isinstance(param, Case) else None


def place_of(item: pytest.Item) -> int | None:
    """Return an item's position in the run; None before the end of collection."""
    return item.config.stash.get(_PLACES, {}).get(item)


def check_of(item: pytest.Item) -> str:
    """Return the name of an item's test in records; empty for an item without a case."""
    case = case_of(item)
    if case is None:
        return ""
    return item.config.stash.get(_CHECKS, {}).get((case.dataset, _whole(item)), "")


def _whole(item: pytest.Item) -> str:
    """Return the node id of an item's test, without parameters."""
    return item.nodeid.removesuffix(f"[{item.callspec.id}]")  # type: ignore[attr-defined]


def key_of(item: pytest.Item) -> str:
    """Return an item's key in the run, the same for all attempts in all processes."""
    return f"{item.config.stash[CASE_SESSION].cases.item_prefix}{place_of(item) or 0}"


def arrange(items: list[pytest.Item], seed: int) -> None:
    """Sort items into the order that the stopping rule needs; items without a case come first.

    Items whose cases differ only in the model follow each other.
    """
    from pytest_tablebench.claims.gates import order

    cases = [case_of(item) for item in items]
    arranged = order([case for case in cases if case is not None], seed)
    places = {case.case_id: index for index, case in enumerate(arranged)}
    keys = [-1 if case is None else places[case.case_id] for case in cases]
    items[:] = [item for _, item in sorted(zip(keys, items, strict=True), key=lambda pair: pair[0])]


def number(items: Sequence[pytest.Item]) -> list[Case | None]:
    """Number the items; return the case of each that will surely call its model, else None."""
    plan: list[Case | None] = []
    places = {item: index for index, item in enumerate(items)}
    if items:
        items[0].config.stash[_PLACES] = places
    for item in items:
        asks = "answer" in getattr(item, "fixturenames", ()) and not _may_be_skipped(item)
        plan.append(case_of(item) if asks else None)
    return plan


def name_checks(items: Sequence[pytest.Item]) -> dict[str, list[str]]:
    """Name the test of each item, and return the names by dataset.

    A test has the name of its function, or its node id if several tests over one dataset have the
    same function name. Items that differ only in parameters belong to one test. Call this with
    all collected items, so that a selection does not change names.
    """
    tests_by_name: dict[str, dict[str, set[str]]] = {}
    for item in items:
        case = case_of(item)
        if case is None:
            continue
        short = getattr(item, "originalname", None) or item.name.partition("[")[0]
        tests_by_name.setdefault(case.dataset, {}).setdefault(short, set()).add(_whole(item))
    names: dict[str, list[str]] = {}
    checks = {}
    for dataset, by_name in tests_by_name.items():
        for short, tests in by_name.items():
            for whole in tests:
                checks[dataset, whole] = name = short if len(tests) == 1 else whole
                names.setdefault(dataset, []).append(name)
    if items:
        items[0].config.stash[_CHECKS] = checks
    return {dataset: sorted(names[dataset]) for dataset in sorted(names)}


def limits(
    items: Sequence[pytest.Item], threshold: Callable[[str, float | None], float]
) -> dict[str, float]:
    """Return the pass threshold of each dataset: the highest of its tests.

    `threshold` returns the threshold for a dataset and a marker's threshold.
    """
    marked: dict[str, set[float | None]] = {}
    for item in items:
        case = case_of(item)
        mark = item.get_closest_marker(MARKER)
        if case is not None and mark is not None:
            marked.setdefault(case.dataset, set()).add(mark.kwargs.get("threshold"))
    return {
        name: max(threshold(name, named) for named in thresholds)
        for name, thresholds in marked.items()
    }


def _may_be_skipped(item: pytest.Item) -> bool:
    """Whether pytest may skip the item, so that a prefetched answer could be wasted."""
    return any(item.get_closest_marker(name) for name in ("skip", "skipif", "xfail"))
