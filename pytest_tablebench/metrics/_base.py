"""The types of metrics: processed prediction and references in, a score out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_tablebench.metrics.steps import Step

Processed = str | list[str]
"""A reply or reference after post-processing: text, or a list if the chain splits it."""


@dataclass(frozen=True)
class Score:
    """A score from 0 to 1, and the named numbers behind it.

    `part` names the part that equals the score, or is None. `flags` are added to the record's
    flags: what was odd about the answer, or why a part is missing. `unclear` is true if the rules
    cannot decide whether the answer is right; its value is then 0. `why` is the reason of a score
    below 1 in one line of plain text, such as `read 12.5, expected 12500`; it can be empty.
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    part: str | None = None
    flags: tuple[str, ...] = ()
    unclear: bool = False
    why: str = ""


JUDGED_PARTS = ("gpt_eval", "llm_score")
"""The parts that a judge gives in the metrics of RealHiTBench and TReB."""

Judgement = Generator[Step, Any, Score]
"""Yields steps, receives the outcome of each (`Reply`, `Execution`), and returns the score.

An `Ask` without a model goes to the run's judge. Without a judge or its answer, `NotJudgedError` is
raised at the step. A metric may catch it and return the parts that need no judge.
"""

Metric = Callable[..., Score | Judgement]
"""`metric(prediction, references, *, compat, **context) -> Score`: a pure function, or a generator
function that returns a score. The attribute `params` of a generator function sets the parameters of
its requests. The defaults are temperature 0 and 512 tokens; options override both."""

Made = TypeVar("Made", bound=Metric)


def _marked(**attributes: Any) -> Callable[[Made], Made]:
    def mark(metric: Made) -> Made:
        for name, value in attributes.items():
            setattr(metric, name, value)
        return metric

    return mark


def heavy(metric: Made) -> Made:
    """Mark a plain metric as slow: `--bench-score-there` computes it outside of pytest."""
    return _marked(heavy=True)(metric)


def may_be_unclear(metric: Made) -> Made:
    """Mark a plain metric that can return unclear scores: the run's judge decides about these."""
    return _marked(may_be_unclear=True)(metric)


def needs(*modules: str) -> Callable[[Made], Made]:
    """Mark a metric with the modules it imports, which the extra `benchmarks` installs.

    If one is missing, the run refuses a dataset with this metric before it starts.
    """
    return _marked(modules=modules)


def judged_with(**params: Any) -> Callable[[Made], Made]:
    """Mark a metric with the parameters of its requests."""
    return _marked(params=params)
