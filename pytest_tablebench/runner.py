"""From a case to a record: load, perturb, render, ask, read, score. Knows nothing of pytest."""

from __future__ import annotations

import contextlib
import hashlib
import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.cases import Case, cross
from pytest_tablebench.errors import DataError, DataMissing, ModelError, SettingsError, TableError
from pytest_tablebench.metrics import Score, score
from pytest_tablebench.models import Reply, Request, ask
from pytest_tablebench.names import printable, unknown_name
from pytest_tablebench.perturbations import GRID, apply_perturbation, parse_perturbation
from pytest_tablebench.results import Outcome, Record
from pytest_tablebench.scoring import judge_reply
from pytest_tablebench.serializers import SERIALIZERS
from pytest_tablebench.settings import Settings, check_names
from pytest_tablebench.strategies import Demonstration, DemonstrationPool, assemble
from pytest_tablebench.table import Table

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Dataset, Example, Source
    from pytest_tablebench.models import Provider
    from pytest_tablebench.registry import Registry

__all__ = ["Answer", "CaseRun", "Runner"]

STOP_AFTER = 3
"""Failures in a row that no other case can survive either, until the run stops."""


@dataclass(frozen=True)
class Answer:
    """What a model said about a case, whichever number of calls it took."""

    text: str
    flags: tuple[str, ...] = ()
    calls: int = 1
    latency_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None

    def __str__(self) -> str:
        return self.text


@dataclass
class CaseRun:
    """A case while it runs: what the `case` fixture hands to a test.

    `example` holds the question as the model is asked it: perturbed.
    """

    case: Case
    threshold: float
    runner: Runner = field(repr=False)
    example: Example | None = field(default=None, repr=False)
    prompt: str | None = field(default=None, repr=False)
    answer: Answer | None = None
    error: Exception | None = None
    prediction: Any = field(default=None, repr=False)
    score: Score | None = None
    value: float | None = None
    metric: str | None = None

    @property
    def id(self) -> str:
        """The case id: dataset/example/serializer/perturbation."""
        return self.case.case_id

    @property
    def dataset(self) -> Dataset:
        """The dataset the case belongs to."""
        return self.runner.registry.datasets[self.case.dataset]

    def ask(self) -> Answer:
        """Ask the model. Raises `ModelError`, `TableError` or `DataError`: there is no answer."""
        try:
            self.example, self.prompt = self.runner.render(self.case)
            self.answer = self.runner.converse(self.case, self.prompt)
        except Exception as error:
            self.error = error
            raise
        return self.answer

    def judge(self, answer: Answer, part: str | None = None) -> float:
        """Score an answer by the dataset's chain and metric, and keep the score.

        `part` names the number of the metric that counts, or another registered metric;
        without it the metric's own main score counts. Returns a value in 0..1. Raises
        `SettingsError` when neither the metric's parts nor the registry know the name.
        """
        if self.example is None:
            raise SettingsError(f"{self.id}: judge an answer after asking for it")
        compat, registry = self.runner.settings.compat, self.runner.registry
        judged = judge_reply(
            registry,
            self.dataset,
            answer.text,
            self.example.references,
            compat=compat,
            **self.example.context,
        )
        self.prediction, self.metric, scored = judged.prediction, self.dataset.metric, judged.score
        if part is not None and part not in scored.parts:
            self.metric = part
            scored = score(
                part, judged.prediction, judged.references, compat=compat, metrics=registry.metrics
            )
        self.score = scored
        self.value = scored.parts.get(part, scored.value) if part else scored.value
        return self.value

    def record(self, outcome: Outcome, reason: str | None = None) -> Record:
        """Return the case's record; a test without our assertions counts as 0 or 1."""
        case, answer, example = self.case, self.answer, self.example
        answered = outcome != "no_answer"
        value = self.value if self.value is not None else float(outcome == "right")
        return Record(
            case_id=case.case_id,
            model=case.model,
            benchmark=self.dataset.benchmark,
            dataset=case.dataset,
            example_id=case.example_id,
            serializer=case.serializer,
            perturbation=case.perturbation,
            strategy="direct",
            modality="text",
            outcome=outcome,
            score=value if answered else None,
            passed=outcome == "right" if answered else None,
            metric=(self.metric or "assertion") if answered else None,
            parts=dict(self.score.parts) if self.score and answered else {},
            prediction=self.prediction if answered else None,
            raw=answer.text if answer else None,
            references=example.references if example else (),
            reason=None if answered else reason,
            flags=answer.flags if answer else (),
            prompt_digest=digest(self.prompt) if self.prompt is not None else None,
            latency_s=answer.latency_s if answer else None,
            prompt_tokens=answer.prompt_tokens if answer else None,
            completion_tokens=answer.completion_tokens if answer else None,
            cost_usd=answer.cost_usd if answer else None,
        )


