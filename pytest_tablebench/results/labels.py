"""Labels by people: import them from CSV files, and keep them in the run folder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.results.record import SCHEMA, Record, case_key, check_schema
from pytest_tablebench.tables.user_rows import csv_rows, json_rows
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.results.judged_cases import JudgedCase

LABELS = "labels.jsonl"
"""The file in the run folder."""

SAMPLE = "label_sample.jsonl"
"""The file with the cases that were proposed for labels."""

COLUMNS = ("case_id", "label", "who", "when")
"""The columns of a file of labels."""

LabelSample = dict[tuple[str, int | None], float]
"""The sampling weights of proposed cases, by case and answer."""

VERDICTS = {"right": 1.0, "wrong": 0.0}


@dataclass(frozen=True)
class Label:
    """A label by one person of one answer.

    Args:
        case_id: the case without its model.
        label: from 0 (wrong) to 1 (right).
        date: as the file has it.
        answer: the mark of the labelled answer, as in `Record.answer_mark`.
        weight: the relative sampling weight if the case was proposed, else None.
    """

    case_id: str
    label: float
    person: str
    date: str = ""
    answer: int | None = None
    weight: float | None = None

    @property
    def key(self) -> tuple[str, str, int | None]:
        """The case, the person and the answer."""
        return self.case_id, self.person, self.answer


@dataclass(frozen=True)
class Imported:
    """The result of an import: the labels of the run, and the numbers of changed ones."""

    labels: tuple[Label, ...]
    added: int
    repeated: int
    replaced: int


def read_labels(path: Path) -> list[Label]:
    """Return the labels of a run folder or of a `labels.jsonl`; empty for a run without labels.

    Raises `SettingsError` for a damaged file, or a path without labels that is no run folder.
    """
    file = path / LABELS if path.is_dir() else path
    if path.is_dir() and not file.exists():
        return []
    labels = []
    for location, data in _rows(file):
        try:
            answer, weight = data.get("answer"), data.get("weight")
            label = Label(
                str(data["case_id"]),
                float(data["label"]),
                str(data["person"]),
                str(data.get("date", "")),
                answer if isinstance(answer, int) else None,
                float(weight) if isinstance(weight, int | float) and weight > 0 else None,
            )
        except (KeyError, TypeError, ValueError):
            raise SettingsError(f"{location}: is not a label") from None
        if not 0 <= label.label <= 1:
            raise SettingsError(f"{location}: the label is not a number from 0 to 1")
        labels.append(label)
    return labels


def _rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for location, data in json_rows(file, "a label"):
        check_schema(data, file.name)
        yield location, data


def write_labels(run: Path, labels: Iterable[Label]) -> None:
    """Replace the labels of a run folder. Raises `SettingsError` if they cannot be written."""
    _write(run / LABELS, (asdict(label) for label in labels))


def taken_labels(path: Path, records: Iterable[Record]) -> list[Label]:
    """Return the labels of another run, or of a file, whose cases some records have."""
    names = {case_key(record) for record in records}
    return [label for label in read_labels(path) if label.case_id in names]


def read_sample(run: Path) -> LabelSample:
    """Return the sampling weight of each proposed case and answer of a run folder."""
    file = run / SAMPLE
    if not file.exists():
        return {}
    weights: LabelSample = {}
    for location, data in _rows(file):
        weight, answer = data.get("weight"), data.get("answer")
        if not isinstance(weight, int | float) or not weight > 0:
            raise SettingsError(f"{location}: has no weight")
        weights[str(data.get("case_id")), answer if isinstance(answer, int) else None] = float(
            weight
        )
    return weights


def add_sample(run: Path, sample: Iterable[tuple[JudgedCase, float]]) -> None:
    """Add proposed cases with their sampling weights to the sample of a run folder."""
    weights = read_sample(run)
    weights |= {(case.case_id, case.answer): weight for case, weight in sample}
    write_sample(run, weights)


def write_sample(run: Path, weights: LabelSample) -> None:
    """Replace the sample of a run folder. Raises `SettingsError` if it cannot be written."""
    entries = (
        {"case_id": case_id, "answer": answer, "weight": weight}
        for (case_id, answer), weight in weights.items()
    )
    _write(run / SAMPLE, entries)


def _write(file: Path, entries: Iterable[Mapping[str, object]]) -> None:
    with writing(f"{file}: cannot be written"):
        write_whole(file, (json.dumps({"schema": SCHEMA, **entry}) + "\n" for entry in entries))


def read_label_file(path: Path) -> list[tuple[str, Label]]:
    """Return the labels of a CSV file, each with its place for messages; rows without one are left.

    Raises `SettingsError` with the file and the row for content that it cannot have.
    """
    labels = []
    for location, row in csv_rows(path, COLUMNS, 3):
        cells = {name: cell.strip() for name, cell in row.items()}
        if cells["label"]:
            labels.append((location, _label(location, cells)))
    if not labels:
        raise SettingsError(f"{path}: contains no labels; fill the column label")
    return labels


def _label(location: str, cells: Mapping[str, str]) -> Label:
    text = cells["label"]
    try:
        value = VERDICTS.get(text.lower(), math.nan)
        value = float(text) if math.isnan(value) else value
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise SettingsError(
            f"{location}: the label {shortened(text, 40)!r} is not a number from 0 to 1, right or "
            f"wrong"
        )
    if not cells["who"]:
        raise SettingsError(f"{location}: the column {COLUMNS[2]} is empty; it names the person")
    return Label(cells["case_id"], value, cells["who"], cells.get("when", ""))


def join_labels(
    cases: Iterable[JudgedCase],
    present: Sequence[Label],
    new: Iterable[tuple[str, Label]],
    sample: LabelSample,
    *,
    replace_labels: bool = False,
) -> Imported:
    """Join new labels with the labels of a run; each new one has its place for messages.

    Raises `SettingsError` for an unknown case, a person with two labels of one case in the new
    ones, and a label that contradicts a present one unless `replace_labels`.
    """
    by_case = {case.case_id: case for case in cases}
    by_model = {
        case_id: case
        for case in by_case.values()
        for case_id in (f"{case.case_id}/{case.model}", f"{case.model}/{case.case_id}")
    }
    if not by_case:
        raise SettingsError("the run has no scores by a judge, so there is nothing to label")
    joined = {label.key: label for label in present}
    places: dict[tuple[str, str, int | None], tuple[str, float]] = {}
    added = repeated = replaced = 0
    for location, label in new:
        case = by_case.get(label.case_id) or by_model.get(label.case_id)
        if case is None:
            raise SettingsError(
                f"{location}: the run has no judged case {label.case_id!r}; case ids "
                f"look like {next(iter(by_case))}"
            )
        full = replace(
            label,
            case_id=case.case_id,
            answer=case.answer,
            weight=sample.get((case.case_id, case.answer)),
        )
        name = f"{full.person} on {full.case_id}"
        first = places.setdefault(full.key, (location, full.label))
        if first[1] != full.label:
            raise SettingsError(
                f"{location}: a second label of {name} differs from the first ({first[0]}); keep "
                f"one"
            )
        old = joined.get(full.key)
        if old is None:
            added += 1
        elif old.label == full.label:
            repeated += 1
            continue
        elif not replace_labels:
            raise SettingsError(
                f"{location}: the label {full.label:g} of {name} differs from the stored "
                f"{old.label:g}; --replace takes the new one"
            )
        else:
            replaced += 1
        joined[full.key] = full
    return Imported(tuple(joined.values()), added, repeated, replaced)
