"""Program and execution accuracy of FinQA (spec: torr.md sections 8.6 and 9, rows 3 to 6, 8)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._base import Processed, Score, heavy, needs
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


@needs("sympy")
@heavy
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

    The first reference is the gold program. `table` is the question's unperturbed table, a `Table`
    or a mapping with `header` and `rows`.

    `fixed` follows FinQA's script: the gold program comes first in the comparison, table operations
    work on the rows, and the result must equal `exe_ans` (a number rounded to 5 decimals, or yes or
    no; if it is missing, the gold program's result). Table operations may be spelled with hyphens.

    `reference` is ToRR's published metric. It exchanges the sides, never executes table operations,
    and compares the result with the printed `answer`. If one of the two is not a number, it checks
    whether the prediction ends with the gold program. The published code may then evaluate the
    prediction as Python; here the score is 0 in that case.

    The work is bounded: a program of more than 10,000 characters or 100 steps scores 0 without
    being read, numbers are floats, and each step is expanded once. sympy compares only formulas of
    at most 24 symbols when written out (12 with a comparison or a power, 8 with both) and 32 terms
    when multiplied out; see `_fin_qa_equality`. No text of a reply is ever run.

    Raises `SettingsError` if `reference` has no `answer`, and for an invalid table.
    """
    if compat == "reference" and answer is None:
        raise SettingsError("metric 'fin_qa': reference mode needs answer=, the printed answer")
    rows = script_rows(table)
    predicted, gold = str(prediction), str(references[0]) if references else ""
    program = execution = False
    if is_reasonable(predicted) and is_reasonable(gold):
        if compat == "reference":
            program = same_programs(tokens_of(predicted), tokens_of(gold))
            execution = _published_execution(predicted, gold, str(answer))
        else:
            gold_tokens = with_underscores(tokens_of(gold))
            program = same_programs(gold_tokens, with_underscores(tokens_of(predicted)))
            execution = _execution(predicted, gold_tokens, rows, exe_ans)
    parts = {"program_accuracy": float(program), "execution_accuracy": float(execution)}
    return Score(parts["program_accuracy"], parts, "program_accuracy")


def fin_qa_value(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    table: Table | Mapping[str, Any] | None = None,
    exe_ans: float | str | None = None,
    **_: Any,
) -> Score:
    """Score the value of an answer that was not asked for as a reasoning program.

    `execution_accuracy` is the score: whether the value equals `exe_ans`, a number or yes or no. If
    that is missing, the result of the first reference is expected. A number may be rounded to two
    decimals or more, and a share may be written with a percent sign. No programs are compared.
    """
    if exe_ans is None:
        gold = execute(with_underscores(tokens_of(str(references[0]))), script_rows(table))
        exe_ans = None if gold.invalid else gold.value
    text = str(prediction).strip().rstrip(".").lower()
    if isinstance(exe_ans, str):
        right = text == exe_ans.lower()
    else:
        right = exe_ans is not None and _is_value(text, float(exe_ans))
    return Score(float(right), {"execution_accuracy": float(right)}, "execution_accuracy")


_VALUE = re.compile(r"([+-]?(?=\.?\d)\d{0,30})(?:\.(\d{0,30}))?(e[+-]?\d{1,2})?(%?)")


def _is_value(text: str, value: float) -> bool:
    """Return whether a text is this number, exact or rounded to two decimals or more."""
    match = _VALUE.fullmatch(re.sub(r"[$,\s]", "", text))
    if match is None:
        return False
    whole, decimals, exponent, percent = match.groups()
    number = float(f"{whole}.{decimals or '0'}{exponent or ''}")
    places = len(decimals or "")
    if percent:
        number, places = number / 100, places + 2
    if abs(number - value) < 5e-6:
        return True
    return not exponent and places >= 2 and abs(number - value) <= 0.5 * 10**-places + 1e-12


def _execution(
    predicted: str,
    gold_tokens: Sequence[str],
    rows: Sequence[Sequence[Any]],
    exe_ans: float | str | None,
) -> bool:
    outcome = execute(with_underscores(tokens_of(_cut(predicted))), rows)
    if outcome.invalid or outcome.value == NOT_AVAILABLE:
        return False
    if exe_ans is None:
        gold = execute(gold_tokens, rows)
        return not gold.invalid and bool(outcome.value == gold.value)
    return bool(outcome.value == exe_ans)


def _published_execution(predicted: str, gold: str, answer: str) -> bool:
    cut = _cut(predicted)
    # Without rows: the published code passes a table without any row of numbers.
    outcome = execute(tokens_of(cut), [])
    if outcome.invalid:
        return False
    try:
        return float(outcome.value) == float(answer)
    except ValueError:
        return cut.lower().endswith(gold.lower())


def _cut(program: str) -> str:
    """Return a program up to its last closing bracket; "" without one."""
    return program[: program.rfind(")") + 1]
