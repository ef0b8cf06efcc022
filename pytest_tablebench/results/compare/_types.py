"""What a comparison of two runs says, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pytest_tablebench.results.record import SCHEMA

Measure = Literal["performance", "pass_rate", "robustness"]
MEASURES: tuple[Measure, ...] = ("performance", "pass_rate", "robustness")

ScopeKind = Literal["benchmark", "dataset", "serializer", "perturbation", "tag"]


@dataclass(frozen=True)
class RunFacts:
    """One of the two runs. `planned` is None where the run never got to know it."""

    path: str
    model: str
    status: str
    planned: int | None
    recorded: int
    unanswered: int
    compat: str | None
    version: str | None
    extended: int = 0
    """Cases with a reply that was cut off and asked for again with a higher token limit."""

    @property
    def cut_off(self) -> bool:
        """Whether fewer cases are recorded than the run set out to do."""
        return self.planned is None or self.recorded < self.planned


@dataclass(frozen=True)
class SettingDifference:
    """Something the runs did not do alike.

    `name` is the place in run.json (`params.temperature`, `datasets.wikitq.files`); `unlike`
    marks what makes the runs no longer measure the same.
    """

    name: str
    before: str
    after: str
    meaning: str
    unlike: bool


@dataclass(frozen=True, kw_only=True)
class MeasureDifference:
    """The paired difference, after minus before, of one measure in one scope.

    `before` and `after` are means over the same `n_examples` examples; several datasets count
    equally. `n_clusters` is the number of their tables, None where every example is independent:
    over one table, and where the records do not name tables.
    `left_out_before` counts, of the examples left out, those that this run has no
    usable answer to; an example can count on both sides. `difference`, `interval` and `p` are
    None where nobody can tell, and `note` says why.
    """

    before: float | None = None
    after: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    method: str | None = None
    p: float | None = None
    test: str | None = None
    n_examples: int
    n_clusters: int | None = None
    left_out: int
    left_out_before: int
    left_out_after: int
    identical: bool = False
    note: str | None = None


@dataclass(frozen=True)
class ScopeComparison:
    """All measures of one scope.

    `name` is the benchmark, dataset, serializer, perturbation, or `tag=value`; `dataset` is None
    for a benchmark. `better` and `worse` count flipped cases out of `n_cases`, those answered on
    both sides; the shares without an answer are of all cases of that run in the scope.
    """

    kind: ScopeKind
    benchmark: str
    dataset: str | None
    name: str
    measures: Mapping[Measure, MeasureDifference]
    no_answer_before: float | None
    no_answer_after: float | None
    n_cases: int
    better: int
    worse: int


@dataclass(frozen=True)
class ConfigurationFlips:
    """Right and wrong inside one configuration.

    `test` is exact McNemar, or signs flipped by table where examples share tables.
    """

    dataset: str
    serializer: str
    perturbation: str
    n_examples: int
    better: int
    worse: int
    p: float
    test: str = "exact McNemar"


@dataclass(frozen=True)
class Answers:
    """What became of the answers to the cases both runs asked.

    `same_text`, `other_text` (another text, the same verdict) and `flipped` (another verdict)
    add up to the cases answered on both sides; `flipped_same_text` are those of the flipped ones
    whose text is the same, which only other rules of judging can do.
    """

    same_text: int
    other_text: int
    flipped: int
    flipped_same_text: int
    gained: int
    lost: int
    neither: int


@dataclass(frozen=True)
class RunComparison:
    """Two runs side by side, their cases by ids that carry no model.

    `better` was wrong and is right now, `worse` the other way round; `gained` had no answer and
    has one now, `lost` the other way round; `other_answer` was answered in both, but was read as
    something else.
    """

    before: RunFacts
    after: RunFacts
    differences: tuple[SettingDifference, ...]
    scopes: tuple[ScopeComparison, ...]
    configurations: tuple[ConfigurationFlips, ...]
    answers: Answers
    better: tuple[str, ...]
    worse: tuple[str, ...]
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    other_answer: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def unlike(self) -> tuple[SettingDifference, ...]:
        """The differences that make the runs measure different things."""
        return tuple(difference for difference in self.differences if difference.unlike)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as values JSON can hold, with its schema number."""
        return {"schema": SCHEMA, **asdict(self)}
