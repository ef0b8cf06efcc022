"""Lists of answers: a reply is split only where the expected items allow it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from pytest_tablebench.metrics._typed_digits import number_in_words
from pytest_tablebench.metrics._typed_expected import Expected
from pytest_tablebench.metrics._typed_judge import contains
from pytest_tablebench.metrics._typed_replies import AnswerText, before_note
from pytest_tablebench.metrics._typed_same import RIGHT, Decision, unclear, wrong
from pytest_tablebench.metrics._typed_sentences import other_cells
from pytest_tablebench.metrics._typed_text import folded, unwrapped, words
from pytest_tablebench.metrics._typed_words import (
    COUNTS,
    MEASURE_VERBS,
    denies,
    is_open,
    refuses,
    unexplained,
)
from pytest_tablebench.util.entries import parsed_json

_SEPARATOR = re.compile(
    r"\s*(?:[;|,，、；\n/→]|->|&|(?<=\s)\+(?=\s)|以及|[和与及跟]"
    r"|\b(?:and|und|et|y|e|en|i|и|sowie|as well as|ainsi que)\b)\s*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•–]|(?P<number>\d{1,3})[.)])\s+(?=\S)")
_OUTER = {"[": "]", "(": ")", "{": "}"}
_LINK = re.compile(
    r"^(.{0,300}?(?:\b(?:are|is|were|was|include|sind|ist|waren|sont|est|étaient)\b\s?:?|[:：是]))\s*(.+)$",
    re.DOTALL | re.IGNORECASE,
)
_COLON = re.compile(r"^([^:：\n]{1,300}[:：])\s*(.+)$", re.DOTALL)
_TAIL = re.compile(
    r"^(.+?)(\s+(?:are|is|were|was|sind|ist|waren|sont|est|étaient)\b.{0,300})$",
    re.DOTALL | re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:both|beide|the|a|an|der|die|das|le|la|les|l')\s+|^l'", re.IGNORECASE)
_AT_END = re.compile(rf"(?:{_SEPARATOR.pattern})$|\w$", re.IGNORECASE)
_AT_START = re.compile(rf"{_SEPARATOR.pattern}|\w", re.IGNORECASE)
_LONGEST_CORE = 20_000
_LONGEST_SENTENCE = 1_000
_SPARE = 40
"""A reply with this many parts more than expected is not the list."""


@dataclass(frozen=True)
class Items:
    """The expected items of a list, with `ordered` in this order."""

    items: Sequence[Expected]
    ordered: bool = False

    @cached_property
    def _longest(self) -> int:
        """Largest number of parts of one item; a date or a number may have up to five."""
        texts = [text for item in self.items for text in (item.text, *item.spellings)]
        sizes = [len(_SEPARATOR.findall(text)) + 1 for text in texts]
        return max(*sizes, 1, *(5 for item in self.items if item.kind in {"number", "date"}))

    def decide(self, reply: AnswerText) -> tuple[Decision, float]:
        """Decide whether a reply is exactly the expected items, and return F1 over both lists."""
        best, closest = 0.0, []
        size = sum(len(text) for item in self.items for text in (item.text, *item.spellings))
        for text in self._readings(reply):
            # No list of the expected items is longer than this.
            for parts in self._splits(text[: 4 * size + 2_000]):
                right, partial = self._match(parts)
                if right and len(text) <= 4 * size + 2_000:
                    return RIGHT, 1.0
                if partial > best:
                    best, closest = partial, parts
        return self._undecided(reply, closest), best if best < 1 else 0.0

    def _undecided(self, reply: AnswerText, closest: list[str]) -> Decision:
        """Decide about a reply that is not the list: unclear if it names all items and no other."""
        text = folded(reply.answer[:_LONGEST_CORE])
        missing = [item for item in self.items if not contains(item, text)]
        if missing:
            listing = ", ".join(item.text for item in missing[:3])
            return wrong(f"missing: {listing[:120]}")
        cells = {cell for item in self.items for cell in other_cells(item, text)}
        if others := sorted(cells - self._spellings):
            return wrong(f"additional: {', '.join(others[:3])[:120]}")
        if len(closest) > len(self.items) and self._match(closest)[1] > 0:
            extra = [part for part in closest if not any(self._same(part, i) for i in self.items)]
            return (unclear if extra and denies(text) else wrong)(
                f"additional: {', '.join(extra)[:120]}" if extra else "an item occurs twice"
            )
        if self.ordered and len(closest) == len(self.items):
            return wrong("the items in another order")
        if denies(text):
            return wrong("the items are denied or doubted")
        return unclear("the items in words that no rule reads")

    @cached_property
    def _spellings(self) -> frozenset[str]:
        return frozenset().union(*(item.spellings for item in self.items))

    def _is_harmless(self, text: str) -> bool:
        """Return whether the words around a list say nothing else about its items."""
        plain = folded(text)
        if denies(plain):
            return False
        around = self.items[0].around
        rest = unexplained(words(plain), around.words) if around.words else ()
        return all(
            word in MEASURE_VERBS or word in {str(len(self.items)), *_count_words(len(self.items))}
            for word in rest
        )

    def _readings(self, reply: AnswerText) -> Iterator[str]:
        """Yield the parts of a reply that may be the list, without the sentence around it."""
        if reply.items:
            yield "\n".join(reply.items)
        yield reply.text
        if reply.answer != reply.text:
            yield reply.answer
        if reply.is_taken_back or refuses(folded(reply.answer[:_LONGEST_CORE])):
            return
        texts = [reply.answer]
        if not reply.answer.startswith(f"{reply.line}\n") and reply.line != reply.answer:
            texts.append(reply.line)
            yield reply.line
        first, _, rest = reply.answer.partition("\n\n")
        # Text after a blank line is an explanation if it is a sentence without further items.
        is_explained = len(rest.split()) > 2 and not _BULLET.match(rest)
        is_heading = first.rstrip().endswith((":", "："))
        if is_explained and not is_heading and not self._names_another(rest):
            texts.append(first)
            yield first
        value, note = before_note(reply.answer[:_LONGEST_CORE])
        if note and not denies(folded(note)) and not self._names_another(note):
            texts.append(value)
            yield value
        for text in texts:
            yield from self._cores(text[:_LONGEST_CORE])
            if len(text) <= _LONGEST_SENTENCE:
                yield from self._trimmed(folded(text.replace("**", "")))

    def _trimmed(self, text: str) -> Iterator[str]:
        """Yield a sentence from its first to its last item, if its other words add nothing."""
        places = [
            (position, position + len(name))
            for item in self.items
            for name in item.spellings
            if len(name) > 1 and (position := text.find(name)) >= 0
        ]
        if not places:
            return
        start, end = min(first for first, _ in places), max(last for _, last in places)
        before, after = text[:start], text[end:]
        rest = f"{before} {after}"
        if _AT_END.search(before) or _AT_START.match(after) or denies(rest):
            return
        if self._is_harmless(rest) and not self._names_another(rest):
            yield text[start:end]

    def _names_another(self, text: str) -> bool:
        plain = folded(text[:_LONGEST_CORE])
        cells = {cell for item in self.items for cell in other_cells(item, plain)}
        return not cells <= self._spellings

    def _cores(self, text: str) -> Iterator[str]:
        """Yield the list in a sentence: after its verb or colon, or before its verb."""
        for pattern in (_LINK, _COLON):
            link = pattern.match(text)
            if link is not None and self._is_harmless(link[1]):
                yield link[2]
        tail = _TAIL.match(text)
        if tail is not None and self._is_harmless(tail[2]):
            yield tail[1]

    def _splits(self, text: str) -> Iterator[list[str]]:
        lines = [
            line.strip().rstrip(";,，、；").strip() for line in text.split("\n") if line.strip()
        ]
        if text.lstrip().startswith("["):
            try:
                parsed = parsed_json(text)
            except ValueError:
                parsed = None
            if isinstance(parsed, list) and not any(isinstance(i, list | dict) for i in parsed):
                yield [str(item) for item in parsed]
        if len(lines) > 1:
            yield lines
            yield from self._without_bullets(lines)
        for shape in (text, *_inner(text)):
            yield self._runs(shape, longest_first=True)
            yield self._runs(shape, longest_first=False)

    def _without_bullets(self, lines: list[str]) -> Iterator[list[str]]:
        """Yield the lines with bullets, without the bullets; numbers are bullets if they count up.

        The lines before them must say nothing else about the items.
        """
        matches = [_BULLET.match(line) for line in lines]
        marked = [(line, match) for line, match in zip(lines, matches, strict=True) if match]
        if not marked:
            if lines and lines[0].endswith((":", "：")) and self._is_harmless(lines[0]):
                yield lines[1:]
            return
        first = next(index for index, match in enumerate(matches) if match)
        if not all(map(self._is_harmless, lines[:first])):
            return
        numbers = [match["number"] for _, match in marked]
        counts_up = numbers == [str(index) for index in range(1, len(numbers) + 1)]
        if counts_up or not any(numbers):
            yield [line[match.end() :].rstrip(";,") for line, match in marked]

    def _runs(self, text: str, *, longest_first: bool) -> list[str]:
        """Split a text at separators, and rejoin parts that form one item together."""
        text = text.strip().rstrip(";,，、；")
        cuts = [(match.start(), match.end()) for match in _SEPARATOR.finditer(text)]
        starts = [0, *(end for _, end in cuts)]
        ends = [*(start for start, _ in cuts), len(text)]
        limit = self._longest * len(self.items) + _SPARE
        if len(starts) > limit:
            return [text[s:e] for s, e in zip(starts, ends, strict=True) if text[s:e].strip()]
        items, index, count = [], 0, len(starts)
        while index < count:
            lengths = range(1, min(self._longest, count - index) + 1)
            for length in reversed(lengths) if longest_first else lengths:
                run = text[starts[index] : ends[index + length - 1]]
                if run.strip() and self._is_item(run):
                    items.append(run)
                    index += length
                    break
            else:
                if (part := text[starts[index] : ends[index]]).strip():
                    items.append(part)
                index += 1
        return items

    def _is_item(self, text: str) -> bool:
        if folded(text) in self._spellings:
            return True
        return any(self._same(text, item) for item in self.items)

    def _same(self, text: str, item: Expected) -> bool:
        text = text.strip()
        if len(text) > 2 * max(len(item.text), 60) + 40:
            return False
        if item.equals_text(text):
            return True
        shorter = _ARTICLE.sub("", text)
        if shorter != text and item.equals_text(shorter):
            return True
        value, note = before_note(text)
        # The price in `tea (2.50)` is no other item.
        is_note = item.kind == "text" and note and text.endswith(")")
        return bool(is_note) and not is_open(folded(note)) and item.equals_text(value)

    def _match(self, parts: list[str]) -> tuple[bool, float]:
        if not parts or not self.items:
            return False, 0.0
        considered = parts[: len(self.items) + _SPARE]
        same = [[self._same(part, item) for item in self.items] for part in considered]
        hits = _most_pairs(same)
        right = hits == len(self.items) == len(parts)
        if self.ordered:
            right = right and all(row[index] for index, row in enumerate(same))
        return right, 2 * hits / (len(parts) + len(self.items))


def _most_pairs(same: list[list[bool]]) -> int:
    """Return how many parts and items can be paired at most, each part and item once."""
    free = set(range(len(same[0])))
    hits = 0
    for row in same:
        match = next((match for match in sorted(free) if row[match]), None)
        if match is not None:
            free.discard(match)
            hits += 1
    if hits == min(sum(map(any, same)), sum(map(any, zip(*same, strict=True)))):
        return hits
    # With a tolerance a part may equal several items.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(same, maximize=True)
    return sum(same[row][column] for row, column in zip(rows, columns, strict=True))


def _inner(text: str) -> Iterator[str]:
    text = text.strip()
    if len(text) > 2 and _OUTER.get(text[0]) == text[-1]:
        yield text[1:-1]
    for inner in unwrapped(text):
        if inner != text:
            yield inner


@lru_cache(maxsize=64)
def _count_words(count: int) -> frozenset[str]:
    """Return the words for a small number: `two`, `zwei`, `deux`."""
    return frozenset(word for word in COUNTS if _number(word) == count)


def _number(word: str) -> Fraction | None:
    number = number_in_words(word)
    return number[0] if number else None
