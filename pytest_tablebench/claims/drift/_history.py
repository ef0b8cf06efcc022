"""The history of a watch: a reference and one line per look.

    {"schema": 1, "kind": "reference", "id": "...", "time": "...", "project": "...", "model": "...",
     "setup": {...}, "fingerprints": {...}, "cases": [...], "clusters": [...],
     "scores": [[...], ...], "answers": [[...], ...]}
    {"schema": 1, "kind": "look", "id": "...", "time": "...", "project": "...", "model": "...",
     "setup": {...}, "fingerprints": {...}, "reference": "...", "scores": [...], "answers": [...]}

`scores` and `answers` (digests) of a look are in the order of the reference's `cases`; null is a
missing answer. Two files with the same reference can be joined line by line, in any order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import shortened
from pytest_tablebench.util.notices import notice

SCHEMA = 1

FINISHED = "\n"


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    """A reference or a look.

    Arguments:
        kind: `reference` or `look`.
        id: unique; the looks of a reference name it in `reference`.
        time: in ISO 8601, UTC.
        project: the name of the project.
        model: the model's name.
        setup: see `setup_of`.
        fingerprints: how many answers name each fingerprint.
        served: how many cases each model, provider and version answered; empty if unknown.
        cases, clusters: of a reference, in order.
        scores: by case; of a reference the scores of all repeats. None without an answer.
        answers: digests of the answers, as `scores`.
        reference: the id of a look's reference.
    """

    kind: str
    id: str
    time: str
    project: str
    model: str
    setup: Mapping[str, Any]
    fingerprints: Mapping[str, int] = field(default_factory=dict)
    served: Mapping[str, int] = field(default_factory=dict)
    cases: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    scores: tuple[Any, ...] = ()
    answers: tuple[Any, ...] = ()
    reference: str | None = None

    def to_line(self) -> str:
        """Return the line in the file, with its line end."""
        fields = {name: value for name, value in asdict(self).items() if value not in ((), None)}
        return json.dumps({"schema": SCHEMA, **fields}) + FINISHED


@dataclass(frozen=True)
class History:
    """The last reference of a watch with its looks, by time. `entries` are all of the file."""

    path: Path
    entries: tuple[HistoryEntry, ...] = ()

    @property
    def reference(self) -> HistoryEntry | None:
        """The newest reference."""
        return next((e for e in reversed(self.entries) if e.kind == "reference"), None)

    @property
    def looks(self) -> list[HistoryEntry]:
        """The looks of the newest reference, by time."""
        reference = self.reference
        if reference is None:
            return []
        return [e for e in self.entries if e.kind == "look" and e.reference == reference.id]

    def with_entry(self, entry: HistoryEntry) -> History:
        """Return the history with one more entry, and write the file whole."""
        after = History(self.path, _ordered([*self.entries, entry]))
        with writing(f"cannot write the history {self.path}"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, [e.to_line() for e in after.entries], durable=True)
        return after

    def check(self, project: str) -> None:
        """Raise `SettingsError` if the file belongs to another project."""
        for entry in self.entries:
            if entry.project != project:
                raise SettingsError(
                    f"{self.path} is the history of the project {entry.project!r}, "
                    f"and this is {project!r}: name another --history, or the "
                    f"project with --name"
                )


def read_history(path: Path) -> History:
    """Read a history; a missing file is an empty one.

    An incomplete last line is left out with a notice. Duplicates of an id are left out, and the
    entries are sorted by time, so joined files need no care. Raises `SettingsError` for any other
    damaged line, naming it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return History(path)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the history {path} cannot be read: {error}") from None
    lines = text.split(FINISHED)
    entries = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entries.append(_entry(parsed_json(line)))
        except (ValueError, TypeError) as error:
            if number == len(lines):  # no line end follows
                notice(f"{path}: line {number} is incomplete and left out; its look is lost")
                continue
            raise SettingsError(
                f"{path}, line {number}: not a line of a watch ({shortened(str(error), 100)}); "
                f"remove the line"
            ) from None
    return History(path, _ordered(entries))


def _ordered(entries: list[HistoryEntry]) -> tuple[HistoryEntry, ...]:
    distinct = {entry.id: entry for entry in reversed(entries)}
    return tuple(sorted(distinct.values(), key=lambda entry: (entry.time, entry.id)))


def _entry(data: Any) -> HistoryEntry:
    """Return the entry of a line. Raises `ValueError` or `TypeError`."""
    if not isinstance(data, dict):
        raise TypeError("not an object")
    schema = data.pop("schema", None)
    if schema != SCHEMA:
        raise ValueError(f"schema {schema!r}; upgrade pytest-tablebench")
    lists = ("cases", "clusters", "scores", "answers")
    fields: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in data.items()}
    entry = HistoryEntry(**fields)
    texts = (entry.id, entry.time, entry.project, entry.model)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("id, time, project or model is not text")
    if not all(isinstance(x, dict) for x in (entry.setup, entry.fingerprints, entry.served)):
        raise TypeError("setup, fingerprints or served is not an object")
    rows = [entry.scores] if entry.kind == "look" else entry.scores
    for value in (value for row in rows for value in row):
        if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
            raise ValueError("a score is not between 0 and 1")
    if entry.kind == "reference":
        shape = {len(entry.cases), len(entry.clusters), len(entry.scores), len(entry.answers)}
        if len(shape) != 1 or len({len(row) for row in entry.scores}) != 1:
            raise ValueError("its lists have different lengths")
    return entry