def digest(text: str) -> str:
    """Return the first 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def no_answer_reason(error: BaseException) -> str:
    """Return the short kind under which a case without an answer is counted."""
    if isinstance(error, ModelError):
        return error.reason
    if isinstance(error, TableError):
        return "unusable_table"
    if isinstance(error, DataError):
        return "unusable_data"
    return "test_error"


def no_answer_text(error: Exception) -> str:
    """Return one line on why there is no answer, safe to print."""
    return f"no answer ({no_answer_reason(error)}): {printable(str(error), 800)}"


class Runner:
    """Runs cases of one session in one process; opens each dataset and model once."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self.settings = settings
        self.registry = registry
        self._providers: dict[str, Provider] = {}
        self.check()
        self.serializers = settings.serializers or tuple(SERIALIZERS)
        self.perturbations = settings.perturbations or GRID
        configurations = len(self.serializers) * len(self.perturbations)
        if (settings.configs_per_example or 1) > configurations:
            raise SettingsError(
                f"--bench-configs-per-example {settings.configs_per_example}: the grid has only "
                f"{configurations} configurations"
            )
        self.calls = 0
        self.missing: dict[str, str] = {}
        self.stopped: str | None = None
        self._failures = 0
        self._sources: dict[str, Source] = {}
        self._pools: dict[Hashable, DemonstrationPool] = {}
        # Cases of one example follow each other; demonstrations recur all through a run.
        self._perturbed = lru_cache(maxsize=64)(self._load_perturbed)
        self._demonstration = lru_cache(maxsize=4096)(self._load_demonstration)

    def check(self) -> None:
        """Raise `SettingsError` for a name in the settings that nobody registered."""
        registry, settings = self.registry, self.settings
        check_names("dataset", settings.datasets, registry.datasets)
        check_names("serializer", settings.serializers, registry.serializers)
        check_names("dataset", tuple(settings.thresholds), registry.datasets, "--bench-threshold")
        for model in settings.models:
            if model.startswith("tablebench/"):
                try:
                    self._provider(model)  # made at once: a name or file that is wrong says so
                except SettingsError as error:
                    raise SettingsError(f"--bench-model: {error}") from None
        for text in settings.perturbations or ():
            try:
                self._check_perturbation(text)
            except (SettingsError, TypeError) as error:
                raise SettingsError(f"--bench-perturbation: {error}") from None

    def _check_perturbation(self, text: str) -> None:
        name, arguments = parse_perturbation(text)
        if name not in self.registry.perturbations:
            raise SettingsError(unknown_name("perturbation", name, self.registry.perturbations))
        # A table that shows at once whether the arguments are known.
        probe = Table(("a", "b"), (("1", "2"), ("3", "4")))
        with contextlib.suppress(TableError):  # this small table may lack what they name
            apply_perturbation(
                self.registry.perturbations[name], probe, name, seed=0, arguments=arguments
            )

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
        limit = self.settings.limit or self.registry.datasets[dataset].limit
        source = self.source(dataset)
        ids = source.example_ids(limit)
        if not ids:
            first = f"; first problem: {source.problems[0]}" if source.problems else ""
            raise DataError(f"dataset {dataset!r}: no usable example{first}")
        return cross(
            dataset,
            ids,
            self.serializers,
            self.perturbations,
            self.settings.models,
            per_example=self.settings.configs_per_example,
            seed=self.settings.seed,
        )

    def count_problems(self) -> int:
        """Return the number of unusable rows found so far."""
        return sum(len(source.problems) for source in self._sources.values())

    def dataset_facts(self) -> dict[str, Any]:
        """Return, for each opened dataset, its files' digests, notes and unusable rows."""
        return {
            name: {
                "files": dict(source.facts.files),
                "notes": list(source.facts.notes),
                "problems": [str(problem) for problem in source.problems],
            }
            for name, source in sorted(self._sources.items())
        }

    def start(self, case: Case, threshold: float | None = None) -> CaseRun:
        """Return the case, ready to be asked; ini and option outrank the marker's threshold."""
        own = self.registry.datasets[case.dataset].threshold
        marked = own if threshold is None else threshold
        return CaseRun(case, self.settings.thresholds.get(case.dataset, marked), self)

    def render(self, case: Case) -> tuple[Example, str]:
        """Return the perturbed example and its prompt."""
        dataset, serializer = self.registry.datasets[case.dataset], case.serializer
        example, chosen = self._perturbed(case.dataset, case.example_id, case.perturbation)
        to_text = self.registry.serializers[serializer]
        parts = dataset.prompt(example, to_text)
        demonstrations = [
            self._demonstration(case.dataset, index, case.perturbation, serializer)
            for index in chosen
        ]
        return example, assemble(parts, demonstrations, compat=self.settings.compat)

    def _change(self, perturbation: str) -> Callable[[Table], Table]:
        name, arguments = parse_perturbation(perturbation)
        function, seed = self.registry.perturbations[name], self.settings.seed
        return lambda table: apply_perturbation(
            function, table, name, seed=seed, arguments=arguments
        )

    def _pool(self, dataset: str, perturbation: str) -> DemonstrationPool:
        key = dataset, perturbation
        if key not in self._pools:
            self._pools[key] = DemonstrationPool(
                self.source(dataset).pool, self._change(perturbation)
            )
        return self._pools[key]

    def _load_perturbed(
        self, dataset: str, example_id: str, perturbation: str
    ) -> tuple[Example, list[int]]:
        """Return the perturbed example and the pool indices of its demonstrations."""
        plain = self.source(dataset).example(example_id)
        example = plain.with_tables(self._change(perturbation))
        shots = self.settings.shots
        if shots is None:
            shots = self.registry.datasets[dataset].shots
        if not shots:
            return example, []
        if self.settings.demos == "fixed":
            # Drawn as for the plain table, and shown perturbed like the example.
            pool, drawn_for = self._pool(dataset, "none"), plain
        else:
            pool, drawn_for = self._pool(dataset, perturbation), example
        return example, pool.draw(drawn_for, shots, seed=self.settings.seed)

    def _load_demonstration(
        self, dataset: str, index: int, perturbation: str, serializer: str
    ) -> Demonstration:
        shown = self._pool(dataset, perturbation)[index]
        to_text = self.registry.serializers[serializer]
        parts = self.registry.datasets[dataset].prompt(shown, to_text)
        return Demonstration(parts.source, shown.target)

    def converse(self, case: Case, prompt: str) -> Answer:
        """Ask the model, in as many steps as the strategy takes. Raises `ModelError`."""
        if self.stopped is not None:
            raise ModelError(self.stopped, reason="stopped")
        conversation = self.registry.strategies["direct"].converse(prompt)
        replies: list[Reply] = []
        started = time.perf_counter()
        try:
            messages = next(conversation)
            while True:
                request = Request(
                    case.model, messages, self.settings.request_params, case_id=case.case_id
                )
                replies.append(
                    ask(self._provider(case.model), request, retries=self.settings.retries)
                )
                self.calls += 1
                messages = conversation.send(replies[-1])
        except StopIteration as done:
            self._failures = 0
            return _answer(str(done.value), replies, time.perf_counter() - started)
        except ModelError as error:
            self._note_failure(error)
            raise

    def _provider(self, model: str) -> Provider:
        if model not in self._providers:
            self._providers[model] = self.registry.provider(model, self.settings)
        return self._providers[model]

    def _note_failure(self, error: ModelError) -> None:
        self._failures = self._failures + 1 if error.whole_run else 0
        if self._failures >= STOP_AFTER:
            self.stopped = f"stopped after {STOP_AFTER} cases in a row without an answer: {error}"


def _answer(text: str, replies: list[Reply], elapsed: float) -> Answer:
    flags = ("truncated",) if any(reply.finish_reason == "length" for reply in replies) else ()
    return Answer(
        text=text,
        flags=flags,
        calls=len(replies),
        latency_s=_total([reply.latency_s for reply in replies]) or round(elapsed, 6),
        prompt_tokens=_total([reply.prompt_tokens for reply in replies]),
        completion_tokens=_total([reply.completion_tokens for reply in replies]),
        cost_usd=_total([reply.cost_usd for reply in replies]),
    )


def _total(values: list[Any]) -> Any:
    """Sum, or None when any part is unknown."""
    if not values or any(value is None for value in values):
        return None
    return sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)
