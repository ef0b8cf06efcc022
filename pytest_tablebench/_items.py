"""What pytest's collected items say of cases: which, in what order, and which twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from pytest_tablebench.cases import Case

__all__ = ["POSITION", "REPEATED", "arrange", "number", "repeated"]

POSITION = pytest.StashKey[int]()
"""The item's place in the run."""

REPEATED = pytest.StashKey[bool]()
"""Set where an earlier item has the same case."""


def _case(item: pytest.Item) -> Case | None:
    found = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return found if isinstance(found, Case) else None


def arrange(
    items: list[pytest.Item], places_of: Callable[[Sequence[Case]], Mapping[str, int]]
) -> None:
    """Put the cases into the order that the stopping rule needs; other items keep theirs.

    `places_of` gives each case's place, by its id.
    """
    cases = [_case(item) for item in items]
    places = places_of([case for case in cases if case is not None])
    keys = [-1 if case is None else places[case.case_id] for case in cases]
    items[:] = [item for _, item in sorted(zip(keys, items, strict=True), key=lambda pair: pair[0])]


def number(items: Sequence[pytest.Item]) -> list[Case | None]:
    """Number the items, and return the case of each that will surely ask its model."""
    plan: list[Case | None] = []
    for position, item in enumerate(items):
        item.stash[POSITION] = position
        asks = "answer" in getattr(item, "fixturenames", ()) and not _may_be_skipped(item)
        plan.append(_case(item) if asks else None)
    return plan


def repeated(items: Sequence[pytest.Item]) -> dict[str, str]:
    """Mark the items whose case an earlier one has as well.

    Returns their tests, each with the test that has the case first: it makes the records, in
    whatever order the items run.
    """
    first: dict[str, pytest.Item] = {}
    found: dict[str, str] = {}
    for item in items:
        case = _case(item)
        if case is None or (owner := first.setdefault(case.case_id, item)) is item:
            continue
        item.stash[REPEATED] = True
        test, earlier = (one.nodeid.partition("[")[0] for one in (item, owner))
        if test != earlier:
            found[test] = earlier
    return found


def _may_be_skipped(item: pytest.Item) -> bool:
    """Whether pytest may pass over the item; only then would its answer be paid for nothing."""
    return any(item.get_closest_marker(name) for name in ("skip", "skipif", "xfail"))
