"""The axes of a run: in which ways a case asks its example.

Ids, records, columns, sheets, gates, comparisons, filters and plans go over `AXES`. A new axis is
one row here, and an option that sets its names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_tablebench.config.parameters import by_effort

DIRECT, TEXT = "direct", "text"
"""The default strategy and modality of a case."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Args:
        name: the field of cases and records, and the word for it.
        plural: its entry in grids and summaries.
        default: its value in cases of runs without it; None (not written) if it has no name.
        in_grid: whether examples are asked with all its names. Such axes are in every id and
            every table; the others only if a run has several of their names.
        changes_the_question: whether the prompt depends on it. Runs with different names of an
            axis that does not change the question can be compared.
        is_repeat: whether its values number the repeats of one case, whose scores are merged.
        order: returns names in the order in which people read them.
        letter: its name in addresses of a page, which must not change.
        id_length: the number of characters of its part of an id.
    """

    name: str
    plural: str
    letter: str
    default: str | int | None = None
    in_grid: bool = False
    changes_the_question: bool = True
    is_repeat: bool = False
    order: Callable[[Iterable[str]], list[str]] = sorted
    id_length: int = 14

    @property
    def is_optional(self) -> bool:
        """Whether records without a name lack the field."""
        return self.default is None and not self.in_grid

    def label(self, name: str) -> str:
        """Return a name with its axis, as gates may write it: `effort=high`."""
        return f"{self.name}={name}"


AXES = (
    Axis("serializer", "serializers", "s", in_grid=True),
    Axis("perturbation", "perturbations", "p", in_grid=True),
    Axis("strategy", "strategies", "g", DIRECT),
    Axis("modality", "modalities", "m", TEXT, id_length=10),
    Axis("effort", "efforts", "e", changes_the_question=False, order=by_effort),
    Axis("repeat", "repeats", "r", 1, changes_the_question=False, is_repeat=True),
)
"""All axes, in the order of ids."""

NAMED = tuple(axis for axis in AXES if not axis.is_repeat)
"""The axes with names, which tell the cells of a table apart."""

GRID = tuple(axis for axis in NAMED if axis.in_grid)

MODES = tuple(axis for axis in NAMED if not axis.in_grid)

SAME_QUESTION = tuple(axis for axis in NAMED if not axis.changes_the_question)
"""Axes with which the same question is asked in several ways, such as the effort."""

JOINED = (*GRID, *SAME_QUESTION)
"""The axes on which two cases of different runs must agree to be compared."""

SINGLE = tuple(axis for axis in NAMED if axis not in JOINED)
"""The axes on which each of two runs to compare must have one name."""

Class = TypeVar("Class", bound=type)


def with_axes(cls: Class) -> Class:
    """Add a field for each axis that a class does not declare; to be used before `dataclass`."""
    for axis in AXES:
        if axis.name not in cls.__annotations__:
            cls.__annotations__[axis.name] = "str | None"
            setattr(cls, axis.name, field(default=axis.default))
    return cls


def values_on(record: Any, axes: Iterable[Axis] = AXES) -> dict[str, Any]:
    """Return the values of a case or a record by axis, without missing ones."""
    values = ((axis.name, getattr(record, axis.name, axis.default)) for axis in axes)
    return {name: value for name, value in values if value is not None}


def names_on(record: Any, axes: Iterable[Axis]) -> tuple[str, ...]:
    """Return the names of a case or a record on axes, as tables have them: "" without one."""
    values: Iterator[Any] = (getattr(record, axis.name, axis.default) for axis in axes)
    return tuple(value or "" for value in values)
