"""Merge the labels by people of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.labels import (
    Label,
    read_labels,
    read_sample,
    write_labels,
    write_sample,
)
from pytest_tablebench.util.names import counted, printable

_NAMED = 5
"""The number of contradictions that a message lists."""


@dataclass(frozen=True)
class MergedLabels:
    """The labels of several runs, each once, and the weights of the cases proposed for labels."""

    labels: Sequence[Label]
    sample: Mapping[tuple[str, int | None], float]

    @classmethod
    def read(cls, folders: Sequence[Path]) -> MergedLabels:
        """Read the labels of run folders.

        Raises `SettingsError` for damaged files, and if a person has two different labels of the
        same answer.
        """
        merged: dict[tuple[str, str, int | None], tuple[Path, Label]] = {}
        sample: dict[tuple[str, int | None], float] = {}
        contradictions = []
        for folder in folders:
            for label in read_labels(folder):
                place, earlier = merged.setdefault(label.key, (folder, label))
                if earlier.label != label.label:
                    contradictions.append(
                        f"{printable(label.person, 60)} on {printable(label.case_id, 120)}: "
                        f"{earlier.label:g} in {printable(str(place))} and {label.label:g} in "
                        f"{printable(str(folder))}"
                    )
                elif earlier.weight is None:
                    merged[label.key] = folder, label
            sample = read_sample(folder) | sample
        if contradictions:
            shown, more = ", ".join(contradictions[:_NAMED]), len(contradictions) - _NAMED
            rest = f"; and {more:,} more" if more > 0 else ""
            raise SettingsError(
                f"{counted(len(contradictions), 'label')} with different values in two runs: "
                f"{shown}{rest}. Import the right ones with `tablebench labels RUN FILE --replace`"
            )
        return cls([label for _, label in merged.values()], sample)

    def write(self, run: Path) -> None:
        """Write the labels and the sample into a run folder; no file without any."""
        if self.labels:
            write_labels(run, self.labels)
        if self.sample:
            write_sample(run, self.sample)
