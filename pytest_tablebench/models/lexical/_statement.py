"""Decide whether a table supports a statement, by shared words, counts and extremes."""

from __future__ import annotations

from pytest_tablebench.models.lexical._answer import EXTREMES, pick_column
from pytest_tablebench.models.lexical._find_table import FoundTable
from pytest_tablebench.models.lexical._match import Match, match
from pytest_tablebench.models.lexical._question import LexicalQuestion
from pytest_tablebench.models.lexical._words import STOP_WORDS, number_word, words

_NEGATIONS = ("not", "never", "no", "neither", "didn", "isn", "wasn", "without", "fail")


def bears_out(statement: LexicalQuestion, table: FoundTable) -> bool:
    """Return whether the table supports a statement; a negation inverts the verdict."""
    laid = match(statement, table.header, table.rows)
    for check in (_check_comparison, _check_extreme, _check_count):
        verdict = check(laid)
        if verdict is not None:
            break
    else:
        verdict = _one_row_has_all(laid)
    return verdict != statement.has(*_NEGATIONS)


def _check_comparison(laid: Match) -> bool | None:
    """Check "X is more than 5" on the row of X, and "3 rows have more than 5" on the count."""
    if not laid.conditions:
        return None
    column = pick_column(laid, ordered=True, avoid=laid.hit_columns)
    if column is None:
        return None
    fitting = laid.rows_that_meet(column)
    count = _leading_count(laid)
    if count is not None:
        return len(fitting) == count
    best = laid.best_rows
    if len(best) == 1 and max(laid.row_scores) >= 1:
        return best[0] in fitting
    return None


def _check_extreme(laid: Match) -> bool | None:
    """Check "X has the highest Y": the best matching row must be the extreme one."""
    extremes = [EXTREMES[word] for word in laid.question.words if word in EXTREMES]
    best = laid.best_rows
    if not extremes or not best or max(laid.row_scores) < 1:
        return None
    column = pick_column(laid, ordered=True)
    if column is None:
        return None
    keys = laid.keys(column)
    if not keys:
        return None
    edge = (max if extremes[0].largest else min)(key for _, key in keys)
    rows = {row for row, key in keys if key == edge}
    compared = [row for row, score in enumerate(laid.row_scores) if score >= 1.3]
    if laid.question.has("than") and len(compared) == 2:
        value = dict(keys)
        if all(row in value for row in compared):
            first, second = _in_order(laid, compared)
            return (value[first] > value[second]) == extremes[0].largest
    return bool(rows & set(best))


def _in_order(laid: Match, rows: list[int]) -> tuple[int, int]:
    """Return two rows in the order in which the statement names them."""

    def place(row: int) -> int:
        held = {word for column in laid.hits[row] for word in words(laid.cell(row, column))}
        split = laid.question.words
        other = rows[1] if row == rows[0] else rows[0]
        shared = {w for column in laid.hits[other] for w in words(laid.cell(other, column))}
        places = [p for p, word in enumerate(split) if word in held - shared]
        return places[0] if places else len(split)

    first, second = sorted(rows, key=place)
    return first, second


def _leading_count(laid: Match) -> int | None:
    """Return the number that a statement claims: "there are 3 …", "3 players …", "… 3 times"."""
    split = [number_word(word) for word in laid.question.words[:5]]
    for position, word in enumerate(split):
        if word.isdecimal() and len(word) <= 3:
            before = split[position - 1] if position else "there"
            return int(word) if before in ("there", "are", "is", "be", "only", "a", "has") else None
    return None


def _check_count(laid: Match) -> bool | None:
    count = _leading_count(laid)
    if count is None:
        return None
    best = laid.best_rows
    fitting = len(best) if best and max(laid.row_scores) >= 1 else len(laid.rows)
    return fitting == count


def _one_row_has_all(laid: Match) -> bool:
    """Return whether one row contains each word of the statement that the table contains."""
    names = {word for name in laid.header for word in words(name)}
    shared_by_row = [
        {word for cell in row for word in words(cell)} & laid.question.word_set for row in laid.rows
    ]
    shared: set[str] = set()
    shared.update(*shared_by_row)
    telling = shared - STOP_WORDS - names
    has_other_number = any(
        word[0].isdigit() and word not in names | shared for word in laid.question.words
    )
    if has_other_number or not telling:
        return False
    return any(telling <= row for row in shared_by_row)
