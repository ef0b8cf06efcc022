"""The published equality of FinQA programs with sympy alone: slow and unbounded.

Tests compare the metric with it, and benchmarks/fin_qa.py compares their times. Written from spec
torr.md section 8.6; only the tokenizer is shared with the metric.
"""

from __future__ import annotations

from typing import Any

from pytest_tablebench.metrics._fin_qa_program import tokens_of

SIGNS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "exp": "**", "greater": ">",
}  # fmt: skip
TABLE = {"table_max", "table_min", "table_sum", "table_average"}


def plain_same_programs(first: str, second: str) -> bool:
    """Return whether two programs are equal; `first` defines the symbols."""
    texts = formula_texts(first, second)
    return texts is not None and plain_same_texts(*texts)


def plain_same_texts(first: str, second: str) -> bool:
    """Return whether sympy simplifies two formulas over a0, a1, ... to the same form."""
    from sympy import simplify

    try:
        return bool(simplify(first) == simplify(second))
    except Exception:
        return False


def formula_texts(first: str, second: str) -> tuple[str, str] | None:
    """Return both programs' formulas as texts; None if the rule refuses one of them."""
    names: dict[str, str] = {}
    try:
        steps = _steps(tokens_of(first))
        for text, name, arguments in steps:
            texts = [text] if "table" in name else [x for x in arguments if "#" not in x]
            for key in texts:
                names.setdefault(key, f"a{len(names)}")
        tokens = tokens_of(second)[:-1]
        for position, token in enumerate(tokens):
            if position % 4 == 0 and token.strip("(") not in SIGNS.keys() | TABLE:
                return None
            if position % 4 == 3 and token != ")":
                return None
        others = _steps([*tokens, "EOF"])
        for position, (text, name, arguments) in enumerate(others):
            if "table" in name:
                names[text]
                continue
            for argument in arguments:
                if "#" not in argument:
                    names[argument]
                elif int(argument.strip("#")) >= position:
                    return None
        return _text(steps, len(steps) - 1, names), _text(others, len(others) - 1, names)
    except (LookupError, ValueError, RecursionError):
        return None


def _steps(tokens: list[str]) -> list[tuple[str, str, list[str]]]:
    steps = []
    for piece in "|".join(tokens[:-1]).split(")")[:-1]:
        text = piece.strip()
        name, inside = text.split("(")  # ValueError: more or fewer brackets than one
        first, second, *_ = inside.strip("|").strip().split("|")
        steps.append((text, name.strip("|").strip(), [first.strip(), second.strip()]))
    return steps


def _text(steps: list[tuple[str, str, list[str]]], number: int, names: dict[str, str]) -> Any:
    if number < 0:
        raise LookupError("no such step")
    text, name, arguments = steps[number]
    if "table" in name:
        return names[text]
    left, right = (
        _text(steps, int(argument.replace("#", "")), names) if "#" in argument else names[argument]
        for argument in arguments
    )
    return f"( {left} {SIGNS[name]} {right} )"
