"""The labels by people that gates on a judge's marks need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_tablebench.results.judges import JUDGED
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates._grammar import Gate
    from pytest_tablebench.results.labelled_cases import LabelledCases
    from pytest_tablebench.results.sheets import ScoreSheet


@dataclass
class JudgeLabels:
    """The labels of a run and its baseline, read only if a gate needs them.

    Args:
        read: returns the judged cases of the run with their labels.
        read_baseline: the same for the baseline; None without one.
        different: why the marks of run and baseline cannot be compared; None if they can.
    """

    read: Callable[[], LabelledCases]
    read_baseline: Callable[[], LabelledCases] | None = None
    different: str | None = None
    _datasets: dict[str, bool] = field(default_factory=dict)

    @cached_property
    def run(self) -> LabelledCases:
        """The judged cases of the run."""
        return self.read()

    @cached_property
    def baseline(self) -> LabelledCases | None:
        """The judged cases of the baseline."""
        return None if self.read_baseline is None else self.read_baseline()

    def concerned(self, gate: Gate, sheets: Mapping[str, Sequence[ScoreSheet]]) -> list[str]:
        """Return the datasets whose values in a gate are a judge's marks.

        `sheets` contains the sheets of each dataset in its scope, from the run and the baseline.
        """
        if gate.counted or gate.check is not None:
            return []
        names = [name for name, sides in sheets.items() if any(map(_has_marks, sides))]
        if gate.part is not None:
            return names if gate.part in JUDGED else []
        return [name for name in names if self._is_judged(name)]

    def _is_judged(self, name: str) -> bool:
        if name not in self._datasets:
            sides = [self.run, *([] if self.baseline is None else [self.baseline])]
            self._datasets[name] = any(
                case.dataset == name and case.is_score for side in sides for case in side.cases
            )
        return self._datasets[name]


def _has_marks(sheet: ScoreSheet) -> bool:
    return any(bool(np.isfinite(sheet.parts[part]).any()) for part in JUDGED if part in sheet.parts)
