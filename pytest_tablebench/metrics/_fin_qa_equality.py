"""Symbolic equality of FinQA programs (spec: torr.md section 8.6).

The published rule: give every plain argument and every table step a symbol, expand the last
step of both programs into formulas, let sympy simplify both, and compare what comes out. Most
pairs are settled here without sympy, and exactly as sympy would settle them:

* Formulas that agree up to the order of operands of `+` and `*` are one and the same object
  for sympy before it simplifies anything, so they are equal.
* sympy's simplification never changes the value of a rational formula. Formulas that take
  different values at a point where both are defined are therefore different. The point has
  coordinates modulo a prime, so values are exact and never grow. Comparisons (`greater`) are
  different when one holds and the other does not at a point with rational coordinates.

All the rest is in doubt and goes to sympy: equal values in another form (sympy's forms are
not unique), powers, and division by what is always zero. Its work is bounded beforehand: by
the number of symbols written out (`MAX_LEAVES`: plain formulas; comparisons or powers; both)
and of terms after multiplying out (`MAX_TERMS`); exponents hold no powers, and constant ones
are whole numbers of at most `MAX_EXPONENT`. A pair in doubt beyond these bounds counts as
different. Within them sympy was not seen to take more than 0.4 s for a formula.
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
_SIGN_POINTS = 24

_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "exp": "**",
    "greater": ">",
}

Tree = int | tuple[str, Any, Any]
"""A formula written out: a symbol's number, or sign, left and right side."""


def same_programs(first: Sequence[str], second: Sequence[str]) -> bool:
    """Tell whether two programs, as tokens, mean the same formula.

    The order matters: `first` alone gives the symbols and may hold steps that are not used,
    `second` is checked for its structure and may use no other symbols. Programs that the
    published rule cannot read, on either side, are different from everything.
    """
    formulas = _Formulas()
    try:
        symbols, steps = _symbols(first)
        left = _expand(steps, symbols, formulas)
        right = _expand(_checked(second, symbols), symbols, formulas)
    except ValueError:  # malformed, or `#` before what is no number
        return False
    return formulas.same(left, right)


# From programs to formulas


def _symbols(tokens: Sequence[str]) -> tuple[dict[str, int], list[ProgramStep]]:
    """Return the number of each argument and table step in order of occurrence, and all steps."""
    symbols: dict[str, int] = {}
    steps = list(steps_of(tokens))
    for step in steps:
        for text in _variables(step):
            symbols.setdefault(text, len(symbols))
    return symbols, steps


def _variables(step: ProgramStep) -> list[str]:
    """Return what stands for itself in a step: literally, so 100 and const_100 differ."""
    if "table" in step.operator:
        return [step.text]
    return [argument for argument in step.arguments if "#" not in argument]


def _checked(tokens: Sequence[str], symbols: dict[str, int]) -> list[ProgramStep]:
    """Return the steps of a program that is well-formed and knows no other symbols."""
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
    """Return the formula of the last step; each step is expanded once, however often used."""
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


# Formulas: numbered, each form stored once, so equal forms have equal numbers


@dataclass(frozen=True, slots=True)
class _Node:
    """A formula and what bounds the work on it.

    Arguments:
        sign, left, right: the operation and its sides; for a symbol `""` and its number.
        value: at the point modulo the prime; None where undefined or not rational.
        leaves: symbols when written out. terms: bounds on the number of terms of numerator
            and denominator when multiplied out.
        powers: it holds a power. judged: sympy may be asked.
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
        """Return the formula that is one symbol."""
        return self._store(_Node("", number, number, _point(number), 1, (1, 1), False, True))

    def add(self, sign: str, left: int, right: int) -> int:
        """Return the formula of an operation; raises where sympy would raise."""
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
        """Tell whether sympy simplifies both to the same."""
        first, second = self.nodes[left], self.nodes[right]
        if (first.sign == ">") != (second.sign == ">"):
            return False
        defined = self._defined(left) and self._defined(right)
        if left == right and (defined or first.sign != ">"):
            return True
        if defined and self._differ(first, second):
            return False
        if not (self._small(first) and self._small(second)):
            return False
        simple = _simplified(self._tree(left))
        return bool(simple is not None and simple == _simplified(self._tree(right)))

    def _defined(self, number: int) -> bool:
        """Tell whether a formula is rational, with no division by what is always zero."""
        node = self.nodes[number]
        if node.sign == ">":
            return self._defined(node.left) and self._defined(node.right)
        return node.value is not None

    def _differ(self, first: _Node, second: _Node) -> bool:
        """Tell whether two rational formulas, or comparisons of them, are proved different."""
        if first.sign != ">":
            return first.value != second.value
        if not (self._small(first) and self._small(second)):
            return False
        for point in range(_SIGN_POINTS):
            truths = self._holds(first, point), self._holds(second, point)
            if None not in truths and truths[0] != truths[1]:
                return True
        return False

    def _holds(self, node: _Node, point: int) -> bool | None:
        """Tell whether a comparison holds at a rational point; None where it is undefined."""
        try:
            return self._at(node.left, point) > self._at(node.right, point)
        except ZeroDivisionError:
            return None

    def _at(self, number: int, point: int) -> Fraction:
        """Return the exact value at a rational point; for small rational formulas only."""
        node = self.nodes[number]
        if not node.sign:
            return _rational_point(node.left, point)
        left, right = self._at(node.left, point), self._at(node.right, point)
        return Fraction(_OPERATIONS[node.sign](left, right))

    def _small(self, node: _Node) -> bool:
        """Tell whether the work sympy has with a formula is bounded."""
        return (
            node.judged
            and node.leaves <= MAX_LEAVES[node.powers + (node.sign == ">")]
            and sum(node.terms) <= MAX_TERMS
        )

    def _exponent(self, number: int) -> int | str | None:
        """Return a constant exponent, `"variable"`, or None for one sympy is not asked about."""
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
    """Bound the terms of numerator and denominator, multiplied out and without cancelling."""
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
    """Return a symbol's value modulo the prime: arbitrary, and the same every time."""
    return random.Random(f"modulo/{symbol}").randrange(1, _PRIME)


@lru_cache(maxsize=8192)
def _rational_point(symbol: int, point: int) -> Fraction:
    """Return a symbol's value at one of the rational points."""
    draw = random.Random(f"rational/{point}/{symbol}")
    return Fraction(draw.randint(1, 999) * draw.choice((1, 1, -1)))


# The judge of what is in doubt


@lru_cache(maxsize=4096)
def _simplified(tree: Tree) -> Any:
    """Return what sympy simplifies a formula to; None where it raises.

    Programs of the same shape share their formulas, whatever their numbers, so that a run
    asks for few of them.
    """
    require(["sympy"], "the equality of FinQA programs")
    import sympy

    try:
        return sympy.simplify(_expression(tree))
    except Exception:  # the published rule takes every failure of sympy as "different"
        return None


def _expression(tree: Tree) -> Any:
    import sympy

    if isinstance(tree, int):
        return sympy.Symbol(f"a{tree}")
    sign, left, right = tree
    return _OPERATIONS[sign](_expression(left), _expression(right))
