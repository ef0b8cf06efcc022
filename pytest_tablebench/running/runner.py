"""Run the cases of a session in one process. Imports nothing of pytest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

from pytest_tablebench.config.secrets import without_secrets
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import Example, Source, open_dataset
from pytest_tablebench.datasets.case import Case, cross
from pytest_tablebench.errors import (
    DataError,
    DataMissing,
    NothingToAskError,
    SmallPoolError,
    described,
)
from pytest_tablebench.registry import Registry
from pytest_tablebench.running._conversation import ConversationDriver, Conversations
from pytest_tablebench.running._lookup import PictureKeeper, StepLookup
from pytest_tablebench.running._prefetch import PrefetchWindow
from pytest_tablebench.running._rendering import Renderer
from pytest_tablebench.running.axes import Axes
from pytest_tablebench.running.case import CaseRun
from pytest_tablebench.running.correcting import Correcting, correction_files
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.running.requests import metric_params, of_metric, prompt_digest
from pytest_tablebench.running.scorer import Scorer, asked_by
from pytest_tablebench.util.names import counted


class Runner:
    """Runs cases of one session in one process; opens each dataset and model once."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self.settings = settings
        self.registry = registry
        self.axes = Axes(settings, registry)
        self.models = ProviderPool(settings, registry, self._params)
        self.missing: dict[str, str] = {}
        self.left_out: dict[str, dict[str, int]] = {}
        """Number of cases that do not apply and were not collected, by dataset and reason."""
        self.shards: dict[str, list[int]] = {}
        """Number of examples in each shard, by dataset."""
        self._judge_prompts: dict[str, str | None] = {}
        self.inapplicable: list[str] = []
        """Datasets without an applicable case in this shard."""
        self.selected: tuple[str, ...] = ()
        """The datasets of the run, once its cases are selected."""
        self._sources: dict[str, Source] = {}
        self.renderer = Renderer(settings, registry, self.source, self.axes.shots)
        self.scorer = Scorer(
            registry,
            settings.judge,
            settings.compat,
            score_there=settings.score_there and not settings.replay,
        )
        self.conversations = Conversations(
            self.renderer.task,
            registry.strategies,
            self.models.route,
            lambda case: asked_by(registry, case.dataset, case.strategy).reply_form,
            settings.format_retries,
        )
        self.pictures = PictureKeeper()
        lookup = StepLookup(
            driver=ConversationDriver(self.conversations, perf_counter, self.scorer),
            store=self.models.store,
            max_reply=settings.max_reply,
            replay=settings.replay,
            keys=self.models.keys,
            pictures=self.pictures,
        )
        self.prefetch = PrefetchWindow(
            lookup=lookup,
            executor=self.models.executor(),
            models=settings.models,
            leave_out=self.models.leave_out,
        )

    def source(self, dataset: str) -> Source:
        """Open a dataset's files, once. Raises `DataMissing` or `DataError`."""
        if dataset not in self._sources:
            declared = self.registry.datasets[dataset]
            folder: Path = self.settings.data_folder() / declared.folder
            try:
                self._sources[dataset] = open_dataset(
                    declared, folder, compat=self.settings.compat, settings=vars(self.settings)
                )
            except DataMissing as error:
                self.missing[dataset] = str(error)
                raise
        return self._sources[dataset]

    @cached_property
    def correcting(self) -> Correcting | None:
        """The corrections of the run; None without any. Raises `SettingsError` for a bad file."""
        settings = self.settings
        files = correction_files(settings, self.registry, self.selected)
        if not files:
            return None
        return Correcting(files, self.scorer, self.source, settings.seed)

    def example(self, case: Case) -> Example:
        """Return a case's example. Raises `TableError` or `DataError`."""
        return self.renderer.example(case)

    def cases(self, dataset: str) -> tuple[list[Case], list[str]]:
        """Return a dataset's cases and node ids. Raises `DataError` when none is usable."""
        source = self.source(dataset)
        ids = self._example_ids(dataset, source)
        if not ids:
            first = f"; first problem: {source.problems[0]}" if source.problems else ""
            raise DataError(f"dataset {dataset!r}: no usable example{first}")
        self._require_pool(dataset, source)
        defaults, serializers = self.axes.defaults(dataset), self.axes.serializers(dataset)
        cases, node_ids = cross(
            dataset,
            ids,
            tuple(dict.fromkeys(chain.from_iterable(serializers.values()))),
            defaults.perturbations,
            self.settings.models,
            shown=self.axes.modalities_by_serializer(dataset),
            by_strategy=serializers,
            per_example=self.settings.configs_per_example,
            seed=self.settings.seed,
            repeats=self.settings.repeats,
            only=self._own_part(dataset, source, ids),
            **self.axes.modes(dataset),
        )
        if not cases:
            self.axes.check_declared(dataset)
        return self._that_apply(dataset, source, cases, node_ids)

    def _require_pool(self, dataset: str, source: Source) -> None:
        """Raise `SmallPoolError` where a dataset with too few demonstrations is to be skipped."""
        if self.settings.small_pool != "skip":
            return
        shots = self.axes.shots(dataset)
        available = _demonstrations(source, shots)
        if available < shots:
            self.missing[dataset] = (
                f"its pool has {counted(available, 'demonstration')}, not {shots:,}; "
                f"--bench-small-pool=fewer asks with those"
            )
            raise SmallPoolError(self.missing[dataset])

    def _that_apply(
        self, dataset: str, source: Source, cases: list[Case], node_ids: list[str]
    ) -> tuple[list[Case], list[str]]:
        refuses = cache(self.registry.datasets[dataset].refuses)
        why = cache(source.does_not_apply)
        reasons = [
            refuses(case.strategy) or why(case.example_id, case.serializer, case.perturbation)
            for case in cases
        ]
        # Each model has its own run folder, which counts the cases of that model.
        counts = Counter(
            str(reason)
            for case, reason in zip(cases, reasons, strict=True)
            if reason is not None and case.model == self.settings.models[0]
        )
        self.left_out[dataset] = dict(counts.most_common())
        if not counts:
            return cases, node_ids
        kept = [index for index, reason in enumerate(reasons) if reason is None]
        if not kept and self.settings.shard is not None:  # other shards may have such cases
            self.inapplicable.append(dataset)
        elif not kept:
            raise NothingToAskError(f"dataset {dataset!r}: no case applies: {', '.join(counts)}")
        return [cases[index] for index in kept], [node_ids[index] for index in kept]

    def _example_ids(self, dataset: str, source: Source) -> Sequence[str]:
        sample = self.settings.sample
        if sample is not None:
            from pytest_tablebench.datasets import sampled_ids

            return sampled_ids(source, sample, name=dataset, seed=self.settings.seed)
        return source.example_ids(self.axes.defaults(dataset).limit)

    def _own_part(self, dataset: str, source: Source, ids: Sequence[str]) -> Collection[str] | None:
        if self.settings.shard is None:
            return None
        from pytest_tablebench.datasets import shard_numbers

        this_part, count = map(int, self.settings.shard.split("/"))
        numbers = shard_numbers(source, ids, count)
        counts = Counter(numbers)
        self.shards[dataset] = [counts[number] for number in range(1, count + 1)]
        return {name for name, number in zip(ids, numbers, strict=True) if number == this_part}

    def _params(self, subject: str) -> Mapping[str, Any]:
        params = metric_params(subject, self.registry.metrics)
        if params is None:
            return self.axes.params(subject)
        return self.settings.request_params(params, judge=True)

    def judged_metrics(self, datasets: Iterable[str]) -> list[str]:
        """Return the metrics of these datasets that are conversations."""
        return [
            metric
            for name in datasets
            for strategy in self.axes.defaults(name).strategy
            for metric in self.scorer.metrics_with_judge(name, strategy, self.named_metrics(name))
        ]

    def judge_params(self, datasets: Iterable[str]) -> dict[str, Any]:
        """Return the parameters of each metric's requests to the judge."""
        names = dict.fromkeys(self.judged_metrics(datasets))
        return {name: without_secrets(self._params(of_metric(name))) for name in names}

    def judge_prompts(self, datasets: Iterable[str]) -> dict[str, str]:
        """Return the digest of each metric's prompt for the judge; empty without a judge."""
        if self.settings.judge is None:
            return {}
        for name in self.judged_metrics(datasets):
            if name not in self._judge_prompts:
                metric = self.registry.metrics[name]
                self._judge_prompts[name] = prompt_digest(metric, self.settings.compat)
        return {name: digest for name, digest in self._judge_prompts.items() if digest is not None}

    def named_metrics(self, dataset: str) -> Mapping[str, str]:
        """Return the metrics that examples of an opened dataset name, with their places."""
        source = self._sources.get(dataset)
        return {} if source is None else source.metrics

    def count_problems(self) -> int:
        """Return the number of unusable rows found so far."""
        return sum(_count_problems(source) for source in self._sources.values())

    def dataset_facts(self) -> dict[str, Any]:
        """Return the digests of files, notes and unusable rows of each opened dataset."""
        facts_by_dataset = {
            name: _facts_of(source) for name, source in sorted(self._sources.items())
        }
        for name, facts in facts_by_dataset.items():
            for strategy in self.axes.defaults(name).strategy:
                note = asked_by(self.registry, name, strategy).form.note
                if note is not None and note not in facts["notes"]:
                    facts["notes"].append(note)
            shots = self.axes.defaults(name).shots
            available = _demonstrations(self._sources[name], shots)
            if available < shots:
                facts["notes"].append(
                    f"prompts show at most {counted(available, 'demonstration')}, not {shots:,}: "
                    f"the pool has no more"
                )
        return facts_by_dataset

    def start(
        self,
        case: Case,
        threshold: float | None = None,
        position: int | None = None,
        limit: float | None = None,
    ) -> CaseRun:
        """Return a case that is ready to run.

        `threshold` is the marker's, which ini file and option override. `position` is the case's
        place in the plan that `PrefetchWindow.expect` received. `limit` is the threshold of the
        case, if tests over it have other ones.
        """
        test_threshold = self.threshold(case.dataset, threshold)
        is_named = threshold is not None or case.dataset in self.settings.thresholds
        run = self.prefetch.case(case, position)
        run.runner, run.is_threshold_named = self, is_named
        run.threshold, run.limit = test_threshold, test_threshold if limit is None else limit
        return run

    def complete(self, run: CaseRun) -> None:
        """Wait until a case has an answer and the outcome of its metric's steps, or an error."""
        self.prefetch.complete(run)

    def threshold(self, dataset: str, marked: float | None) -> float:
        """Return the threshold of a test over a dataset; `marked` is its marker's."""
        default = self.axes.defaults(dataset).threshold
        return default if marked is None else self.settings.thresholds.get(dataset, marked)


def _demonstrations(source: Source, shots: int) -> int:
    """Return the number of demonstrations in the pool; `shots` if it cannot be determined."""
    try:
        return len(source.pool) if shots else 0
    except Exception:  # an unreadable file, for example, which each case reports
        return shots


def _count_problems(source: Source) -> int:
    try:
        return len(source.problems)
    except Exception:  # an error in a user's dataset, which `_facts_of` reports
        return 1


def _facts_of(source: Source) -> dict[str, Any]:
    try:
        return {
            "files": dict(source.facts.files),
            "notes": list(source.facts.notes),
            "problems": [str(problem) for problem in source.problems],
        }
    except Exception as error:
        return {"files": {}, "notes": [], "problems": [f"no facts: {described(error)}"]}
