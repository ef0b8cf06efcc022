"""A run: the content of its folder, read once and on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pytest_tablebench.config.axes import JOINED, SAME_QUESTION, names_on
from pytest_tablebench.results.folder import read_facts, read_records
from pytest_tablebench.results.labels import Label, read_labels
from pytest_tablebench.results.record import Record, ScoreRow, row_values
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.score_table import ScoreTable, raw_digests
from pytest_tablebench.results.snapshots import read_changes

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class CaseKey(NamedTuple):
    """What identifies a case in every run.

    `names` are its names on `JOINED`: "" on an axis that is in no grid unless the run has several
    of its names.
    """

    dataset: str
    example: str
    names: tuple[str, ...]
    repeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(ScoreRow):
    """A `ScoreRow` with its case id, model and cost, for aggregates and analyses."""

    case_id: str
    model: str
    cost_usd: float | None = None


@dataclass
class Run:
    """A run: its folder, its facts, and what is read from them.

    Whether it is finished, interrupted, imported or a part of a run is one of its facts.

    Records and table are loaded on first use. Raises `SettingsError` if the records
    cannot be read, `DataError` if they do not form a table.

    Args:
        facts: the current content of `run.json`.
        written_table: the table of the process that wrote the run, without digests of replies.
        new_records: records in memory, which count instead of those in the folder.
        label: the name of the run among several, if it is not its model.
    """

    path: Path
    facts: RunFacts
    written_table: ScoreTable | None = None
    new_records: Sequence[Record] | None = None
    label: str = ""
    _figures: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def model(self) -> str:
        """The label of the run, by default its model."""
        return self.label or self.facts.model

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The last record of each case."""
        records = self.new_records
        return tuple(read_records(self.path) if records is None else records)

    @property
    def unanswered(self) -> int:
        """The number of cases without an answer."""
        return sum(record.score is None for record in self.records)

    @property
    def extended(self) -> int:
        """The number of cases whose cut off reply was asked again with a higher token limit."""
        return sum("extended" in record.flags for record in self.records)

    @property
    def is_cut_off(self) -> bool:
        """Whether fewer cases are recorded than planned, or the planned number is unknown."""
        planned = self.facts.cases_planned
        return planned is None or len(self.records) < planned

    @cached_property
    def places(self) -> Mapping[CaseKey, int]:
        """The row of each case in the table, by what identifies the case in every run."""
        several = {
            axis for axis in SAME_QUESTION if len({names_on(r, (axis,)) for r in self.records}) > 1
        }
        is_kept = [axis.in_grid or axis in several for axis in JOINED]
        places = {}
        for row, record in enumerate(self.records):
            names = zip(names_on(record, JOINED), is_kept, strict=True)
            cell = tuple(name if kept else "" for name, kept in names)
            places[CaseKey(record.dataset, record.example_id, cell, record.repeat)] = row
        return places

    @cached_property
    def rows(self) -> tuple[RunRow, ...]:
        """The records without their texts, for reports on many runs."""
        records = read_records(self.path) if self.new_records is None else self.new_records
        return tuple(
            RunRow(*row_values(r), case_id=r.case_id, model=self.model, cost_usd=r.cost_usd)
            for r in records
        )

    @cached_property
    def table(self) -> ScoreTable:
        """The score table of the records, with digests of their replies."""
        return ScoreTable.from_records(self.records, answers=raw_digests)

    @property
    def scores(self) -> ScoreTable:
        """The table for figures that need no replies, preferably the one already in memory."""
        return self.table if self.written_table is None else self.written_table

    @cached_property
    def changes(self) -> Mapping[str, Any] | None:
        """The content of `snapshots.json`; None if no answers were compared.

        Raises `SettingsError` for a damaged file.
        """
        return read_changes(self.path)

    @cached_property
    def labels(self) -> Sequence[Label]:
        """The labels by people in the folder. Raises `SettingsError` for a damaged file."""
        return read_labels(self.path)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return a figure of the run by its name; `make` computes it at the first call."""
        if name not in self._figures:
            self._figures[name] = make()
        figure: T = self._figures[name]
        return figure


def load_run(run: Path | Run) -> Run:
    """Return the run of a folder. Raises `SettingsError` for a folder that is no run."""
    return run if isinstance(run, Run) else Run(run, read_facts(run))


SPREAD = ("parts", "checks", "tags")
"""Fields with named entries, each of which becomes a column."""


def read_run(path: str | Path) -> pd.DataFrame:
    """Return the records of a run folder, one row per case.

    The columns are the fields of `records.jsonl`. Each entry of `parts`, `checks` and `tags` has
    its own column, such as `parts.f1`. Unknown values are missing. `attrs["run"]` is the content
    of `run.json`.

    Raises `SettingsError` if the folder has no run, or one that cannot be read.
    """
    import pandas as pd

    folder = Path(path)
    content = dict(read_facts(folder).entries)
    rows = []
    for record in read_records(folder):
        row = record.values
        for name in SPREAD:
            row |= {f"{name}.{key}": value for key, value in row.pop(name).items()}
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["run"] = content
    return frame
