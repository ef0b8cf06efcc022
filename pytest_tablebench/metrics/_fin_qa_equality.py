"""Symbolic equality of FinQA programs (spec: torr.md section 8.6).

The published rule: give every plain argument and every table step a symbol, expand the last step of
both programs into formulas, let sympy simplify both, and compare the results. Most pairs are
decided here without sympy, with the result that sympy would give:

* Formulas that agree up to the order of operands of `+` and `*` are the same object for sympy
  before it simplifies anything, so they are equal.
* sympy's simplification never changes the value of a rational formula. Formulas with different
  values at a point where both are defined are therefore different. The point has coordinates modulo
  a prime, so values are exact and do not grow.

sympy decides the rest: comparisons (`greater`), equal values in another form (sympy's forms are not
unique), powers, and division by a term that is always zero. Its work is bounded by the number of
symbols written out (`MAX_LEAVES`: plain formulas; comparisons or powers; both) and of terms after
multiplying out (`MAX_TERMS`). Exponents contain no powers, and constant ones are whole numbers of
at most `MAX_EXPONENT`. An undecided pair beyond these bounds counts as different. Within them sympy
took at most 0.4 s for a formula.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pytest_tablebench.config.extras import require
from pytest_tablebench.metrics._fin_qa_program import (
    MalformedProgramError,
    ProgramStep,
    has_structure,
    steps_of,
)

MAX_LEAVES = (24, 12, 8)
MAX_TERMS = 32
MAX_EXPONENT = 4

_PRIME = 2**61 - 1

_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "exp": "**", "greater": ">"}

Tree = int | tuple[str, Any, Any]
"""A formula written out: a symbol's number, or sign, left and right side."""


def same_programs(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether two programs, as tokens, mean the same formula.

    The order matters: `first` defines the symbols and may contain unused steps. `second` must have
    the right structure and may use no other symbols. A program that the published rule cannot read
    is different from every other.
    """
    formulas = _Formulas()
    try:
        symbols, steps = _symbols(first)
        left = _expand(steps, symbols, formulas)
        right = _expand(_checked(second, symbols), symbols, formulas)
    except ValueError:  # malformed, or `#` without a number
        return False
    return formulas.same(left, right)


# From programs to formulas


def _symbols(tokens: Sequence[str]) -> tuple[dict[str, int], list[ProgramStep]]:
    """Return the symbol number of each argument and table step, and all steps."""
    symbols: dict[str, int] = {}
    steps = list(steps_of(tokens))
    for step in steps:
        for text in _variables(step):
            symbols.setdefault(text, len(symbols))
    return symbols, steps


def _variables(step: ProgramStep) -> list[str]:
    """Return the symbols of a step. They are compared as text, so 100 and const_100 differ."""
    if "table" in step.operator:
        return [step.text]
    return [argument for argument in step.arguments if "#" not in argument]


def _checked(tokens: Sequence[str], symbols: dict[str, int]) -> list[ProgramStep]:
    """Return a program's steps; raises if it is malformed or uses other symbols."""
    if not has_structure(tokens):
        raise MalformedProgramError("not of the form operation(argument, argument)")
    steps = list(steps_of(tokens))
    for number, step in enumerate(steps):
        if any(text not in symbols for text in _variables(step)):
            raise MalformedProgramError("an argument the other program lacks")
        if "table" not in step.operator:
            for argument in step.arguments:
                if "#" in argument and int(argument.strip("#")) >= number:
                    raise MalformedProgramError("a reference that does not point back")
    return steps


def _expand(steps: Sequence[ProgramStep], symbols: dict[str, int], formulas: _Formulas) -> int:
    """Return the formula of the last step; each step is expanded once, even if used often."""
    done: dict[int, int] = {}
    pending: set[int] = set()

    def visit(number: int) -> int:
        if number in done:
            return done[number]
        if number in pending or not 0 <= number < len(steps):
            raise MalformedProgramError("a reference to itself or to nowhere")
        pending.add(number)
        step = steps[number]
        if "table" in step.operator:
            formula = formulas.symbol(symbols[step.text])
        else:
            left, right = (
                visit(int(argument.replace("#", "")))
                if "#" in argument
                else formulas.symbol(symbols[argument])
                for argument in step.arguments
            )
            if step.operator not in _SIGNS:
                raise MalformedProgramError("an unknown operation")
            formula = formulas.add(_SIGNS[step.operator], left, right)
        done[number] = formula
        return formula

    return visit(len(steps) - 1)


# Formulas: each form is stored once under a number, so equal forms have equal numbers


@dataclass(frozen=True, slots=True)
class _Node:
    """A formula and the bounds of the work on it.

    Arguments:
        sign, left, right: the operation and its sides; for a symbol "" and its number.
        value: at the point modulo the prime; None if undefined or not rational.
        leaves: symbols when written out.
        terms: bounds on the number of terms of numerator and denominator when multiplied out.
        powers: whether it contains a power.
        judged: whether sympy may be called.
    """

    sign: str
    left: int
    right: int
    value: int | None
    leaves: int
    terms: tuple[int, int]
    powers: bool
    judged: bool


@dataclass
class _Formulas:
    nodes: list[_Node] = field(default_factory=list)
    numbers: dict[tuple[str, int, int], int] = field(default_factory=dict)

    def symbol(self, number: int) -> int:
        return self._store(_Node("", number, number, _point(number), 1, (1, 1), False, True))

    def add(self, sign: str, left: int, right: int) -> int:
        """Return the formula of an operation; raises if sympy would raise."""
        first, second = self.nodes[left], self.nodes[right]
        if ">" in (first.sign, second.sign):
            raise MalformedProgramError("a comparison inside a formula")
        terms, judged = _terms(sign, first.terms, second.terms), first.judged and second.judged
        if sign == "**":
            exponent = self._exponent(right)
            terms = _power_terms(first.terms, exponent)
            judged = judged and exponent is not None and self._small(first) and self._small(second)
        elif sign in "+*" and left > right:
            left, right = right, left
        leaves = min(first.leaves + second.leaves, MAX_LEAVES[0] + 1)
        powers = first.powers or second.powers or sign == "**"
        value = _calculate_modulo(sign, first.value, second.value)
        return self._store(_Node(sign, left, right, value, leaves, terms, powers, judged))

    def _store(self, node: _Node) -> int:
        key = node.sign, node.left, node.right
        if key not in self.numbers:
            self.numbers[key] = len(self.nodes)
            self.nodes.append(node)
        return self.numbers[key]

    def same(self, left: int, right: int) -> bool:
        """Return whether sympy simplifies both to the same formula."""
        first, second = self.nodes[left], self.nodes[right]
        if (first.sign == ">") != (second.sign == ">"):
            return False
        sides = (first.left, first.right) if first.sign == ">" else ()
        if left == right and all(self.nodes[side].value is not None for side in sides):
            return True
        if None not in (first.value, second.value) and first.value != second.value:
            return False
        if not (self._small(first) and self._small(second)):
            return False
        simple = _simplified(self._tree(left))
        return bool(simple is not None and simple == _simplified(self._tree(right)))

    def _at(self, number: int, point: int) -> Fraction:
        """Return the exact value at a rational point; for small rational formulas only."""
        node = self.nodes[number]
        if not node.sign:
            return _rational_point(node.left, point)
        left, right = self._at(node.left, point), self._at(node.right, point)
        return Fraction(_OPERATIONS[node.sign](left, right))

    def _small(self, node: _Node) -> bool:
        """Return whether sympy's work on a formula is bounded."""
        return (
            node.judged
            and node.leaves <= MAX_LEAVES[node.powers + (node.sign == ">")]
            and sum(node.terms) <= MAX_TERMS
        )

    def _exponent(self, number: int) -> int | str | None:
        """Return a constant exponent, `"variable"`, or None if sympy must not be called."""
        node = self.nodes[number]
        if node.value is None or not self._small(node):
            return None
        try:
            values = {self._at(number, point) for point in range(3)}
        except ZeroDivisionError:
            return None
        if len(values) > 1:
            return "variable"
        [value] = values
        return int(value) if abs(value) in range(MAX_EXPONENT + 1) else None

    def _tree(self, number: int) -> Tree:
        node = self.nodes[number]
        if not node.sign:
            return node.left
        return node.sign, self._tree(node.left), self._tree(node.right)


# Values and bounds


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
    ">": operator.gt,
}


