"""What a metric is: processed prediction and references in, a score out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_tablebench.metrics.steps import Step

Processed = str | list[str]
"""A reply or reference after post-processing: text, or a list where the chain splits it."""


@dataclass(frozen=True)
class Score:
    """A score in 0..1 and the named numbers it is made of.

    `part` names the number that the score is; None where it is none of them. `flags` join those of
    the record: what was odd about the answer, or why a part is missing.
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    part: str | None = None
    flags: tuple[str, ...] = ()


JUDGED_PARTS = ("gpt_eval", "llm_score")
"""The parts of built-in metrics that a judge gives: RealHiTBench's and TReB's."""

Judgement = Generator[Step, Any, Score]
"""Yields steps, is sent what came of each (`Reply`, `Execution`), and returns the score.

An `Ask` without a model asks the judge of the run. Where that has no answer, `NotJudgedError` is
raised at the step: a metric that catches it may return the parts it knows all the same.
"""

Metric = Callable[..., Score | Judgement]
"""`metric(prediction, references, *, compat, **context) -> Score`; a pure function, or a generator
function that returns one. The requests of a generator have the parameters that its attribute
`params` names, over temperature 0 and 512 tokens; those of options go before both."""

Made = TypeVar("Made", bound=Metric)


def heavy(metric: Made) -> Made:
    """Mark a plain metric as worth a message: `--bench-score-there` has it score elsewhere."""
    metric.heavy = True  # type: ignore[attr-defined]
    return metric


def needs(*modules: str) -> Callable[[Made], Made]:
    """Mark a metric with modules that it imports and the extra `benchmarks` installs.

    A dataset that it scores is refused at the start where one is missing.
    """

    def mark(metric: Made) -> Made:
        metric.modules = modules  # type: ignore[attr-defined]
        return metric

    return mark


def judged_with(**params: Any) -> Callable[[Made], Made]:
    """Mark a metric with the parameters of its requests."""

    def mark(metric: Made) -> Made:
        metric.params = params  # type: ignore[attr-defined]
        return metric

    return mark
