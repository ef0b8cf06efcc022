"""`corrections.csv`: verdicts of people on gold answers, an overlay over a published dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal, get_args

from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.tables.user_rows import csv_rows
from pytest_tablebench.util.csv_text import as_csv
from pytest_tablebench.util.entries import parsed_json

Verdict = Literal["right", "wrong", "several", "unclear", "broken"]
"""The gold is right or wrong, several answers are right, the question is unclear, or the table is
broken."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

WITH_ANSWERS = ("wrong", "several")
"""The verdicts that replace the gold by the correction's answers; `right` keeps it."""


@dataclass(frozen=True)
class Correction:
    """A verdict on the gold of one example; each field is a column of the file (`COLUMNS`).

    Arguments:
        digest: the `row_digest` of the example for which the verdict was given; `*` for any
            version of it, and for data that may lack it.
        answers: the right answers, as one JSON array in the file. Without any, `wrong` and
            `several` leave the example out, as `unclear` and `broken` do.
        evidence: the reasons, for readers.
        reviewer: the person or tool that gave the verdict.
        date: as ISO 8601.
    """

    dataset: str
    example: str
    digest: str
    verdict: Verdict
    answers: tuple[str, ...] = ()
    evidence: str = ""
    reviewer: str = ""
    date: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The dataset and the example."""
        return self.dataset, self.example

    @property
    def is_for_any_version(self) -> bool:
        """Whether the verdict does not depend on the version of the data."""
        return self.digest == "*"

    def is_for(self, digest: str) -> bool:
        """Return whether the verdict is about the example with this `row_digest`."""
        return self.is_for_any_version or self.digest == digest

    @property
    def is_left_out(self) -> bool:
        """Whether the corrected figures leave the example out."""
        return self.verdict != "right" and not self.answers


COLUMNS = ("dataset", "example", "digest", "verdict", "answers", "evidence", "who", "when")
"""The columns of the file, in the order of the fields."""


@dataclass(frozen=True)
class Corrections:
    """The verdicts of a file, by dataset and example, and the digest of their content."""

    by_example: Mapping[tuple[str, str], Correction]
    digest: str

    @classmethod
    def of(cls, corrections: Iterable[Correction]) -> Corrections:
        """Return an overlay; its digest ignores order, reviewers, dates and reasons."""
        by_example = {item.key: item for item in corrections}
        content = sorted(
            [*item.key, item.digest, item.verdict, list(item.answers)]
            for item in by_example.values()
        )
        text = json.dumps(content).encode()
        return cls(by_example, blake2b(text, digest_size=10).hexdigest())


def read_corrections(path: Path) -> Corrections:
    """Read a file. Raises `SettingsError` with the row for content that it cannot have."""
    corrections: dict[tuple[str, str], tuple[str, Correction]] = {}
    for location, cells in csv_rows(path, COLUMNS, 4):
        item = _correction(location, cells)
        first, former = corrections.setdefault(item.key, (location, item))
        if (former.digest, former.verdict, former.answers) != (
            item.digest,
            item.verdict,
            item.answers,
        ):
            raise SettingsError(
                f"{location}: contradicts {first.rpartition(', ')[2]} about {'/'.join(item.key)}; "
                f"keep one of them"
            )
    if not corrections:
        raise SettingsError(f"{path}: contains no corrections")
    return Corrections.of(item for _, item in corrections.values())


def _correction(location: str, cells: Mapping[str, str]) -> Correction:
    verdict = next((name for name in VERDICTS if name == cells["verdict"].strip()), None)
    if verdict is None:
        raise SettingsError(
            f"{location}: unknown verdict {cells['verdict']!r}; use one of {', '.join(VERDICTS)}"
        )
    empty = next((name for name in COLUMNS[:3] if not cells[name].strip()), None)
    if empty is not None:
        raise SettingsError(f"{location}: {empty} is empty")
    answers = _answers(cells.get("answers", ""))
    if answers and verdict not in WITH_ANSWERS:
        raise SettingsError(
            f"{location}: the verdict {verdict} takes no answers; with answers it is wrong or "
            f"several"
        )
    texts = (cells.get(name, "") for name in ("evidence", "who", "when"))
    example = cells["dataset"].strip(), cells["example"].strip(), cells["digest"].strip()
    return Correction(*example, verdict, answers, *texts)


def _answers(cell: str) -> tuple[str, ...]:
    """Return the texts of a JSON array; any other text is one answer."""
    if not cell.strip():
        return ()
    try:
        values = parsed_json(cell)
    except ValueError:
        return (cell,)
    if not isinstance(values, list):
        return (cell,)
    return tuple(value if isinstance(value, str) else json.dumps(value) for value in values)


def cells_of(item: Correction) -> list[str]:
    """Return the cells of a correction, in the order of `COLUMNS`."""
    cells = {name: str(value) for name, value in zip(COLUMNS, astuple(item), strict=True)}
    answers = json.dumps(item.answers, ensure_ascii=False) if item.answers else ""
    return list((cells | {"answers": answers}).values())


def write_corrections(path: Path, corrections: Iterable[Correction]) -> None:
    """Write a file. Raises `SettingsError` if it cannot be written."""
    with writing(f"{path}: cannot be written"):
        path.write_text(as_csv([COLUMNS, *map(cells_of, corrections)]), encoding="utf-8")
