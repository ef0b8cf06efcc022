"""Answers kept as text, what changed between two of them, and `snapshots.json`.

A kept answer holds its verdict and score beside its text, because a changed answer is one of
three things: the same text, another text with the same verdict, or a flipped verdict.
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
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import printable

SCHEMA = 1
"""Version of `snapshots.json`."""

FILE = "snapshots.json"

Kind = Literal["same", "reworded", "flipped", "new"]
"""same: text and verdict; reworded: other text, same verdict; flipped: other verdict, whatever
the text; new: nothing was stored."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Verdict = Literal["right", "wrong", "scored"]

MAX_TEXTS = 2000
"""Changes whose texts `snapshots.json` holds; those behind them stand there without."""

_HIDDEN = re.compile(
    # Control characters but line ends and tabs, line separators, lone surrogates, and marks that
    # turn or hide text. None of these would be seen in a review, and some cannot be written.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
_ESCAPABLE = re.compile(r"\\|" + _HIDDEN.pattern)
_ESCAPE = re.compile(r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4}))")
_HEAD = re.compile(r"(right|wrong|scored) ([0-9.e+-]{1,30}|none)( escaped)?")
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer as it is kept. `score` is from 0 to 1."""

    verdict: Verdict
    score: float | None
    text: str

    def encode(self) -> str:
        """Return the lines that are stored: verdict and score, then the text behind bars.

        The bar keeps text from passing for anything else, and empty lines from being lost. A
        text with characters that cannot be seen or stored is written with escapes, which the
        first line says; every other one stands there as it is.
        """
        score = "none" if self.score is None else repr(float(self.score))
        head, text = f"{self.verdict} {score}", self.text
        if _HIDDEN.search(text):
            head, text = f"{head} escaped", _ESCAPABLE.sub(_escape, text)
        return head + "\n|" + text.replace("\n", "\n|")

    @classmethod
    def decode(cls, data: str) -> Entry:
        """Read what `encode` wrote. Raises `ValueError` for anything else."""
        first, _, rest = data.partition("\n")
        head = _HEAD.fullmatch(first)
        if head is None or not rest.startswith("|"):
            raise ValueError("no stored answer")
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
    """Return what became of an answer; a changed score alone is no change."""
    if old is None:
        return "new"
    if old.verdict != new.verdict:
        return "flipped"
    return "same" if old.text == new.text else "reworded"


# What differs, in words.


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Two texts around the first place where they differ; `start` is where both begin."""

    start: int
    old: str
    new: str
    cut: bool
    """Whether anything stands before or behind the excerpt."""


def excerpt(old: str, new: str, limit: int = 2000, before: int = 60) -> Excerpt:
    """Return at most `limit` characters of each text, from `before` the first difference on."""
    start = 0
    if max(len(old), len(new)) > limit:
        start = max(0, _same_length(old, new) - before)
    end = start + limit
    cut = start > 0 or len(old) > end or len(new) > end
    return Excerpt(start, old[start:end], new[start:end], cut)


def _same_length(old: str, new: str) -> int:
    """Return the length of what both begin with; by halves, as texts may be millions long."""
    shorter = min(len(old), len(new))
    return bisect_left(range(shorter), True, key=lambda at: old[: at + 1] != new[: at + 1])


DiffPart = tuple[Literal["=", "-", "+"], str]
"""What both texts have, what only the old one has, what only the new one has."""


def word_diff(old: str, new: str, most: int | None = 300) -> list[DiffPart]:
    """Return the texts as parts that are the same, gone or new, word by word.

    Of each text the first `most` words, signs and gaps are compared (None: all): the time is
    bounded, and what stands behind them is left out. All `=` and `-` parts joined are the old
    text so far, all `=` and `+` parts the new one.
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
    """Return the parts for one screen: long ones cut with `...`, the whole below `most` letters.

    Of what is the same `around` characters next to a difference stay.
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
    """Return a part for a terminal: `[-gone-]`, `{+new+}`; nothing in it takes effect there."""
    sign, text = part
    shown = printable(text)
    return {"=": shown, "-": f"[-{shown}-]", "+": f"{{+{shown}+}}"}[sign]


# The file in the run folder.


Change = dict[str, Any]
"""A case whose answer is not the stored one, as `snapshots.json` has it."""


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
    """Return flipped verdicts first, then by case id; those behind `MAX_TEXTS` without texts."""
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

    Arguments:
        counts: cases by kind, and `no_answer`.
        changes: those that are not the same, in any order.
        updated: whether what differed was recorded.
        compared_with: the model whose answers were compared; None for the run's own.
        files: by name, how many answers were stored (`stored`) and are no longer asked for
            (`unused`: None where only a part of the cases ran, which cannot tell).
        problems: files that could not be used, and why.
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
    """Return the content of `snapshots.json` of a run, from those of its parts.

    No two parts may have a case in common. What is unused, no part can tell. Raises
    `SettingsError` for content that `changes_data` did not write.
    """
    try:
        changes = _ordered(change for part in parts for change in part["changes"])
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
            "problems": list(
                dict.fromkeys(problem for part in parts for problem in part["problems"])
            ),
            "changes": changes,
        }
    except (LookupError, TypeError, AttributeError) as error:
        raise SettingsError(
            f"a {FILE} is damaged ({type(error).__name__}: {error}); delete it"
        ) from None


def write_changes(folder: Path, data: Mapping[str, Any]) -> None:
    """Write `snapshots.json` into a run folder, whole or not at all. Raises `OSError`."""
    write_whole(folder / FILE, json.dumps(data, indent=1) + "\n")


def read_changes(folder: Path) -> dict[str, Any] | None:
    """Return the content of a run folder's `snapshots.json`, None where there is none.

    Raises `SettingsError` for a damaged file and for one that a later version wrote.
    """
    path = folder / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read ({error}); delete it") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int):
        raise SettingsError(f"{path}: has no schema number; delete it")
    if schema > SCHEMA:
        raise SettingsError(
            f"{path} has schema {schema}, this version reads up to {SCHEMA}; upgrade "
            f"pytest-tablebench"
        )
    return dict(data)
