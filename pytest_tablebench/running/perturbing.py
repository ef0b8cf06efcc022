"""Perturbations of whole questions: apply them to examples and pools."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.perturbations import (
    Perturbation,
    apply_perturbation,
    parse_perturbation,
    takes_questions,
)
from pytest_tablebench.tables.table_file import TableFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_tablebench.datasets import Example, Pool
    from pytest_tablebench.tables.table import Table


def example_perturber(
    perturbations: Mapping[str, Perturbation], perturbation: str, seed: int
) -> Callable[[Example], Example] | None:
    """Return a function that perturbs an example; None if the perturbation only takes tables.

    If the perturbation may change the answer, the new example refers to the `former` one.
    """
    name, arguments = parse_perturbation(perturbation)
    function = perturbations.get(name)
    if function is None or not takes_questions(function):
        return None
    may_change_answer = changes_answers(perturbations, perturbation)

    def perturb(example: Example) -> Example:
        perturbed = example.changed(
            lambda question: apply_perturbation(
                function, question, name, seed=seed, arguments=arguments
            )
        )
        return replace(perturbed, former=example) if may_change_answer else perturbed

    return perturb


def table_perturber(
    perturbations: Mapping[str, Perturbation], perturbation: str, seed: int
) -> Callable[[Table], Table]:
    """Return a function that perturbs a table."""
    name, arguments = parse_perturbation(perturbation)
    function = perturbations[name]
    return lambda table: apply_perturbation(function, table, name, seed=seed, arguments=arguments)


def scored_example(
    example: Example, perturbations: Mapping[str, Perturbation], perturbation: str, seed: int
) -> Example:
    """Return an example as its metric needs it after a perturbation.

    The tables change only if the metric reads them. Raises `TableError`.
    """
    perturb = example_perturber(perturbations, perturbation, seed)
    if perturb is not None:
        return perturb(example)
    if any(isinstance(value, TableFile) for value in example.context.values()):
        return example.with_tables(table_perturber(perturbations, perturbation, seed))
    return example


def changes_answers(perturbations: Mapping[str, Perturbation], perturbation: str) -> bool:
    """Return whether a question may have another answer after a perturbation."""
    function = perturbations.get(parse_perturbation(perturbation)[0])
    if function is None or not takes_questions(function):
        return False
    return not getattr(function, "preserves_meaning", True)


@dataclass(frozen=True)
class PerturbedPool:
    """A pool of perturbed examples. An example that cannot be perturbed stays unchanged."""

    pool: Pool
    perturb: Callable[[Example], Example]

    def __len__(self) -> int:
        return len(self.pool)

    def key(self, index: int) -> Hashable:
        """Return the key in the pool: perturbations keep inputs that are not tables."""
        return self.pool.key(index)

    def __getitem__(self, index: int) -> Example:
        example = self.pool[index]
        try:
            return self.perturb(example)
        except TableError:
            return example
