"""Answer a question from a table with a short list of fixed rules; the first that applies wins."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_tablebench.models.lexical._find_table import FoundTable
from pytest_tablebench.models.lexical._match import Match, match
from pytest_tablebench.models.lexical._question import Comparison, LexicalQuestion
from pytest_tablebench.models.lexical._words import (
    format_number,
    join,
    number_word,
    vocabulary,
    words,
)


@dataclass(frozen=True)
class _Extreme:
    """A superlative: its direction, and header words that it suggests."""

    largest: bool
    hints: frozenset[str]


def _extremes() -> dict[str, _Extreme]:
    table: dict[str, _Extreme] = {}
    for largest, line, hints in (
        (True, "highest most largest greatest maximum max top biggest best", ""),
        (True, "higher larger greater more", ""),
        (False, "lowest least smallest minimum min fewest worst lower smaller fewer less", ""),
        (True, "longest longer", "length time duration distance"),
        (False, "shortest shorter", "length height time duration distance"),
        (True, "tallest taller", "height"),
        (True, "heaviest heavier", "weight mass"),
        (False, "lightest lighter", "weight mass"),
        (True, "oldest older", "age"),
        (False, "youngest younger", "age"),
        (True, "latest later newest recent", "year date season opened founded"),
        (False, "earliest earlier", "year date season opened founded"),
        (False, "fastest faster quickest", "time"),
        (True, "slowest slower", "time"),
        (False, "cheapest cheaper", "price cost"),
    ):
        table |= dict.fromkeys(line.split(), _Extreme(largest, vocabulary(hints)))
    return table


EXTREMES = _extremes()


def answer_question(question: LexicalQuestion, table: FoundTable) -> str:
    """Return the best guess, which may be empty if the table has no filled cell."""
    laid = match(question, table.header, table.rows)
    if not laid.rows:
        return join(table.header, limit=1)
    for rule in (_neighbour, _aggregate, _conditioned, _extreme, _ends, _count):
        answer = rule(laid)
        if answer:
            return answer
    return _look_up(laid)


def pick_column(
    laid: Match,
    *,
    ordered: bool = False,
    avoid: frozenset[int] = frozenset(),
    scores: Sequence[float] | None = None,
) -> int | None:
    """Return the column with the best score; with `ordered`, one with numbers or dates.

    The default score is how well the column's name matches the question.
    """
    scores = laid.header_scores if scores is None else scores
    for column in sorted(range(len(laid.header)), key=lambda column: -scores[column]):
        if column in avoid or scores[column] <= 0:
            continue
        if not ordered or laid.is_ordered(column):
            return column
    return None


def label_column(laid: Match, avoid: frozenset[int] = frozenset()) -> int:
    """Return the column that names things: the asked one, or the first without numbers."""
    column = pick_column(laid, avoid=avoid)
    if column is not None:
        return column
    width = len(laid.header)
    for column in range(width):
        if column not in avoid and not laid.is_ordered(column):
            return column
    return next((column for column in range(width) if column not in avoid), 0)


def _is_count(question: LexicalQuestion) -> bool:
    return question.has("how many", "number of", "amount of", "count of", "count")


def _neighbour(laid: Match) -> str:
    """Answer which X comes right after or before Y with the next or previous row."""
    question, best = laid.question, laid.best_rows
    if len(best) != 1 or _is_count(question):
        return ""
    if question.has("after", "next", "following", "below"):
        other = best[0] + 1
    elif question.has("before", "previou", "previous", "prior to", "above", "preceded"):
        other = best[0] - 1
    else:
        return ""
    if not 0 <= other < len(laid.rows):
        return ""
    hit = min(laid.hit_columns, default=0)
    column = pick_column(laid)
    return laid.cell(other, hit if column is None else column)


def _aggregate(laid: Match) -> str:
    """Return the sum, mean or difference of a column over the matching rows, or over all rows."""
    question = laid.question
    mean = question.has("average", "mean", "on average")
    total = question.has("total", "sum", "combined", "altogether", "in all", "overall sum")
    difference = question.has("difference", "how many more", "how much more", "how many fewer")
    if laid.conditions or not (mean or total or difference):
        return ""
    column = pick_column(laid, ordered=True, avoid=laid.hit_columns)
    if column is None:
        column = pick_column(laid, ordered=True)
    if column is None:
        return ""
    keys = dict(laid.keys(column))
    if difference:
        strong = sorted(range(len(laid.rows)), key=lambda row: -laid.row_scores[row])[:2]
        values = [keys[row] for row in strong if row in keys and laid.row_scores[row] > 0]
        return format_number(abs(values[0] - values[1])) if len(values) == 2 else ""
    fitting = [row for row in laid.best_rows if row in keys and laid.row_scores[row] >= 1]
    if total and len(fitting) == 1 and "total" in words(laid.header[column]):
        return laid.cell(fitting[0], column)
    values = [keys[row] for row in fitting or keys if fitting or not _is_total(laid, row)]
    if not values:
        return ""
    return format_number(sum(values) / (len(values) if mean else 1))


def _is_total(laid: Match, row: int) -> bool:
    return laid.cell(row, 0).lower().startswith(("total", "sum", "average", "overall"))


def _conditioned(laid: Match) -> str:
    """Answer how many or which rows meet a condition such as "more than 5"."""
    if not laid.conditions:
        return ""
    column = _condition_column(laid, laid.conditions[0])
    if column is None:
        return ""
    rows = laid.rows_that_meet(column)
    best = set(laid.best_rows)
    if best and laid.row_scores[min(best)] >= 1.5:
        rows = [row for row in rows if row in best]
    rows = [row for row in rows if not _is_total(laid, row)]
    if _is_count(laid.question):
        return str(len(rows))
    target = label_column(laid, frozenset({column}) | laid.hit_columns)
    return join(laid.cell(row, target) for row in rows)


def _condition_column(laid: Match, condition: Comparison) -> int | None:
    """Return the ordered column named next to the condition, or else anywhere."""
    near = laid.question.text[max(0, condition.position - 30) : condition.position + 60]
    close = frozenset(words(near))
    scores = []
    for name, fits in zip(laid.header, laid.header_scores, strict=True):
        parts = words(name)
        score = sum(part in close for part in parts) / (len(parts) or 1) + 0.1 * fits
        if condition.number >= 1800 and {"year", "date"} & set(parts):
            score += 0.5
        scores.append(score)
    best = pick_column(laid, ordered=True, scores=scores)
    if best is not None:
        return best
    ordered = [column for column in range(len(laid.header)) if laid.is_ordered(column)]
    return ordered[-1] if ordered else None


def _extreme(laid: Match) -> str:
    """Answer which row, or which value, is the highest or lowest."""
    question = laid.question
    extremes = [(p, EXTREMES[w]) for p, w in enumerate(question.words) if w in EXTREMES]
    if not extremes or question.has("how many more"):
        return ""
    position, extreme = extremes[0]
    column = _extreme_column(laid, position, extreme)
    if column is None:
        return _most_frequent(laid) if extreme.largest else ""
    keys = [(row, key) for row, key in laid.keys(column) if not _is_total(laid, row)]
    choice = _alternatives(laid)
    if choice:
        keys = [(row, key) for row, key in keys if row in choice]
    elif laid.best_rows and max(laid.row_scores) >= 1.5:
        best = set(laid.best_rows)
        keys = [(row, key) for row, key in keys if row in best] or keys
    if not keys:
        return ""
    keys.sort(key=lambda item: -item[1] if extreme.largest else item[1])
    count = _how_many_wanted(question, position)
    target = pick_column(laid, avoid=frozenset({column}))
    if target is None or laid.header_scores[target] < 0.5:
        asks_row = question.has("which", "who", "whose", "where") or bool(choice)
        target = label_column(laid, frozenset({column})) if asks_row else column
    return join(laid.cell(row, target) for row, _ in keys[:count])


def _extreme_column(laid: Match, position: int, extreme: _Extreme) -> int | None:
    """Return the ordered column that the superlative refers to."""
    close = laid.question.words[position + 1 : position + 5]
    scores = []
    for name, fits in zip(laid.header, laid.header_scores, strict=True):
        parts, score = words(name), 0.2 * fits
        for part in parts:
            if part in close:
                score += (1.5 - 0.2 * close.index(part)) / len(parts) ** 0.5
            if part in extreme.hints:
                score += 0.8
        scores.append(score)
    return pick_column(laid, ordered=True, scores=scores)


def _alternatives(laid: Match) -> list[int]:
    """Return the rows named by "A or B"."""
    if not laid.question.has("or", "between"):
        return []
    strong = [row for row, score in enumerate(laid.row_scores) if score >= 1.3]
    return strong if 2 <= len(strong) <= 3 else []


def _how_many_wanted(question: LexicalQuestion, position: int) -> int:
    """Return k of "top 3" or "three highest", else 1."""
    around = question.words[max(0, position - 1) : position + 2]
    for word in around:
        digits = number_word(word)
        if digits.isdecimal() and 1 < int(digits[:3]) <= 20:
            return int(digits[:3])
    return 1


def _most_frequent(laid: Match) -> str:
    column = label_column(laid)
    cells = Counter(cell for row in range(len(laid.rows)) if (cell := laid.cell(row, column)))
    if not cells or cells.most_common(1)[0][1] < 2:
        return ""
    return cells.most_common(1)[0][0]


_FIRST = re.compile(r"\b(?:the|listed|came in|come) (first|last)\b|\b(first|last) (?:listed|on)\b")


def _ends(laid: Match) -> str:
    """Return the first or last row; of the matching rows if there are several."""
    match = _FIRST.search(laid.question.text.lower())
    if not match:
        return ""
    best = laid.best_rows
    rows = best if len(best) > 1 else list(range(len(laid.rows)))
    row = rows[0] if "first" in (match[1], match[2]) else rows[-1]
    return laid.cell(row, label_column(laid, laid.hit_columns if len(best) > 1 else frozenset()))


def _count(laid: Match) -> str:
    """Return the number of matching rows, or the matching row's number in the asked column."""
    question, best = laid.question, laid.best_rows
    if not _is_count(question):
        return ""
    column = pick_column(laid, ordered=True, avoid=laid.hit_columns)
    if column is not None and len(best) == 1 and laid.header_scores[column] >= 0.7:
        return laid.cell(best[0], column)
    top = max(laid.row_scores, default=0.0)
    if top >= 1:
        return str(len(best))
    column = pick_column(laid)
    if column is not None and question.has("different", "unique", "distinct"):
        return str(len({laid.cell(row, column) for row in range(len(laid.rows))} - {""}))
    return str(sum(not _is_total(laid, row) for row in range(len(laid.rows))))


def _look_up(laid: Match) -> str:
    """Return the asked column's cells in the best matching rows."""
    best = laid.best_rows
    column = label_column(laid, laid.hit_columns)
    named = pick_column(laid)
    if laid.header_scores and laid.header_scores[column] <= 0 and named is not None:
        # Each column with a matching name also has matching cells: trust the name.
        column = named
    if not best:
        return laid.cell(0, column)
    plural = laid.question.has("list", "name all", "which are", "what are", "all", "were")
    answer = join(laid.cell(row, column) for row in (best if plural else best[:1]))
    return answer or next((cell for cell in laid.rows[best[0]] if cell), "")
