"""From a case to a record: load, perturb, render, ask, read, score. Knows nothing of pytest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.config.settings import Settings, check_names
from pytest_tablebench.datasets import metric_of
from pytest_tablebench.datasets.case import TEXT, Case, cross
from pytest_tablebench.errors import (
    DataError,
    DataMissing,
    MetricError,
    ModelError,
    SettingsError,
    TableBenchError,
    TableError,
    described,
)
from pytest_tablebench.metrics import Score, score
from pytest_tablebench.results import Outcome, Record
from pytest_tablebench.results._record import ASSERTION
from pytest_tablebench.running.answer import Answer, step_records
from pytest_tablebench.running.axes import Axes
from pytest_tablebench.running.prefetch import PrefetchWindow
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.running.rendering import Renderer
from pytest_tablebench.running.scoring import Judged, judge_reply
from pytest_tablebench.serializers.content import Content, digest_of
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Dataset, Example, Source
    from pytest_tablebench.registry import Registry

__all__ = ["Answer", "CaseRun", "Runner"]

SHOWN, SEARCHED = 800, 4000
"""Characters of an error that are shown, and that are searched for secrets before."""


@dataclass
class CaseRun:
    """A case while it runs: what the `case` fixture hands to a test.

    `example` holds the question as the model is asked it: perturbed. `score`, `value` and
    `prediction` are what the dataset's own metric makes of the answer, as soon as there is one;
    no test changes them. `threshold` is for the assertions of this test, `limit` for the case.
    """

    case: Case
    threshold: float
    limit: float
    runner: Runner = field(repr=False)
    position: int | None = None
    example: Example | None = field(default=None, repr=False)
    prompt: Content | None = field(default=None, repr=False)
    answer: Answer | None = None
    error: Exception | None = None
    prediction: Any = field(default=None, repr=False)
    score: Score | None = None
    value: float | None = None
    _judged: Judged | None = field(default=None, repr=False)

    @property
    def id(self) -> str:
        """The case id: dataset/example/serializer/perturbation."""
        return self.case.case_id

    @property
    def prompt_digest(self) -> str | None:
        """The first 16 hexadecimal digits of the prompt's SHA-256; None without a prompt."""
        return digest_of(self.prompt) if self.prompt is not None else None

    @property
    def dataset(self) -> Dataset:
        """The dataset the case belongs to."""
        return self.runner.registry.datasets[self.case.dataset]

    def ask(self) -> Answer:
        """Ask the model, and score what it says by the dataset's own metric.

        Raises `ModelError`, `TableError` or `DataError`: there is no answer; and `MetricError`.
        """
        pending = self.runner.prefetch.complete(self.case, self.position)
        self.example, self.prompt, self.answer = pending.example, pending.prompt, pending.answer
        self.error = pending.error
        if pending.error is not None:
            raise pending.error
        if pending.answer is None:
            raise RuntimeError(f"{self.id}: the conversation ended without answer or error")
        self._take_score(pending.answer)
        return pending.answer

    @property
    def answered(self) -> bool:
        """Whether there is an answer, with a score where the dataset has a metric."""
        return self.answer is not None and self.error is None

    def _take_score(self, answer: Answer) -> None:
        """Score the answer for the record. Raises `MetricError` where the metric cannot."""
        try:
            self._judged = self._chain(answer)
        except Exception as error:
            name = printable(f"metric {metric_of(self.dataset)!r} of dataset {self.case.dataset}")
            why = str(error) if isinstance(error, TableBenchError) else described(error)
            self.error = MetricError(f"{name} cannot score the answer: {why}")
            raise self.error from None
        self.prediction, self.score = self._judged.prediction, self._judged.score
        self.value = self.score.value if self.score is not None else None

    def _chain(self, answer: Answer) -> Judged:
        if self.example is None:
            raise SettingsError(f"{self.id}: judge an answer after asking for it")
        return judge_reply(
            self.runner.registry,
            self.dataset,
            answer.text,
            self.example.references,
            compat=self.runner.settings.compat,
            **self.example.context,
        )

    def judge(self, answer: Answer, part: str | None = None) -> float:
        """Return the score of an answer by the dataset's chain and metric; records nothing.

        `part` names the number of the metric that counts, or another registered metric;
        without it the metric's own main score counts. Returns a value in 0..1. Raises
        `SettingsError` when neither the metric's parts nor the registry know the name, and
        without a name where the dataset has no metric.
        """
        known = answer is self.answer and self._judged is not None
        judged = self._judged if known else self._chain(answer)
        if judged is None or self.example is None:
            raise SettingsError(f"{self.id}: judge an answer after asking for it")
        scored, metric = judged.score, metric_of(self.dataset)
        if part is None and scored is None:
            raise SettingsError(
                f"dataset {self.case.dataset!r} declares no metric: name one, as in "
                f"assert_score(case, answer, part='exact_match')"
            )
        if part is not None and (scored is None or part not in scored.parts):
            metric = part
            scored = score(
                part,
                judged.prediction,
                judged.references,
                compat=self.runner.settings.compat,
                metrics=self.runner.registry.metrics,
                **self.example.context,
            )
        if scored is None:
            raise SettingsError(f"{self.id}: no metric scored the answer")
        value = scored.parts.get(part, scored.value) if part else scored.value
        if not 0 <= value <= 1:
            raise SettingsError(f"{part!r} of {metric} is {value:g}, no score from 0 to 1")
        return value

    def record(self, checks: Mapping[str, bool | None], error: BaseException | None) -> Record:
        """Return the case's record, with what is known of tests over it.

        Without a metric an answer is right where none of the tests failed. `error` is what there
        is no answer for.
        """
        case, answer, example = self.case, self.answer, self.example
        answered, metric = self.answered, metric_of(self.dataset)
        value = self.value if metric is not None else float(False not in checks.values())
        right = value is not None and value >= (self.limit if metric is not None else 1.0)
        outcome: Outcome = "no_answer" if not answered else "right" if right else "wrong"
        return Record(
            case_id=case.case_id,
            model=case.model,
            benchmark=self.dataset.benchmark,
            dataset=case.dataset,
            example_id=case.example_id,
            serializer=case.serializer,
            perturbation=case.perturbation,
            repeat=case.repeat,
            strategy=case.strategy,
            modality=case.modality,
            outcome=outcome,
            score=value if answered else None,
            threshold=self.limit if answered and metric is not None else None,
            passed=right if answered else None,
            metric=(metric or ASSERTION) if answered else None,
            part=self.score.part if self.score and answered else None,
            parts=dict(self.score.parts) if self.score and answered else {},
            checks=dict(checks),
            prediction=self.prediction if answered and metric is not None else None,
            raw=answer.text if answer else None,
            references=example.references if example else (),
            reason=None if answered else no_answer_reason(error) if error else "not_asked",
            flags=answer.flags if answer else (),
            prompt_digest=self.prompt_digest,
            steps=step_records(answer.steps) if answer else (),
            latency_s=answer.latency_s if answer else None,
            prompt_tokens=answer.prompt_tokens if answer else None,
            completion_tokens=answer.completion_tokens if answer else None,
            cost_usd=answer.cost_usd if answer else None,
            from_store=answer.from_store if answer else False,
        )


