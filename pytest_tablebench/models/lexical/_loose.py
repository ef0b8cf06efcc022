"""Answer from a table that is only a sequence of words, without rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tablebench.models.lexical._question import LexicalQuestion
from pytest_tablebench.models.lexical._words import (
    STOP_WORDS,
    format_number,
    parse_number,
    words,
)

_WINDOW = 12


def _shared_words(token: str, question: LexicalQuestion) -> list[str]:
    """Return the question's words, without stop words, that a token of the table contains."""
    return [w for w in words(token) if w in question.word_set and w not in STOP_WORDS]


def _best_place(tokens: Sequence[str], question: LexicalQuestion) -> tuple[int, int]:
    """Return the end of the window with the most words of the question, and their number."""
    marks = [_shared_words(token, question) for token in tokens]
    inside: dict[str, int] = {}
    best, best_count = -1, 0
    for position, shared in enumerate(marks):
        for word in shared:
            inside[word] = inside.get(word, 0) + 1
        if position >= _WINDOW:
            for word in marks[position - _WINDOW]:
                inside[word] -= 1
                if not inside[word]:
                    del inside[word]
        if shared and len(inside) >= best_count:
            best, best_count = position, len(inside)
    return best, best_count


def answer_loosely(question: LexicalQuestion, tokens: Sequence[str]) -> str:
    """Return the words after the place with the most words of the question."""
    if not tokens:
        return ""
    numbers = [(value, token) for token in tokens if (value := parse_number(token)) is not None]
    if numbers and question.has("highest", "largest", "most", "greatest", "maximum"):
        return max(numbers)[1]
    if numbers and question.has("lowest", "smallest", "least", "fewest", "minimum"):
        return min(numbers)[1]
    if numbers and question.has("total", "sum"):
        return format_number(sum(value for value, _ in numbers))
    place, _ = _best_place(tokens, question)
    if question.has("how many", "number of"):
        after = [
            token for token in tokens[place + 1 : place + 6] if parse_number(token) is not None
        ]
        return after[0] if place >= 0 and after else "1"
    if place < 0:
        return tokens[0]
    following = list(tokens[place + 1 : place + 4]) or list(tokens[max(0, place - 1) : place + 1])
    answer = following[:1]
    for token in following[1:]:
        if not (answer[-1][:1].isupper() and token[:1].isupper()):
            break
        answer.append(token)
    return " ".join(answer)


def bears_out_loosely(statement: LexicalQuestion, tokens: Sequence[str]) -> bool:
    """Return whether most of the statement's words in the table are close together."""
    shared = {word for token in tokens for word in _shared_words(token, statement)}
    _, together = _best_place(tokens, statement)
    return bool(shared) and together >= 0.75 * len(shared)
