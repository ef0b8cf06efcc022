"""Encode stored answers, compare two answers, and write and read `snapshots.json`.

A stored answer contains its verdict, score and text, to tell reworded answers (another text with
the same verdict) from flipped ones (another verdict).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import printable

SCHEMA = 1
"""The version of `snapshots.json`."""

FILE = "snapshots.json"

Kind = Literal["same", "reworded", "flipped", "new"]
"""same: the same text and verdict; reworded: another text, the same verdict; flipped: another
verdict; new: no stored answer."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Verdict = Literal["right", "wrong", "scored"]

MAX_TEXTS = 2000
"""The number of changes with texts in `snapshots.json`; further changes have no texts."""

_HIDDEN = re.compile(
    # Control characters except line ends and tabs, line separators, lone surrogates, and marks that
    # reverse or hide text. A review would not show them, and some cannot be written.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_ESCAPABLE = re.compile(r"\\|" + _HIDDEN.pattern)
_ESCAPE = re.compile(r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4}))")
_HEAD = re.compile(r"(right|wrong|scored) ([0-9.e+-]{1,30}|none)( escaped)?")
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


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
        first, _, rest = data.partition("\n")
        head = _HEAD.fullmatch(first)
        if head is None or not rest.startswith("|"):
            raise ValueError("not a stored answer")
        text = rest[1:].replace("\n|", "\n")
        if rest.count("\n") != rest.count("\n|"):
            raise ValueError("a line without a bar")
        if head[3]:
            text = _ESCAPE.sub(_unescape, text)
        verdict: Verdict = next(name for name in get_args(Verdict) if name == head[1])
        return cls(verdict, None if head[2] == "none" else float(head[2]), text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\\":
        return "\\\\"
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _unescape(match: re.Match[str]) -> str:
    return "\\" if match[1] else chr(int(match[2] or match[3], 16))


def compare(old: Entry | None, new: Entry) -> Kind:
    """Return the kind of change of an answer; a changed score alone is no change."""
    if old is None:
        return "new"
    if old.verdict != new.verdict:
        return "flipped"
    return "same" if old.text == new.text else "reworded"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Two texts around their first difference, both from the character `start` on."""

    start: int
    old: str
    new: str
    cut: bool
    """Whether either text is longer than the excerpt."""


def excerpt(old: str, new: str, limit: int = 2000, before: int = 60) -> Excerpt:
    """Return at most `limit` characters of each text, from `before` characters before they differ.

    Short texts are returned from their beginning.
    """
    start = 0
    if max(len(old), len(new)) > limit:
        start = max(0, _common_length(old, new) - before)
    end = start + limit
    cut = start > 0 or len(old) > end or len(new) > end
    return Excerpt(start, old[start:end], new[start:end], cut)


def _common_length(old: str, new: str) -> int:
    """Return the length of the common prefix, by binary search since texts may be very long."""
    shorter = min(len(old), len(new))
    return bisect_left(range(shorter), True, key=lambda at: old[: at + 1] != new[: at + 1])


DiffPart = tuple[Literal["=", "-", "+"], str]
"""Text in both answers (`=`), only in the old (`-`), or only in the new one (`+`)."""


def word_diff(old: str, new: str, most: int | None = 300) -> list[DiffPart]:
    """Return the word-by-word difference of two texts.

    Only the first `most` words, punctuation marks and gaps of each text are compared (None: all),
    which bounds the time; the others are left out. The `=` and `-` parts joined are the old text,
    the `=` and `+` parts the new one.
    """
    before, after = _TOKEN.findall(old)[:most], _TOKEN.findall(new)[:most]
    parts: list[DiffPart] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for _, low, high, start, end in matcher.get_opcodes():
        if before[low:high] == after[start:end]:
            parts.append(("=", "".join(before[low:high])))
            continue
        if low < high:
            parts.append(("-", "".join(before[low:high])))
        if start < end:
            parts.append(("+", "".join(after[start:end])))
    return parts


def shorten(parts: Sequence[DiffPart], around: int = 40, most: int = 600) -> list[DiffPart]:
    """Return the parts shortened with `...` to about `most` characters.

    Equal parts keep `around` characters next to a difference.
    """
    shortened: list[DiffPart] = []
    left = most
    for number, (sign, text) in enumerate(parts):
        shown = text
        if sign == "=":
            first, last = number == 0, number == len(parts) - 1
            if first and len(text) > around:
                shown = "..." + text[-around:]
            elif last and len(text) > around:
                shown = text[:around] + "..."
            elif len(text) > 2 * around:
                shown = text[:around] + "..." + text[-around:]
        elif len(text) > most // 3:
            shown = text[: most // 3] + "..."
        if left <= 0:
            shortened.append(("=", "..."))
            break
        shortened.append((sign, shown))
        left -= len(shown)
    return shortened


def diff_line(part: DiffPart) -> str:
    """Return a part for a terminal, escaped: `[-old-]`, `{+new+}` or the equal text."""
    sign, text = part
    shown = printable(text)
    return {"=": shown, "-": f"[-{shown}-]", "+": f"{{+{shown}+}}"}[sign]


Change = dict[str, Any]
"""A case whose answer differs from the stored one, as in `snapshots.json`."""


def change_of(
    case_id: str, kind: Kind, file: str, name: str, answers: tuple[Entry, Entry]
) -> Change:
    """Return the change from the first of two answers to the second."""
    old, new = answers
    shown = excerpt(old.text, new.text)
    return {
        "case_id": case_id,
        "kind": kind,
        "file": file,
        "name": name,
        "old": {"verdict": old.verdict, "score": old.score, "text": shown.old},
        "new": {"verdict": new.verdict, "score": new.score, "text": shown.new},
        "start": shown.start,
        "cut": shown.cut,
    }


def _ordered(changes: Iterable[Change]) -> list[Change]:
    """Sort flipped verdicts first, then by case id; drop the texts after `MAX_TEXTS` changes."""
    ordered = sorted(changes, key=lambda change: (change["kind"] != "flipped", change["case_id"]))
    for change in ordered[MAX_TEXTS:]:
        for place in (change["old"], change["new"], change):
            for name in ("text", "start", "cut"):
                place.pop(name, None)
    return ordered


def changes_data(
    counts: Mapping[str, int],
    changes: Iterable[Change],
    *,
    updated: bool,
    compared_with: str | None = None,
    files: Mapping[str, Mapping[str, Any]],
    problems: Sequence[str],
) -> dict[str, Any]:
    """Return the content of `snapshots.json`: flipped verdicts first, then by case id.

    Args:
        counts: the number of cases by kind, and of `no_answer`.
        changes: the changes, in any order.
        updated: whether differing answers were recorded.
        compared_with: the model whose answers were compared; None for the run's model.
        files: by name, the number of `stored` answers and of `unused` ones, which no case has
            (None if only some of the cases ran).
        problems: why files could not be used.
    """
    return {
        "schema": SCHEMA,
        "updated": updated,
        "compared_with": compared_with,
        "counts": {name: counts.get(name, 0) for name in (*KINDS, "no_answer")},
        "files": {name: dict(counters) for name, counters in files.items()},
        "problems": list(problems),
        "changes": _ordered(changes),
    }


def merged_changes(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of `snapshots.json` of a run, from its parts' contents.

    No two parts may have a case in common. The number of unused answers is unknown. Raises
    `SettingsError` for malformed content.
    """
    try:
        problems = dict.fromkeys(problem for part in parts for problem in part["problems"])
        stored: dict[str, int] = {}
        for part in parts:
            for name, counters in part["files"].items():
                stored[name] = max(stored.get(name, 0), counters["stored"])
        return {
            "schema": SCHEMA,
            "updated": any(part["updated"] for part in parts),
            "compared_with": next(iter(parts), {}).get("compared_with"),
            "counts": {
                name: sum(part["counts"][name] for part in parts) for name in (*KINDS, "no_answer")
            },
            "files": {name: {"stored": count, "unused": None} for name, count in stored.items()},
            "problems": list(problems),
            "changes": _ordered(change for part in parts for change in part["changes"]),
        }
    except (LookupError, TypeError, AttributeError) as error:
        text = f"a {FILE} is damaged ({type(error).__name__}: {error}); delete it"
        raise SettingsError(text) from None


def write_changes(folder: Path, data: Mapping[str, Any]) -> None:
    """Write `snapshots.json` into a run folder atomically. Raises `OSError`."""
    write_whole(folder / FILE, json.dumps(data, indent=1) + "\n")


def read_changes(folder: Path) -> dict[str, Any] | None:
    """Return the content of a run folder's `snapshots.json`; None if it does not exist.

    Raises `SettingsError` for a damaged file, and for a newer schema.
    """
    path = folder / FILE
    try:
        data = parsed_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read ({error}); delete it") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int):
        raise SettingsError(f"{path} has no schema number; delete it")
    if schema > SCHEMA:
        raise SettingsError(
            f"{path} has schema {schema}, this version reads up to {SCHEMA}; upgrade "
            f"pytest-tablebench"
        )
    return dict(data)
