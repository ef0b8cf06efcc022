"""Answers by their kind: numbers, dates, texts, lists, yes or no, free text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._markers import strip_answer_marker
from pytest_tablebench.metrics._rouge import rouge
from pytest_tablebench.metrics._typed_dates import read_moment
from pytest_tablebench.metrics._typed_numbers import read_quantity, same_quantity
from pytest_tablebench.metrics._unicode import normalized
from pytest_tablebench.util.names import unknown_name

KINDS = ("number", "date", "text", "list", "ordered_list", "yes_no", "free_text")

_VERDICTS = {
    **dict.fromkeys(("yes", "true", "是", "是的", "对", "正确"), True),
    **dict.fromkeys(("no", "false", "否", "不是", "不对", "错", "错误"), False),
}
_VERDICT = re.compile(rf"({'|'.join(_VERDICTS)})(?:[\s.,;:!)—–。、-]*$|[.,;:!—–。].*)", re.DOTALL)
_SYMBOLS = frozenset({"", "%", "$", "€", "£", "¥", "₹"})
_FREE_TEXT = 12
"""Words from which on an answer is free text."""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_COMMA = re.compile(r",\s+|,(?!\d)")


def answer_kind(
    answers: Sequence[str], *, decimal: str = ".", day_first: bool | None = None, unit: str = ""
) -> str:
    """Return the kind of an answer by the way it is written.

    What begins with a needless zero (`007`) is a text: it names something.
    """
    if len(answers) > 1:
        return "list"
    text = answers[0].strip()
    if text.casefold() in _VERDICTS:
        return "yes_no"
    quantity = read_quantity(text, decimal)
    named = re.match(r"\W*0\d", text) is not None
    if quantity is not None and not named and (quantity.unit in _SYMBOLS or unit):
        return "number"
    if read_moment(text, day_first) is not None:
        return "date"
    return "free_text" if len(text.split()) >= _FREE_TEXT else "text"


def typed_answer(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",  # noqa: ARG001 - there is no reference implementation
    kind: str | None = None,
    tolerance: str = "",
    unit: str = "",
    decimal: str = ".",
    day_first: bool | None = None,
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    **_: Any,
) -> Score:
    """1 when the reply says what is expected, 0 when not; free text by ROUGE-L.

    docs/own-tables.md says for each kind what is right, with examples. The part that counts is
    called by the kind, so that records show which one was chosen; of lists there is also
    `partial`, the share of the items that were found, F1 over both lists.

    Arguments:
        prediction: the reply.
        references: the expected answer, or a list's items.
        compat: without effect.
        kind: one of `KINDS`; None: what the expected answer looks like.
        tolerance: of numbers: `0.5`, or `2%` of the expected one.
        unit: of the expected number, where its text has none.
        decimal: the column's decimal sign, "." or ",".
        day_first: whether `5/3/2024` is in March; None: the column does not say.
        aliases: other texts that stand for a reference, by that reference.

    Raises `SettingsError` for an unknown kind.
    """
    wanted = [str(reference) for reference in references]
    judge = _Judge(tolerance, unit, decimal, day_first, aliases)
    chosen = kind or answer_kind(wanted, decimal=decimal, day_first=day_first, unit=unit)
    if chosen not in KINDS:
        raise SettingsError(unknown_name("kind of answer", chosen, KINDS))
    reply = str(prediction).strip()
    if chosen == "free_text":
        value = rouge(reply, wanted, variants=["rougeL"]).value
    elif chosen in {"list", "ordered_list"}:
        value, partial = judge.items(reply, wanted, ordered=chosen == "ordered_list")
        return Score(value, {chosen: value, "partial": partial}, chosen)
    else:
        line = strip_answer_marker(reply.partition("\n")[0].strip())
        # An answer may itself look like what models wrap answers in.
        value = float(any(judge.same(t, wanted[0], chosen) for t in (line, reply)))
    return Score(value, {chosen: value}, chosen)


def _plain(text: str) -> str:
    """Return a text as it is compared: without case, wrapping quotes or a final full stop."""
    words = " ".join(normalized("NFKC", text).casefold().split())
    bare = words.strip("\"'“”‘’«»`* ").rstrip("。").removesuffix(".").strip("\"'“”‘’«»`* ")
    return bare or words


@dataclass(frozen=True)
class _Judge:
    """What is known of the expected answers beside their texts."""

    tolerance: str
    unit: str
    decimal: str
    day_first: bool | None
    aliases: Mapping[str, Sequence[str]]

    def kind(self, text: str) -> str:
        """Return the kind of one answer."""
        return answer_kind([text], decimal=self.decimal, day_first=self.day_first, unit=self.unit)

    def same(self, given: str, wanted: str, kind: str) -> bool:
        """Whether a reply is the expected answer of this kind."""
        if _plain(given) in map(_plain, [wanted, *self.aliases.get(wanted, ())]):
            return True
        if kind == "number":
            number = read_quantity(_plain(given), self.decimal)
            other = read_quantity(wanted, self.decimal)
            if number is None or other is None:
                return False
            return same_quantity(number, other, unit=self.unit, tolerance=self.tolerance)
        if kind == "date":
            moment = read_moment(_plain(given), self.day_first)
            return moment is not None and moment == read_moment(wanted, self.day_first)
        if kind == "yes_no":
            verdict = _VERDICT.fullmatch(_plain(given))
            return verdict is not None and _VERDICTS[verdict[1]] == _VERDICTS.get(_plain(wanted))
        return False

    def items(self, reply: str, wanted: Sequence[str], *, ordered: bool) -> tuple[float, float]:
        """Return whether a reply holds exactly the expected items, and how near it comes."""
        given = self._grouped(_pieces(reply), wanted)
        kinds = {text: self.kind(text) for text in wanted}
        same = [[self.same(item, text, kinds[text]) for text in wanted] for item in given]
        remaining = list(range(len(wanted)))
        for row in same:
            hit = next((place for place in remaining if row[place]), None)
            if hit is not None:
                remaining.remove(hit)
        hits = len(wanted) - len(remaining)
        partial = 2 * hits / (len(given) + len(wanted)) if hits else 0.0
        right = not remaining and len(given) == len(wanted)
        if ordered:
            right = right and all(row[place] for place, row in enumerate(same))
        return float(right), partial

    def _grouped(self, pieces: list[str], wanted: Sequence[str]) -> list[str]:
        """Put together again what was one item with commas or an `and` in it."""
        known = [_plain(name) for text in wanted for name in (text, *self.aliases.get(text, ()))]
        longest = max((name.count(",") + name.count(" and ") + 1 for name in known), default=1)
        found: list[str] = []
        place = 0
        while place < len(pieces):
            for length in range(min(longest, len(pieces) - place), 1, -1):
                joined = _plain(", ".join(pieces[place : place + length]))
                if joined in known:
                    found.append(joined)
                    place += length
                    break
            else:
                found += _at_and(pieces[place], known, is_last=place == len(pieces) - 1)
                place += 1
        return found


def _at_and(piece: str, known: Sequence[str], *, is_last: bool) -> list[str]:
    """Split the last piece at its `and`, unless an item holds the word itself."""
    if not is_last or _plain(piece) in known:
        return [piece]
    parts = re.split(r"(?:^|\s)and\s+", piece, maxsplit=1)
    return [part for part in parts if part.strip()]


def _pieces(reply: str) -> list[str]:
    """Split a reply into items: at lines, else at semicolons or bars, else at commas."""
    text = strip_answer_marker(reply).strip()
    lines = [_BULLET.sub("", line).strip() for line in text.split("\n") if line.strip()]
    if len(lines) > 1:
        return lines
    line = lines[0] if lines else ""
    if line[:1] + line[-1:] in {"[]", "()", "{}"}:
        line = line[1:-1]
    for sign in (";", "|"):
        if sign in line:
            return [part.strip() for part in line.split(sign) if part.strip()]
    return [part.strip() for part in _COMMA.split(line) if part.strip()]
