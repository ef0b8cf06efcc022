"""Program and execution accuracy of FinQA (spec: torr.md sections 8.6 and 9, rows 3 to 6, 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._fin_qa_equality import same_programs
from pytest_tablebench.metrics._fin_qa_program import (
    NOT_AVAILABLE,
    execute,
    is_reasonable,
    script_rows,
    tokens_of,
    with_underscores,
)
from pytest_tablebench.tables.table import Table

__all__ = ["fin_qa"]


def fin_qa(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    table: Table | Mapping[str, Any] | None = None,
    answer: str | None = None,
    exe_ans: float | str | None = None,
    **_: Any,
) -> Score:
    """Score a reasoning program: `program_accuracy` (the score) and `execution_accuracy`.

    The first reference is the gold program. `table` is the question's own, unperturbed table,
    a `Table` or a mapping with `header` and `rows`.

    `fixed` does what FinQA's script does: the gold program comes first in the comparison,
    table operations work on the rows, and the result must equal `exe_ans` (a number rounded
    to 5 decimals, or yes or no; where it is missing, the gold program's own result). Table
    operations may be spelled with hyphens. `reference` is ToRR's published metric: sides
    exchanged, table operations never executed, results compared with the printed `answer`.
    There, a comparison that involves no two numbers asks whether the prediction ends with the
    gold program; where the published code would go on to evaluate the prediction as Python,
    the score is 0.

    Bounded work: programs of more than 10,000 characters or 100 steps score 0 unread, numbers
    are floats, and each step is expanded once. sympy is asked only about formulas of at most
    24 symbols when written out (12 with a comparison or a power, 8 with both) and 32 terms
    when multiplied out; see `_fin_qa_equality`. Nothing of a reply is ever run. Raises
    `SettingsError` when `reference` lacks the answer, and for a table that is none.
    """
    if compat == "reference" and answer is None:
        raise SettingsError("metric 'fin_qa': reference mode needs answer=, the printed answer")
    rows = script_rows(table)
    given, gold = str(prediction), str(references[0]) if references else ""
    program = execution = False
    if is_reasonable(given) and is_reasonable(gold):
        if compat == "reference":
            program = same_programs(tokens_of(given), tokens_of(gold))
            execution = _published_execution(given, gold, str(answer))
        else:
            gold_tokens = with_underscores(tokens_of(gold))
            program = same_programs(gold_tokens, with_underscores(tokens_of(given)))
            execution = _execution(given, gold_tokens, rows, exe_ans)
    parts = {"program_accuracy": float(program), "execution_accuracy": float(execution)}
    return Score(parts["program_accuracy"], parts, "program_accuracy")


def _execution(
    given: str,
    gold_tokens: Sequence[str],
    rows: Sequence[Sequence[Any]],
    exe_ans: float | str | None,
) -> bool:
    """Tell whether a program yields the gold result."""
    outcome = execute(with_underscores(tokens_of(_cut(given))), rows)
    if outcome.invalid or outcome.value == NOT_AVAILABLE:
        return False
    if exe_ans is None:
        gold = execute(gold_tokens, rows)
        return not gold.invalid and bool(outcome.value == gold.value)
    return bool(outcome.value == exe_ans)


def _published_execution(given: str, gold: str, answer: str) -> bool:
    """Tell whether ToRR's metric counts a program's execution as right."""
    cut = _cut(given)
    # Without rows: what the published code hands over instead holds no row of numbers.
    outcome = execute(tokens_of(cut), [])
    if outcome.invalid:
        return False
    try:
        return float(outcome.value) == float(answer)
    except ValueError:
        return cut.lower().endswith(gold.lower())


def _cut(program: str) -> str:
    """Drop what follows the last closing bracket; all, where there is none."""
    return program[: program.rfind(")") + 1]
