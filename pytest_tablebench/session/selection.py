"""The cases that were selected: what a run is measured by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_tablebench.datasets.case import Case


@dataclass(frozen=True)
class Selection:
    """The cases that were selected.

    Arguments:
        cases: each once, in the order of items.
        items: how many items each case has, by its id.
        missing: why there is no data, by the names of selected datasets.
    """

    cases: tuple[Case, ...] = ()
    items: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, params: Iterable[object], known_missing: Mapping[str, str]) -> Selection:
        """Return the selection of items, by what stands for the case of each.

        Without data a test stands there once, with the dataset's name for its case.
        """
        chosen = list(params)
        cases = [case for case in chosen if isinstance(case, Case)]
        names = [name for name in chosen if isinstance(name, str)]
        return cls(
            tuple({case.case_id: case for case in cases}.values()),
            Counter(case.case_id for case in cases),
            {name: known_missing[name] for name in names if name in known_missing},
        )

    def planned(self) -> dict[str, int]:
        """Return how many cases each model has."""
        return dict(Counter(case.model for case in self.cases))

    def items_by_model(self) -> dict[str, int]:
        """Return how many items each model has."""
        counts: Counter[str] = Counter()
        for case in self.cases:
            counts[case.model] += self.items[case.case_id]
        return dict(counts)

    def datasets(self) -> list[str]:
        """Return the datasets of the cases, in order."""
        return list(dict.fromkeys(case.dataset for case in self.cases))

    def by_model(self) -> dict[str, list[Case]]:
        """Return the cases of each model."""
        cases: dict[str, list[Case]] = {}
        for case in self.cases:
            cases.setdefault(case.model, []).append(case)
        return cases

    def values(self) -> list[tuple[list[Any], int]]:
        """Return what each case is made of and how many items it has, to be sent."""
        return [(list(asdict(case).values()), self.items[case.case_id]) for case in self.cases]