def no_answer_reason(error: BaseException) -> str:
    """Return the short kind under which a case without an answer is counted."""
    if isinstance(error, ModelError):
        return error.reason
    if isinstance(error, MetricError):
        return "metric_error"
    if isinstance(error, TableError):
        return "unusable_table"
    if isinstance(error, DataError):
        return "unusable_data"
    return "test_error"


def no_answer_text(error: Exception) -> str:
    """Return one line on why there is no answer or no score, safe to print.

    A provider that somebody wrote may name its address there, password included.
    """
    what = "no score" if isinstance(error, MetricError) else "no answer"
    said = redact(str(error)[:SEARCHED])
    return f"{what} ({no_answer_reason(error)}): {printable(said, SHOWN)}"


class Runner:
    """Runs cases of one session in one process; opens each dataset and model once."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self.settings = settings
        self.registry = registry
        self.models = ProviderPool(settings, registry)
        self.axes = Axes(settings, registry)
        self.missing: dict[str, str] = {}
        self._sources: dict[str, Source] = {}
        self.renderer = Renderer(settings, registry, self.source)
        self.prefetch = PrefetchWindow(
            render=self.renderer.render,
            strategy=registry.strategies["direct"],
            strategies=registry.strategies,
            route=self.models.route,
            store=self.models.store,
            compat=settings.compat,
            executor=self.models.executor,
            models=settings.models,
            retries=settings.retries,
            patience=settings.patience,
            max_reply=settings.max_reply,
            keep=settings.stored,
            replay=settings.replay,
        )

    def check(self, lenient: Collection[str] = ()) -> None:
        """Raise `SettingsError` for what the settings say and nobody can do.

        `lenient` are keys of options whose datasets may be those of another part of the project.
        """
        registry, settings = self.registry, self.settings
        if "bench_dataset" not in lenient:
            check_names("dataset", settings.datasets, registry.datasets)
        self.axes.check()
        if "bench_threshold" not in lenient:
            names = tuple(settings.thresholds)
            check_names("dataset", names, registry.datasets, "--bench-threshold")
        for model in settings.models:
            if model.startswith("tablebench/"):
                try:
                    self.models.provider(
                        model
                    )  # made at once: a name or file that is wrong says so
                except SettingsError as error:
                    raise SettingsError(f"--bench-model: {error}") from None

    def source(self, dataset: str) -> Source:
        """Open a dataset's files, once. Raises `DataMissing` or `DataError`."""
        if dataset not in self._sources:
            found = self.registry.datasets[dataset]
            folder: Path = self.settings.data_folder() / found.folder
            try:
                self._sources[dataset] = found.open(folder, compat=self.settings.compat)
            except DataMissing as error:
                self.missing[dataset] = str(error)
                raise
        return self._sources[dataset]

    def cases(self, dataset: str) -> tuple[list[Case], list[str]]:
        """Return a dataset's cases and node ids. Raises `DataError` when none is usable."""
        source = self.source(dataset)
        ids = self._example_ids(dataset, source)
        if not ids:
            first = f"; first problem: {source.problems[0]}" if source.problems else ""
            raise DataError(f"dataset {dataset!r}: no usable example{first}")
        axes, found, grid = self.axes, self.registry.datasets[dataset], self.axes.of(dataset)
        axes.check_strategy(dataset, found)
        return cross(
            dataset,
            ids,
            *grid,
            self.settings.models,
            strategies=axes.strategies(found),
            modalities=self.settings.modalities or (TEXT,),
            shown=axes.shown(grid.serializers),
            per_example=self.settings.configs_per_example,
            seed=self.settings.seed,
            repeats=self.settings.repeats,
        )

    def _example_ids(self, dataset: str, source: Source) -> Sequence[str]:
        """Return the examples to be asked: a sample, or the first of them."""
        limit, sample = self.settings.limit, self.settings.sample
        if sample is not None:
            from pytest_tablebench.datasets import sampled_ids

            return sampled_ids(source, sample, name=dataset, seed=self.settings.seed)
        if limit is None:
            limit = self.registry.datasets[dataset].limit
        return source.example_ids(None if limit == "all" else limit)

    def benchmark_of(self, dataset: str) -> str:
        """Return the benchmark a dataset belongs to."""
        return self.registry.datasets[dataset].benchmark

    def count_problems(self) -> int:
        """Return the number of unusable rows found so far."""
        return sum(_count_problems(source) for source in self._sources.values())

    def dataset_facts(self) -> dict[str, Any]:
        """Return, for each opened dataset, its files' digests, notes and unusable rows."""
        return {name: _facts_of(source) for name, source in sorted(self._sources.items())}

    def start(
        self,
        case: Case,
        threshold: float | None = None,
        position: int | None = None,
        limit: float | None = None,
    ) -> CaseRun:
        """Return the case, ready to be asked; ini and option outrank the marker's threshold.

        `position` is its place among the cases that `window.expect` was told of, `limit` what
        the case itself is judged by where tests over it have other thresholds.
        """
        own = self.threshold(case.dataset, threshold)
        return CaseRun(case, own, own if limit is None else limit, self, position)

    def threshold(self, dataset: str, marked: float | None) -> float:
        """Return the threshold of a test over a dataset whose marker may name one."""
        default = self.registry.datasets[dataset].threshold
        return self.settings.thresholds.get(dataset, default if marked is None else marked)

    def close(self) -> None:
        """End what is open: connections, files."""
        self.models.close()


def _count_problems(source: Source) -> int:
    try:
        return len(source.problems)
    except Exception:  # a dataset of the user's own; its facts say what went wrong
        return 1


def _facts_of(source: Source) -> dict[str, Any]:
    """Return what a run records of its data; a dataset that cannot tell has that as a problem."""
    try:
        return {
            "files": dict(source.facts.files),
            "notes": list(source.facts.notes),
            "problems": [str(problem) for problem in source.problems],
        }
    except Exception as error:
        return {"files": {}, "notes": [], "problems": [f"no facts: {described(error)}"]}
