"""Stored answers as text, the change of an answer, and `snapshots.json` of a run folder.

A stored answer contains its verdict, score and text, to tell reworded answers (another text with
the same verdict) from flipped ones (another verdict).
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import write_whole

SCHEMA = 1
"""The version of `snapshots.json`."""

FILE = "snapshots.json"

Kind = Literal["same", "reworded", "flipped", "new"]
"""same: the same text and verdict; reworded: another text, the same verdict; flipped: another
verdict; new: no stored answer."""

Verdict = Literal["right", "wrong", "scored"]

Change = dict[str, Any]
"""A case whose answer differs from the stored one, as in `snapshots.json`."""

MAX_TEXTS = 2000
"""The number of changes with texts in `snapshots.json`; further changes have no texts."""

_HIDDEN = re.compile(
    # Control characters except line ends and tabs, line separators, lone surrogates, and marks that
    # reverse or hide text. A review would not show them, and some cannot be written.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_ESCAPABLE = re.compile(r"\\|" + _HIDDEN.pattern)
_ESCAPE = re.compile(r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4}))")
_ANSWER = re.compile(r"(right|wrong|scored) ([0-9.e+-]{1,30}|none)( escaped)?((?:\n\|[^\n]*)+)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored answer. `score` is from 0 to 1."""

    verdict: Verdict
    score: float | None
    text: str

    def encode(self) -> str:
        """Return the stored lines: verdict and score, then each line of the text after a bar.

        The bar separates the text from Amber's syntax and preserves empty lines. A text with
        hidden characters is written with escapes, and the first line ends in `escaped`.
        """
        score = "none" if self.score is None else repr(float(self.score))
        head, text = f"{self.verdict} {score}", self.text
        if _HIDDEN.search(text):
            head, text = f"{head} escaped", _ESCAPABLE.sub(_escape, text)
        return head + "\n|" + text.replace("\n", "\n|")

    @classmethod
    def decode(cls, data: str) -> Entry:
        """Parse the output of `encode`. Raises `ValueError` for anything else."""
        match = _ANSWER.fullmatch(data)
        if match is None:
            raise ValueError("not a stored answer")
        verdict, score, escaped, lines = match.groups()
        text = lines.removeprefix("\n|").replace("\n|", "\n")
        if escaped:
            text = _ESCAPE.sub(lambda part: part[1] or chr(int(part[2] or part[3], 16)), text)
        return cls(cast("Verdict", verdict), None if score == "none" else float(score), text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return r"\\" if match[0] == "\\" else f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def compare(old: Entry | None, new: Entry) -> Kind:
    """Return the kind of change of an answer; a changed score alone is no change."""
    if old is None:
        return "new"
    if old.verdict != new.verdict:
        return "flipped"
    return "same" if old.text == new.text else "reworded"


def excerpt(old: str, new: str, limit: int = 2000, before: int = 60) -> tuple[str, str]:
    """Return at most `limit` characters of two texts, from `before` characters before they differ.

    Short texts are returned from their beginning.
    """
    start = 0
    if max(len(old), len(new)) > limit:
        # Characters, not folders.
        start = max(0, len(os.path.commonprefix([old, new])) - before)  # noqa: RUF071
    return old[start : start + limit], new[start : start + limit]


def change_of(case_id: str, file: str, name: str, old: Entry, new: Entry) -> Change:
    """Return the change from the old answer to the new one."""
    before, after = excerpt(old.text, new.text)
    sides = {"old": asdict(replace(old, text=before)), "new": asdict(replace(new, text=after))}
    return {"case_id": case_id, "kind": compare(old, new), "file": file, "name": name, **sides}


def changes_data(
    counts: Mapping[str, int],
    changes: Iterable[Change],
    *,
    updated: bool,
    files: Mapping[str, Mapping[str, Any]],
    problems: Iterable[str],
    compared_with: str | None = None,
) -> dict[str, Any]:
    """Return the content of `snapshots.json`: flipped verdicts first, then by case id.

    `counts` has the number of cases by kind, and of `no_answer`. `files` has by name the number of
    `stored` answers and of `unused` ones, which no case has (None if only some of the cases ran).
    """
    ordered = sorted(changes, key=lambda change: (change["kind"] != "flipped", change["case_id"]))
    for change in ordered[MAX_TEXTS:]:
        for side in ("old", "new"):
            change[side].pop("text", None)
    return {
        "schema": SCHEMA,
        "updated": updated,
        "compared_with": compared_with,
        "counts": {name: counts.get(name, 0) for name in (*get_args(Kind), "no_answer")},
        "files": files,
        "problems": list(dict.fromkeys(problems)),
        "changes": ordered,
    }


def merged_changes(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of `snapshots.json` of a run, from its parts' contents.

    No two parts may have a case in common. The number of unused answers is unknown.
    """
    counts: Counter[str] = Counter()
    stored: dict[str, int] = {}
    for part in parts:
        counts.update(part["counts"])
        for name, file in part["files"].items():
            stored[name] = max(stored.get(name, 0), file["stored"])
    return changes_data(
        counts,
        [change for part in parts for change in part["changes"]],
        updated=any(part["updated"] for part in parts),
        files={name: {"stored": count, "unused": None} for name, count in stored.items()},
        problems=[problem for part in parts for problem in part["problems"]],
        compared_with=parts[0]["compared_with"],
    )


def write_changes(folder: Path, data: Mapping[str, Any]) -> None:
    """Write `snapshots.json` into a run folder atomically. Raises `OSError`."""
    write_whole(folder / FILE, json.dumps(data, indent=1) + "\n")


def read_changes(folder: Path) -> dict[str, Any] | None:
    """Return the content of a run folder's `snapshots.json`; None if it does not exist.

    Raises `SettingsError` for a damaged file, and for a newer schema.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        data: dict[str, Any] = parsed_json(path.read_text(encoding="utf-8"))
        if data["schema"] > SCHEMA:
            version = f"schema {data['schema']}, this version reads up to {SCHEMA}"
            raise SettingsError(f"{path} has {version}; upgrade pytest-tablebench")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise SettingsError(f"{path} cannot be read ({error}); delete it") from None
    return data