def _calculate_modulo(sign: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None or sign in ("**", ">"):
        return None
    if sign == "/":
        return left * pow(right, -1, _PRIME) % _PRIME if right else None
    return int(_OPERATIONS[sign](left, right)) % _PRIME


def _terms(sign: str, first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    """Return bounds on the terms of numerator and denominator, multiplied out, not cancelled."""
    top, bottom = first
    if sign == "*":
        fraction = top * second[0], bottom * second[1]
    elif sign == "/":
        fraction = top * second[1], bottom * second[0]
    else:
        fraction = top * second[1] + second[0] * bottom, bottom * second[1]
    return min(fraction[0], MAX_TERMS + 1), min(fraction[1], MAX_TERMS + 1)


def _power_terms(base: tuple[int, int], exponent: int | str | None) -> tuple[int, int]:
    if not isinstance(exponent, int):
        return 1, 1  # stays a power
    terms_of_power = [min(terms ** abs(exponent), MAX_TERMS + 1) for terms in base]
    return terms_of_power[0], terms_of_power[1]


@lru_cache(maxsize=1024)
def _point(symbol: int) -> int:
    """Return a symbol's arbitrary but fixed value modulo the prime."""
    return random.Random(f"modulo/{symbol}").randrange(1, _PRIME)


@lru_cache(maxsize=8192)
def _rational_point(symbol: int, point: int) -> Fraction:
    draw = random.Random(f"rational/{point}/{symbol}")
    return Fraction(draw.randint(1, 999) * draw.choice((1, 1, -1)))


# sympy, for pairs that are not decided yet


@lru_cache(maxsize=4096)
def _simplified(tree: Tree) -> Any:
    """Return sympy's simplified form; None if sympy raises.

    Programs of the same shape have the same formulas, so the cache serves most calls of a run.
    """
    require(["sympy"], "the equality of FinQA programs")
    import sympy

    try:
        return sympy.simplify(_expression(tree))
    except Exception:  # the published rule counts every failure of sympy as "different"
        return None


def _expression(tree: Tree) -> Any:
    import sympy

    if isinstance(tree, int):
        return sympy.Symbol(f"a{tree}")
    sign, left, right = tree
    return _OPERATIONS[sign](_expression(left), _expression(right))
