"""Cases of a run to which a perturbation does not apply, as only their tables could tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Inapplicable:
    """A case without a record, and why.

    Arguments:
        model, dataset, case_id: the case.
        why: the reason under which it is counted.
    """

    model: str
    dataset: str
    case_id: str
    why: str


@dataclass
class InapplicableCases:
    """The inapplicable cases of a run, and how many of its items are over them."""

    cases: dict[tuple[str, str], Inapplicable] = field(default_factory=dict)
    items: Counter[str] = field(default_factory=Counter)

    def add(self, case: Inapplicable) -> None:
        """Count one item; a case of several tests is counted once."""
        self.cases[case.model, case.case_id] = case
        self.items[case.model] += 1

    def count(self, model: str) -> int:
        """Return the number of a model's cases."""
        return sum(case.model == model for case in self.cases.values())

    def added_to(self, by_dataset: Mapping[str, Any], model: str) -> dict[str, Any]:
        """Return the entry `by_dataset` of `run.json` with a model's cases in its counts."""
        counts: dict[str, Counter[str]] = {}
        for case in self.cases.values():
            if case.model == model:
                counts.setdefault(case.dataset, Counter())[case.why] += 1
        merged = dict(by_dataset)
        for dataset, reasons in counts.items():
            entry = dict(merged.get(dataset, {}))
            total = reasons + Counter(entry.get("does_not_apply") or {})
            merged[dataset] = {**entry, "does_not_apply": dict(total.most_common())}
        return merged
