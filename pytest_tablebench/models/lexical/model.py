"""The built-in model `tablebench/lexical`: it reads the prompt and answers by matching words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pytest_tablebench.metrics.normal_form import shown_number, words_of
from pytest_tablebench.models.base import Reply, Request
from pytest_tablebench.models.lexical._prompt import PromptTable, find_question, find_table
from pytest_tablebench.models.lexical.rules import (
    HIGH,
    LOW,
    MEAN,
    SUM,
    TableQuestion,
    derive,
    heading_words,
    table_question,
)
from pytest_tablebench.tables.table import Table

MARKER = "[Final Answer]:"

MAX_ANSWER = 1000
"""Longest answer in characters; a hostile cell can be as long as the prompt."""


class LexicalModel:
    """Answer table questions by word overlap: free, offline, deterministic, often wrong.

    It reads only `request.text`, as a language model would. So perturbing or re-serializing a
    table changes its answers. Its scores are a floor for comparison with models, and the examples
    use it.
    """

    sees = stored = False

    def complete(self, request: Request) -> Reply:
        """Answer one request; no text makes it fail."""
        prompt = request.text
        prompt_table = find_table(prompt)
        text = _answer(prompt, prompt_table)
        if MARKER in prompt[: prompt_table.start] or MARKER in prompt[prompt_table.end :]:
            text = f"{MARKER} {text}"
        return Reply(
            text=text,
            finish_reason="stop",
            prompt_tokens=len(prompt.split()),
            completion_tokens=len(text.split()),
            cost_usd=0.0,
        )


def _answer(prompt: str, prompt_table: PromptTable) -> str:
    """Return the one-line answer to a prompt's last question about its last table."""
    question = find_question(prompt, prompt_table)
    if question.verdicts is not None:
        is_true = prompt_table.table is not None and supports(question.text, prompt_table.table)
        return question.verdicts[0 if is_true else 1]
    if prompt_table.table is None:
        answer = next_word(question.text, prompt_table.words)
    else:
        derived = derive(question.text, prompt_table.table)
        if derived is None:
            answer = guess(question.text, prompt_table.table)
        elif derived.rule in ("sum", "mean") and derived.number is not None:
            answer = number_text(derived.number)
        else:
            answer = derived.answer
    # JSON can contain lone surrogates, which cannot be written to a file.
    clean = " ".join(answer[:MAX_ANSWER].encode("utf-8", "replace").decode().split())
    return clean or "unknown"


_NEGATIONS = frozenset(["not", "never", "no", "neither", "without"])


def number_text(number: Fraction) -> str:
    """Return a computed number with at most two decimals."""
    return shown_number(round(number, 2)).replace(",", "")


def _telling(question: TableQuestion) -> frozenset[str]:
    return frozenset(question.words) - question.explained - HIGH - LOW - SUM - MEAN


def _best_rows(question: TableQuestion) -> tuple[list[int], set[int]]:
    """Return the rows that share most words with the question, and the columns of these words."""
    telling = _telling(question)
    scores: dict[int, float] = {}
    hits: dict[int, set[int]] = {}
    for row in question.rows:
        cells = [set(words_of(str(cell))) for cell in question.table.rows[row]]
        hits[row] = {column for column, words in enumerate(cells) if words & telling}
        whole = any(words and words <= telling for words in cells)
        scores[row] = len(telling & set().union(*cells)) + 0.5 * whole
    best = max(scores.values(), default=0)
    rows = [row for row, score in scores.items() if score == best > 0]
    return rows, hits[rows[0]] if rows else set()


def _by_heading(question: TableQuestion, without: set[int]) -> list[int]:
    """Return the columns: those that the question names best first, in its order."""
    ranks = {}
    for column, name in enumerate(question.table.header):
        heading = heading_words(name)
        places = [question.words.index(word) for word in heading if word in question.words]
        ranks[column] = (-len(places) / (len(heading) or 1), min(places, default=0))
    columns = [column for column in ranks if column not in without] or list(ranks)
    return sorted(columns, key=lambda column: ranks[column])


def guess(text: str, table: Table) -> str:
    """Return the best guess, which may be empty."""
    question = table_question(text, table)
    if not question.rows:
        return str(table.header[0])
    matched, hits = _best_rows(question)
    columns = _by_heading(question, hits)
    words = set(question.words)
    numeric = [column for column in columns if len(question.numbers(column)) > 1]
    if numeric and words & (HIGH | LOW):
        return _extreme(question, _by_heading(question, set()))
    if numeric and words & (SUM | MEAN):
        values = question.numbers(numeric[0], matched).values()
        total = sum(values, Fraction())
        return number_text(total / (len(values) or 1) if words & MEAN else total)
    counts = question.words[:2] == ("how", "many") or question.words[:1] == ("count",)
    if counts and (len(matched) != 1 or columns[:1] != numeric[:1]):
        return str(len(matched or question.rows))
    return str(table.rows[(matched or question.rows)[0]][columns[0]])


def _extreme(question: TableQuestion, columns: Sequence[int]) -> str:
    """Return the first named column of the row with the extreme of the named numbers after it."""
    by_column = {column: question.numbers(column) for column in columns}
    numeric = [column for column in columns if len(by_column[column]) > 1]
    named = [column for column in columns if question.columns[column]]
    measure = next((column for column in reversed(named) if column in numeric), numeric[0])
    target = next((column for column in named if column != measure), measure)
    if target == measure and not {"which", "who", "where"}.isdisjoint(question.words):
        target = next((column for column in sorted(columns) if column not in numeric), measure)
    numbers = by_column[measure]
    is_high = not HIGH.isdisjoint(question.words)
    best = (max if is_high else min)(numbers, key=lambda row: numbers[row])
    return str(question.table.rows[best][target])


def supports(text: str, table: Table) -> bool:
    """Return whether one row has all words of a statement that the table has; `not` inverts it."""
    question = table_question(text, table)
    headings = {word for name in table.header for word in words_of(str(name))}
    rows = [{word for cell in row for word in words_of(str(cell))} for row in table.rows]
    shared = set().union(*rows) & _telling(question) - headings
    has_other = any(word[0].isdigit() and word not in shared for word in question.words)
    has_row = bool(shared) and not has_other and any(shared <= row for row in rows)
    return has_row != (not _NEGATIONS.isdisjoint(question.words))


def next_word(text: str, words: Sequence[str]) -> str:
    """Return the word after the last word of a table that the question contains."""
    question_words = set(words_of(text))
    places = [n for n, word in enumerate(words) if not question_words.isdisjoint(words_of(word))]
    return words[(places[-1] + 1) % len(words)] if places else "".join(words[:1])
