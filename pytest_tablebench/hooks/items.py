"""What pytest's collected items say of cases: which, in what order, and what tests check them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from pytest_tablebench.datasets.case import Case

__all__ = ["CHECK", "POSITION", "arrange", "case_of", "key_of", "limits", "name_checks", "number"]

POSITION = pytest.StashKey[int]()
"""The item's place in the run."""

CHECK = pytest.StashKey[str]()
"""The name of the item's test in the records of its cases."""


def case_of(item: pytest.Item) -> Case | None:
    """Return the case of an item of ours, None for any other."""
    found = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return found if isinstance(found, Case) else None


def key_of(item: pytest.Item, worker: str) -> str:
    """Return what names an item in the run, in whichever process an attempt of it runs."""
    return f"{worker}{item.stash.get(POSITION, 0)}"


def arrange(
    items: list[pytest.Item], places_of: Callable[[Sequence[Case]], Mapping[str, int]]
) -> None:
    """Put the cases into the order that the stopping rule needs; other items keep theirs.

    `places_of` gives each case's place, by its id.
    """
    cases = [case_of(item) for item in items]
    places = places_of([case for case in cases if case is not None])
    keys = [-1 if case is None else places[case.case_id] for case in cases]
    items[:] = [item for _, item in sorted(zip(keys, items, strict=True), key=lambda pair: pair[0])]


def number(items: Sequence[pytest.Item]) -> list[Case | None]:
    """Number the items, and return the case of each that will surely ask its model."""
    plan: list[Case | None] = []
    for position, item in enumerate(items):
        item.stash[POSITION] = position
        asks = "answer" in getattr(item, "fixturenames", ()) and not _may_be_skipped(item)
        plan.append(case_of(item) if asks else None)
    return plan


def name_checks(items: Sequence[pytest.Item]) -> dict[str, list[str]]:
    """Name the test of each item, and return the names by dataset.

    A test is named by its function; where several over one dataset have the same name, by what
    pytest calls them, file and all. Items of a test that differ in parameters of its own are one
    test. To be called with all items collected, so that no selection changes a name.
    """
    found: dict[str, dict[str, dict[str, list[pytest.Item]]]] = {}
    for item in items:
        case = case_of(item)
        if case is None:
            continue
        short = getattr(item, "originalname", None) or item.name.partition("[")[0]
        whole = item.nodeid.removesuffix(f"[{item.callspec.id}]")  # type: ignore[attr-defined]
        tests = found.setdefault(case.dataset, {}).setdefault(short, {})
        tests.setdefault(whole, []).append(item)
    names: dict[str, list[str]] = {}
    for dataset, by_name in found.items():
        for short, tests in by_name.items():
            for whole, own in tests.items():
                name = short if len(tests) == 1 else whole
                names.setdefault(dataset, []).append(name)
                for item in own:
                    item.stash[CHECK] = name
    return {dataset: sorted(names[dataset]) for dataset in sorted(names)}


def limits(
    items: Sequence[pytest.Item], threshold: Callable[[str, float | None], float], marker: str
) -> dict[str, float]:
    """Return what the cases of each dataset are judged by: the strictest of their tests' limits.

    `threshold` gives the one of a test over a dataset, from what its marker names.
    """
    marked: dict[str, set[float | None]] = {}
    for item in items:
        case = case_of(item)
        mark = item.get_closest_marker(marker)
        if case is not None and mark is not None:
            marked.setdefault(case.dataset, set()).add(mark.kwargs.get("threshold"))
    return {name: max(threshold(name, own) for own in found) for name, found in marked.items()}


def _may_be_skipped(item: pytest.Item) -> bool:
    """Whether pytest may pass over the item; only then would its answer be paid for nothing."""
    return any(item.get_closest_marker(name) for name in ("skip", "skipif", "xfail"))
