"""Merge the records of several runs, with one record per case, and their labels by people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results.folder import RECORDS, named_thresholds, read_places
from pytest_tablebench.results.labels import Label, LabelSample, read_labels, read_sample
from pytest_tablebench.results.record import Record, ScoreRow, row_values
from pytest_tablebench.results.score_table import ScoreTableBuilder
from pytest_tablebench.util.names import counted

_SPENT = (
    "latency_s", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd", "from_store",
)  # fmt: skip
"""The fields of a record and of its steps that describe the cost of an answer."""

NAMED = 5
"""The number of cases or labels that a message lists."""


@dataclass(slots=True)
class _RecordPlace:
    """The place of a case's record, and what is needed to compare it with another of the case."""

    case_id: str
    rank: tuple[bool, bool, bytes]
    content_digest: bytes
    row: ScoreRow
    part: int = 0
    place: tuple[int, int] = (0, 0)


class MergedRecords:
    """Reads the records of run folders, and keeps the place and the row of each.

    A case in several runs counts once. Its records must agree in everything but the costs; a
    record with an answer replaces one without, and `unanswered` counts these cases. Raises
    `SettingsError` with the cases that do not agree, and for records that cannot be read.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._kept: dict[str, _RecordPlace] = {}
        self.overlapping = self.unanswered = 0
        unlike: dict[str, tuple[int, int]] = {}
        for number, folder in enumerate(folders):
            for offsets, new in _records(folder):
                new.part, new.place = number, offsets
                earlier = self._kept.setdefault(new.case_id, new)
                if earlier is new:
                    continue
                self.overlapping += 1
                if earlier.content_digest != new.content_digest:
                    if not (earlier.row.score is None or new.row.score is None):
                        unlike.setdefault(new.case_id, (earlier.part, number))
                        continue
                    self.unanswered += 1
                if new.rank < earlier.rank:
                    self._kept[new.case_id] = new
        if unlike:
            named = [
                f"{case} ({folders[first]} and {folders[second]})"
                for case, (first, second) in sorted(unlike.items())
            ]
            raise _disagreement(named, "case", "records", "Leave out one of the runs")
        self._order = sorted(self._kept, key=_natural)

    def __len__(self) -> int:
        return len(self._kept)

    def rows(self) -> Iterator[ScoreRow]:
        """Yield the rows in the order of case ids."""
        return (self._kept[case].row for case in self._order)

    def lines(self) -> Iterator[str]:
        """Yield the lines in the order of case ids."""
        thresholds = [named_thresholds(folder) for folder in self._folders]
        with ExitStack() as stack:
            files = {
                part: stack.enter_context((self._folders[part] / RECORDS).open("rb"))
                for part in {kept.part for kept in self._kept.values()}
            }
            for kept in map(self._kept.__getitem__, self._order):
                file, (start, length) = files[kept.part], kept.place
                file.seek(start)
                line = file.read(length).decode("ascii")
                yield Record.from_line(line, thresholds[kept.part]).to_line()


def _records(folder: Path) -> Iterator[tuple[tuple[int, int], _RecordPlace]]:
    """Yield the places of a folder's records. Raises `SettingsError` if it cannot be read."""
    table = ScoreTableBuilder()

    def keep(record: Record) -> _RecordPlace:
        row = ScoreRow(*row_values(record))
        table.append(row)
        digest = blake2b(record.to_line().encode("ascii"), digest_size=16).digest()
        rank = record.score is None, record.from_store, digest
        return _RecordPlace(record.case_id, rank, _content_digest(record), row)

    try:
        records = list(read_places(folder, keep=keep))
        table.table()
    except (DataError, SettingsError) as error:
        where = str(folder / RECORDS)
        message = str(error) if where in str(error) else f"{where}: {error}"
        raise SettingsError(message) from None
    yield from records


def _content_digest(record: Record) -> bytes:
    """Return a digest of a record without its costs."""
    data: dict[str, Any] = {
        name: value for name, value in record.values.items() if name not in _SPENT
    }
    data["steps"] = [
        {name: value for name, value in step.items() if name not in _SPENT} for step in record.steps
    ]
    text = json.dumps(data, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _natural(case_id: str) -> list[str | int]:
    """Return a sort key that sorts `e2` before `e10`."""
    return [
        int(part) if number % 2 else part
        for number, part in enumerate(re.split(r"([0-9]{1,18})", case_id))
    ]


def _disagreement(named: Sequence[str], noun: str, differing: str, advice: str) -> SettingsError:
    more = f"; and {len(named) - NAMED:,} more" if len(named) > NAMED else ""
    return SettingsError(
        f"{counted(len(named), noun)} with different {differing} in two runs: "
        f"{', '.join(named[:NAMED])}{more}. {advice}"
    )


def merge_labels(
    folders: Sequence[Path],
) -> tuple[list[Label], LabelSample]:
    """Return the labels of run folders, each once, and the weights of the proposed cases.

    Raises `SettingsError` for damaged files, and if a person has two different labels of the same
    answer.
    """
    merged: dict[tuple[str, str, int | None], tuple[Path, Label]] = {}
    sample: LabelSample = {}
    contradictions = []
    for folder in folders:
        for label in read_labels(folder):
            source, earlier = merged.setdefault(label.key, (folder, label))
            if earlier.label != label.label:
                contradictions.append(
                    f"{label.person} on {label.case_id}: {earlier.label:g} in {source} and "
                    f"{label.label:g} in {folder}"
                )
            elif earlier.weight is None:
                merged[label.key] = folder, label
        sample = read_sample(folder) | sample
    if contradictions:
        advice = "Import the right ones with `tablebench labels RUN FILE --replace`"
        raise _disagreement(contradictions, "label", "values", advice)
    return [label for _, label in merged.values()], sample
