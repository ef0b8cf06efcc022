"""Find the last question or statement of a prompt, and its conditions on numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pytest_tablebench.models.lexical._find_table import FoundTable, find_label, next_label
from pytest_tablebench.models.lexical._words import number_word, vocabulary, words

MAX_QUESTION = 2000
"""Characters of a question that are read."""

_QUESTION_NAMES = ("Question:", "Query:", "Statement:", "Claim:", "question:", "query:")
_TRUTH = re.compile(r"\s*(?:is it )?(true or false|false or true)\s*[:,?]?\s*", re.IGNORECASE)
_YES_NO = vocabulary("is are was were do does did has have had can could will would")


@dataclass(frozen=True)
class Comparison:
    """A condition like "more than 5": an operator of < <= > >= and the number."""

    operator: str
    number: float
    position: int

    def is_met(self, value: float) -> bool:
        """Return whether a cell's value meets the condition."""
        if self.operator.startswith(">"):
            return value > self.number or (self.operator == ">=" and value == self.number)
        return value < self.number or (self.operator == "<=" and value == self.number)


@dataclass(frozen=True)
class LexicalQuestion:
    """The question's text and words, and the words for true and false if it is a statement.

    `verdicts` is the pair of words for true and false, or None for an open question.
    """

    text: str
    words: tuple[str, ...]
    verdicts: tuple[str, str] | None = None
    word_set: frozenset[str] = field(default_factory=frozenset)

    def has(self, *phrases: str) -> bool:
        """Return whether the question contains any of the phrases, in whole words."""
        spaced = f" {' '.join(self.words)} "
        return any(f" {phrase} " in spaced for phrase in phrases)


def _make(text: str, verdicts: tuple[str, str] | None = None) -> LexicalQuestion:
    text = " ".join(text[:MAX_QUESTION].split())
    split = tuple(words(text))
    return LexicalQuestion(
        text, split, verdicts, frozenset(split) | {number_word(w) for w in split}
    )


def find_question(text: str, table: FoundTable) -> LexicalQuestion:
    """Return the last question outside the table, or the last line that could be one."""
    best, label = -1, ""
    for lower, upper in ((table.end, len(text)), (0, table.start)):
        for name in _QUESTION_NAMES:
            place = find_label(text[lower:upper], name, upper - lower)
            if place >= 0 and place + lower > best:
                best, label = place + lower, name
        if best >= 0:
            break
    if best < 0:
        return _make(_unlabelled(text, table))
    question_text = text[best : min(next_label(text, best), best + MAX_QUESTION)]
    if label in ("Statement:", "Claim:"):
        head = text[:best]
        entail = "entailed" in head and "refuted" in head
        return _make(question_text, ("entailed", "refuted") if entail else ("true", "false"))
    truth = _TRUTH.match(question_text)
    if truth:
        return _make(question_text[truth.end() :], ("true", "false"))
    question = _make(question_text)
    if question.words and question.words[0] in _YES_NO and " or " not in question.text:
        return _make(question_text, ("yes", "no"))
    return question


def _unlabelled(text: str, table: FoundTable) -> str:
    """Return the last line outside the table, preferably one that ends in a question mark."""
    outside = text[table.end :][-MAX_QUESTION:] or text[: table.start][-MAX_QUESTION:]
    if table.layout == "concat" and table.start == 0:
        outside = text[-MAX_QUESTION:]
    lines = [line.strip() for line in outside.splitlines() if line.strip()]
    questions = [line for line in lines if line.endswith("?")]
    return (questions or lines or [""])[-1]


_OPERATORS = (
    (r"(?:more|greater|higher|larger|bigger|better|longer|later|taller) than or equal to", ">="),
    (r"(?:less|lower|fewer|smaller|earlier|shorter) than or equal to", "<="),
    (r"at least|no (?:less|fewer) than|minimum of", ">="),
    (r"at most|no more than|up to|maximum of", "<="),
    (r"(?:more|greater|higher|larger|bigger|better|longer|later|taller) than", ">"),
    (r"(?:less|lower|fewer|smaller|earlier|shorter|worse) than", "<"),
    (r"over|above|exceed(?:s|ing|ed)?|after", ">"),
    (r"under|below|before", "<"),
)
_COMPARISON = re.compile(
    r"\b(?:"
    + "|".join(f"(?P<o{number}>{pattern})" for number, (pattern, _) in enumerate(_OPERATORS))
    + r")\s+(?:the year\s+)?[$€£]?(?P<number>-?\d[\d,]*(?:\.\d+)?|"
    + "two|three|four|five|six|seven|eight|nine|ten)(?P<after>\\s?(?:million|billion)?)\\b",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\b(\d[\d,]*(?:\.\d+)?) (?:\w+ )?or (more|less|fewer|higher|lower|above)\b")


def find_comparisons(question: LexicalQuestion) -> list[Comparison]:
    """Return the conditions on numbers; those like "5 or more" come last."""
    comparisons = []
    for match in _COMPARISON.finditer(question.text):
        operator = next(
            sign for number, (_, sign) in enumerate(_OPERATORS) if match[f"o{number}"] is not None
        )
        digits = number_word(match["number"].lower()).replace(",", "")
        scale = {"million": 1e6, "billion": 1e9}.get(match["after"].strip().lower(), 1)
        comparisons.append(Comparison(operator, float(digits) * scale, match.start()))
    for match in _SUFFIX.finditer(question.text):
        operator = ">=" if match[2] in ("more", "higher", "above") else "<="
        comparisons.append(Comparison(operator, float(match[1].replace(",", "")), match.start()))
    return comparisons
