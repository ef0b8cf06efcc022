"""The verdict on a run: gates, comparison with a baseline, and early stopping."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.claims.differences import check_alike, latest_run
from pytest_tablebench.claims.gate_names import check_corrected, check_gates, check_selected
from pytest_tablebench.claims.gates import (
    Gate,
    PlannedGate,
    StoppingRule,
    baseline_needed,
    gate_without_baseline,
    parse_gates,
    plan_gates,
)
from pytest_tablebench.claims.verdict import RunVerdict, judge_run
from pytest_tablebench.config.axes import SAME_QUESTION
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import SettingsError, TableBenchError, errors_of
from pytest_tablebench.registry import Registry
from pytest_tablebench.results import read_facts, read_records
from pytest_tablebench.results.labels import read_labels
from pytest_tablebench.results.record import Record
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.writer import RunWriter
from pytest_tablebench.running.axes import Axes
from pytest_tablebench.running.correcting import has_corrections

HINT = "Add --bench-allow-unlike to compare them anyway"


class Verdicts:
    """Judges the runs of one session. Raises `SettingsError` for unusable gates or baselines.

    `reads_baseline`: whether to look for its records too, which one process of a run does.
    """

    def __init__(
        self, settings: Settings, registry: Registry, axes: Axes, *, reads_baseline: bool = False
    ) -> None:
        self.settings = settings
        self._registry = registry
        self._axes = axes
        self.not_judged: list[str] = []
        """Gates of a configuration file whose scope is unknown in this session."""
        with errors_of("--bench-gate"):
            self._gates = parse_gates(settings.gates)
            self._check_corrected(registry.datasets)
            gate = gate_without_baseline(self._gates)
            if settings.baseline is None and gate is not None:
                raise SettingsError(baseline_needed(gate))
        if settings.baseline is not None:
            with errors_of("--bench-baseline"):
                read_facts(settings.baseline)
                if reads_baseline and not sum(1 for _ in read_records(settings.baseline)):
                    raise SettingsError(
                        f"{settings.baseline} has no recorded case, so there is nothing to compare"
                    )
        if settings.labels is not None:
            with errors_of("--bench-labels"):
                read_labels(settings.labels)
        if settings.stop_rule is not None and not self._gates:
            raise SettingsError("--bench-stop-when-decided needs a --bench-gate")
        if settings.stop_rule is not None and any(gate.corrected for gate in self._gates):
            raise SettingsError(
                "--bench-stop-when-decided cannot be used with a gate on @corrected: the rule "
                "follows the scores by the published gold"
            )
        if settings.stop_rule is not None and settings.shard is not None:
            raise SettingsError(
                "--bench-stop-when-decided cannot be used with --bench-shard: one shard cannot "
                "decide the gates of the whole run"
            )
        if settings.stop_rule is not None and settings.repeats > 1:
            raise SettingsError("--bench-stop-when-decided cannot be used with --bench-repeats")
        if settings.gate_point and settings.stop_rule is not None:
            raise SettingsError(
                "--bench-gate-point cannot be used with --bench-stop-when-decided, which judges by "
                "intervals; omit one of them"
            )
        self._rules: dict[str, StoppingRule] = {}

    # Before the run.

    @property
    def gates(self) -> Sequence[Gate]:
        """The gates to judge."""
        return tuple(self._gates)

    def check_names(self, *, lenient: bool = False) -> None:
        """Raise `SettingsError` for a gate with an unknown name.

        With `lenient`, a gate on an unknown scope is moved to `not_judged` instead.
        """
        benchmarks = self._registry.members()
        if lenient:
            names = {*self._registry.datasets, *benchmarks, "all", "run"}
            self.leave_out(gate.text for gate in self._gates if gate.scope not in names)
        with errors_of("--bench-gate"):
            datasets = self._registry.datasets
            check_gates(self._gates, datasets, benchmarks, self._axes.grid(datasets))

    def leave_out(self, texts: Iterable[str]) -> None:
        """Exclude these gates from the verdict."""
        self.not_judged += texts
        self._gates = [gate for gate in self._gates if gate.text not in self.not_judged]

    def check_selected(
        self, selected: Collection[str], missing: Mapping[str, str], *, meant: bool
    ) -> None:
        """Raise `SettingsError` for a gate that has no case in this session.

        Arguments:
            selected: the datasets of the selected cases.
            missing: the datasets without data, and how to get it.
            meant: whether the gates were given on the command line. Gates of a configuration file
                may have no selected case; then they are undecided.
        """
        self._check_single_way(selected)
        if self.settings.shard is not None:  # another shard may have the cases
            return
        unselected = set() if meant else self._registry.datasets.keys() - set(selected)
        self._check_corrected(selected, unselected)
        check_selected(
            self._gates,
            selected,
            missing,
            datasets=self._registry.datasets,
            members=self._registry.members(),
            chosen=self.settings.datasets,
            must_have_cases=meant,
        )

    def _check_corrected(
        self, datasets: Iterable[str], unselected: Collection[str] = frozenset()
    ) -> None:
        """Raise `SettingsError` for a gate on corrected figures if no dataset has corrections.

        Gates on `unselected` datasets are not checked.
        """
        gates = [gate for gate in self._gates if gate.scope not in unselected]
        is_corrected = has_corrections(self.settings, self._registry, datasets)
        check_corrected(gates, has_corrections=is_corrected)

    def _check_single_way(self, selected: Iterable[str]) -> None:
        """Raise `SettingsError` if several modes run, and judging needs one."""
        settings, advice = self.settings, "one --bench-strategy and one --bench-modality"
        for axis in SAME_QUESTION if settings.stop_rule is not None else ():
            if len(settings.names_on(axis)) > 1:
                raise SettingsError(
                    f"--bench-stop-when-decided needs exactly one --bench-{axis.name}"
                )
        for name in selected:
            defaults = self._axes.defaults(name)
            if len(defaults.strategy) == 1 and len(self._axes.modalities(name)) == 1:
                continue
            if settings.stop_rule is not None:
                raise SettingsError(f"--bench-stop-when-decided needs exactly {advice}")
            if settings.baseline is not None:
                raise SettingsError(f"--bench-baseline needs exactly {advice}")

    @property
    def judged_tests(self) -> frozenset[tuple[str, str]]:
        """The tests that gates judge, each as (dataset, test)."""
        return frozenset((gate.scope, gate.check) for gate in self._gates if gate.check)

    def check_baseline(self, writer: RunWriter, models: Iterable[str]) -> None:
        """Raise `SettingsError` if the baseline differs from these runs in more than the model."""
        settings = self.settings
        if settings.baseline is None:
            return
        before = read_facts(settings.baseline)
        for model in models:
            run = writer.run_facts(model)
            if not settings.allow_unlike:
                check_alike(before, run, hint=HINT, different_judges=settings.different_judges)
            check_overlay(self._gates, before, run)

    def planned(
        self,
        cases: Sequence[Case],
        places: Iterable[Path],
        clusters: Mapping[str, Mapping[str, str]],
    ) -> list[PlannedGate]:
        """Return the smallest drop each gate can see with the cases of one model.

        The spread of scores is taken from the baseline. The spread of differences is taken from
        the baseline and an earlier run of the model.

        Arguments:
            cases: the model's cases.
            places: folders to search for an earlier run, in addition to the baseline's parent.
            clusters: the table of each planned example, by dataset.
        """
        benchmarks, baseline = self._benchmarks(cases), self.settings.baseline
        plan = partial(
            plan_gates, benchmarks=benchmarks, altered=self._altered(cases), clusters=clusters
        )
        if baseline is None:
            return plan(self._gates, cases)
        latest = latest_run(cases[0].model, baseline, [baseline.parent, *places])
        runs = [read_records(path) for path in (latest, baseline) if path is not None]
        try:
            return plan(self._gates, cases, runs)
        except TableBenchError:  # unreadable records: plan without them
            return plan(self._gates, cases)

    def _altered(self, cases: Iterable[Case]) -> list[str]:
        names = dict.fromkeys(case.perturbation for case in cases)
        return [name for name in names if not self._axes.preserves_meaning(name)]

    def follow(self, model: str, cases: Sequence[Case], missing: Collection[str]) -> None:
        """Make the stopping rule for a model's run, if the run may stop early.

        `cases` are its selected cases, `missing` the datasets whose files are missing.
        """
        settings = self.settings
        if settings.stop_rule is None or not self._gates:
            return
        baseline = None if settings.baseline is None else read_records(settings.baseline)
        self._rules[model] = StoppingRule(
            self._gates,
            cases,
            baseline=baseline,
            seed=settings.seed,
            benchmarks=self._benchmarks(cases),
            missing=missing,
            altered=self._altered(cases),
        )

    def _benchmarks(self, cases: Iterable[Case]) -> dict[str, list[str]]:
        members: dict[str, list[str]] = {}
        for dataset in dict.fromkeys(case.dataset for case in cases):
            # Only the workers know a dataset that a deeper conftest.py registers.
            if dataset in self._registry.datasets:
                members.setdefault(self._registry.datasets[dataset].benchmark, []).append(dataset)
        return members

    # During the run.

    def feed(self, record: Record) -> None:
        """Add a case's record to the stopping rule of its model."""
        if record.model in self._rules:
            self._rules[record.model].feed(record)

    @property
    def may_stop(self) -> bool:
        """Whether cases remain, none of which can change the verdict."""
        rules = self._rules.values()
        return all(rule.all_decided for rule in rules) and any(
            rule.planned > rule.n_asked for rule in rules
        )

    # After the run.

    @cached_property
    def baseline(self) -> Run | None:
        """The baseline with its answers, read only when the run has ended, to save memory."""
        path = self.settings.baseline
        return None if path is None else load_run(path)

    def judge(self, model: str, loaded: Run, ended: str | None) -> RunVerdict:
        """Return the verdict on a model's run.

        `ended` is why the run is incomplete, None if it is complete.
        """
        settings, baseline = self.settings, self.baseline
        comparison = None
        if baseline is not None:
            comparison = compare_runs(
                baseline,
                loaded,
                allow_unlike=settings.allow_unlike,
                different_judges=settings.different_judges,
            )
        return judge_run(
            loaded,
            self._gates,
            baseline,
            ended=ended,
            point=settings.gate_point,
            rule=self._rules.get(model),
            is_part=settings.shard is not None,
            comparison=comparison,
            uncalibrated=settings.judge_uncalibrated,
        )


def check_overlay(gates: Iterable[Gate], before: RunFacts, run: RunFacts) -> None:
    """Raise `SettingsError` for a corrected gate on a baseline with other corrections."""
    gate = next((gate for gate in gates if gate.corrected and gate.baseline), None)
    if gate is not None and before.overlay != run.overlay:
        raise SettingsError(
            f"--bench-gate {gate.text!r}: the baseline has other corrections of "
            f"the gold, or none; `tablebench rejudge` gives it this run's"
        )
