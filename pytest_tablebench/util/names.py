"""Names: suggestions for unknown ones, slugs, lists, and safe display."""

from __future__ import annotations

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence

from pytest_tablebench.util.programs import program

MANY = 20
"""The number of datasets or scopes up to which a message names all of them."""


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> str:
    """Return the message for an unknown name, with the nearest known names first.

    For many datasets or scopes it has only the nearest, and the command that lists all.
    """
    choices = list(valid)
    if kind in ("dataset", "scope") and len(choices) > MANY:
        names = f"{_nearest(name, choices)}{program('tablebench')} list shows all {len(choices)}"
    else:
        names = known_names(name, choices)
    return f"unknown {kind} {printable(name)!r}; {names}"


def known_names(name: str, valid: Iterable[str]) -> str:
    """Return the known names, with those nearest to `name` first."""
    choices = list(valid)
    return f"{_nearest(name, choices)}known: {', '.join(choices)}"


def _nearest(name: str, choices: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(repr(choice) for choice in near)}? " if near else ""


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return `1 case` or `2,000 cases`; `plural` if it is not the noun with an `s`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


def tied(names: Sequence[str], noun: str) -> str:
    """Return `csv`, `csv and html equal`, or for more than three `six serializers equal`."""
    texts = [printable(name, 60) for name in names]
    if len(texts) == 1:
        return texts[0]
    if len(texts) <= 3:
        return f"{', '.join(texts[:-1])} and {texts[-1]} equal"
    number = NUMBER_WORDS[len(texts)] if len(texts) < len(NUMBER_WORDS) else len(texts)
    return f"{number} {noun}s equal"


def out_of(part: int, whole: int | None, noun: str) -> str:
    """Return `1 of 12 cases`, or `1 of ? cases` if the total is unknown."""
    return f"{part:,} of {f'? {noun}s' if whole is None else counted(whole, noun)}"


def are(count: int) -> str:
    """Return `is` for one, `are` for any other number."""
    return "is" if count == 1 else "are"


def split_names(text: str) -> list[str]:
    """Split `a,b[x=1,y=[2,3]],c` at commas outside brackets; drop blanks and empty parts."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def slug(text: str, limit: int = 40, *, digest: bool = True) -> str:
    """Return a short ASCII form for ids and file names: letters, digits, `_`, `.`, `-`.

    A text that is changed or cut gets 8 hexadecimal digits of its SHA-256, so different texts have
    different slugs, and the same text always has the same one. Without `digest` the form is only
    for reading.
    """
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")
    if plain == text and 0 < len(text) <= limit:
        return text
    if not digest:
        return plain[:limit].rstrip("-.") or "unnamed"
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[: limit - 9].rstrip('-.')}-{mark}".lstrip("-")


_COMMANDS = (
    # The runners of GitHub and Azure find these anywhere in a line, TeamCity's at its start.
    (re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE), r"#\\x23"),
    # GitHub's runner finds this at the start of a line, after blanks.
    (re.compile(r"^(\s*)::"), r"\1\\x3a:"),
)
"""Commands that a CI runner finds in the output of a job, and their replacements."""


def printable(text: str, limit: int | None = None) -> str:
    """Return text that is safe on a terminal, on one line, and in the log of a CI job.

    Control and format characters (escape codes, line ends, right-to-left marks, lone surrogates)
    become visible escapes. Longer text is cut with `…`. In a command to a CI runner (`::error::`,
    `##[group]`) one character becomes an escape.
    """
    if limit is not None:
        text = shortened(text, limit)
    if not (text.isascii() and text.isprintable()):
        text = _escaped(text)
    for command, broken in _COMMANDS:
        text = command.sub(broken, text)
    return text


def shortened(text: str, limit: int) -> str:
    """Return a text of a model, dataset or server in at most `limit` characters, ending in `…`."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _escaped(text: str) -> str:
    return "".join(
        character
        if character == " " or unicodedata.category(character)[0] not in "CZ"
        else " "
        if character == "\u00a0"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def escaped(text: str) -> str:
    """Return the text with all control characters as escapes, except line ends and tabs.

    Commands to a CI runner are broken up as in `printable`.
    """
    if not _SUSPECT.search(text):
        return text
    parts = re.split(r"([\n\t])", text)
    return "".join(part if part in {"\n", "\t"} else printable(part) for part in parts)


_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]|##|^\s*::", re.MULTILINE)
