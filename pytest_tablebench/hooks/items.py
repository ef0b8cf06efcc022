"""What pytest's collected items say of cases: which, in what order, and what tests check them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from pytest_tablebench.datasets.case import Case

# One mapping of the session's takes a third of the memory of an entry in each item's stash.
_PLACES = pytest.StashKey[dict[pytest.Item, int]]()
_CHECKS = pytest.StashKey[dict[tuple[str, str], str]]()


def case_of(item: pytest.Item) -> Case | None:
    """Return the case of an item of ours, None for any other."""
    param = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return param if isinstance(param, Case) else None


def place_of(item: pytest.Item) -> int | None:
    """Return an item's place in the run, None before all are collected."""
    return item.config.stash.get(_PLACES, {}).get(item)


def check_of(item: pytest.Item) -> str:
    """Return the name of an item's test in the records of its cases; empty for any other."""
    case = case_of(item)
    if case is None:
        return ""
    return item.config.stash.get(_CHECKS, {}).get((case.dataset, _whole(item)), "")


def _whole(item: pytest.Item) -> str:
    """Return what pytest calls an item's test, file and all."""
    return item.nodeid.removesuffix(f"[{item.callspec.id}]")  # type: ignore[attr-defined]


def key_of(item: pytest.Item, worker: str) -> str:
    """Return what names an item in the run, in whichever process an attempt of it runs."""
    return f"{worker}{place_of(item) or 0}"


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
    places = {item: place for place, item in enumerate(items)}
    if items:
        items[0].config.stash[_PLACES] = places
    for item in items:
        asks = "answer" in getattr(item, "fixturenames", ()) and not _may_be_skipped(item)
        plan.append(case_of(item) if asks else None)
    return plan


def name_checks(items: Sequence[pytest.Item]) -> dict[str, list[str]]:
    """Name the test of each item, and return the names by dataset.

    A test is named by its function; where several over one dataset have the same name, by what
    pytest calls them, file and all. Items of a test that differ in parameters of its own are one
    test. To be called with all items collected, so that no selection changes a name.
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
    return {
        name: max(threshold(name, named) for named in thresholds)
        for name, thresholds in marked.items()
    }


def _may_be_skipped(item: pytest.Item) -> bool:
    """Whether pytest may pass over the item; only then would its answer be paid for nothing."""
    return any(item.get_closest_marker(name) for name in ("skip", "skipif", "xfail"))
