"""Score the stored replies of a run again, as a run scores new ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import COMPAT_MODES, Compat, check_compat
from pytest_tablebench.datasets import AskedDataset, Example, Source, cluster_of, open_dataset
from pytest_tablebench.errors import (
    CUT_OFF,
    EMPTY,
    THOUGHTS_ALONE,
    DataError,
    ModelError,
    NotJudgedError,
    SettingsError,
)
from pytest_tablebench.generate.question_maker import Conversation, values_of
from pytest_tablebench.metrics import Judgement, Score
from pytest_tablebench.metrics.steps import Ask, Step
from pytest_tablebench.metrics.unclear import BY_JUDGE
from pytest_tablebench.models import Reply
from pytest_tablebench.registry import Registry
from pytest_tablebench.results.judged_cases import BY_PEOPLE
from pytest_tablebench.results.record import (
    ASSERTION,
    UNCLEAR,
    Record,
    outcome_of_score,
    reaches,
)
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.running.answer import TRUNCATED, StepFacts, step_facts, step_records
from pytest_tablebench.running.asking import CaseAsk, ModelClient
from pytest_tablebench.running.correcting import parts_of_answer
from pytest_tablebench.running.perturbing import scored_example
from pytest_tablebench.running.requests import of_metric
from pytest_tablebench.running.scorer import Scorer, not_judged, relayed, score_fields, score_flags
from pytest_tablebench.serializers.content import digest_of
from pytest_tablebench.strategies import texts_of
from pytest_tablebench.util.names import shortened

_EMPTY_REPLIES = frozenset({CUT_OFF, EMPTY, THOUGHTS_ALONE})
"""The reasons of complete records without an answer that `reference` scores."""


def rescorable(record: Record) -> bool:
    """Return whether the record contains a reply that a metric scored, or without an answer."""
    has_end = record.score is not None or record.reason in _EMPTY_REPLIES
    return has_end and record.raw is not None and record.metric != ASSERTION


def under(record: Record, threshold: float | None) -> Record:
    """Return the record with the verdict of a threshold; unchanged without score or threshold."""
    passed = reaches(record.score, threshold)
    if passed is None or record.metric == ASSERTION:
        return record
    corrected = record.corrected
    if corrected is not None and corrected.get("score") is not None:
        corrected = {**corrected, "passed": reaches(corrected["score"], threshold)}
    outcome = outcome_of_score(record.score, passed)
    return replace(record, threshold=threshold, passed=passed, outcome=outcome, corrected=corrected)


@dataclass
class Opener:
    """Opens the datasets of a run, and checks that their data is the run's."""

    path: Path
    run: RunFacts
    compat: Compat
    data: Path
    registry: Registry
    notes: list[str] = field(default_factory=list)
    _sources: dict[str, Source] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.seed = self.run.seed or 0
        self.old = check_compat(self.run.compat or COMPAT_MODES[0])
        if self.old != self.compat:
            self.notes.append(
                f"compat {self.compat} judges replies to prompts that were made in compat "
                f"{self.old}"
            )

    def source(self, name: str) -> Source:
        """Open a dataset, once. Raises `DataMissing`, or `DataError` for a file that differs."""
        if name not in self._sources:
            self._sources[name] = self._open(name)
        return self._sources[name]

    def _open(self, name: str) -> Source:
        if name not in self.registry.datasets:
            raise SettingsError(
                f"dataset {name!r} is neither built in nor a folder of "
                f"{self.data}, so its answers cannot be scored again: name the conftest.py that "
                f"registers it with --plugin FILE, or leave out --bench-compat to change only "
                f"thresholds and gates"
            )
        dataset = self.registry.datasets[name]
        folder = self.data / dataset.folder
        source = open_dataset(dataset, folder, compat=self.old, settings=self.run.entries)
        self._check_digests(name, folder, source.facts.files)
        if self.old != self.compat:
            source = open_dataset(dataset, folder, compat=self.compat, settings=self.run.entries)
        return source

    def _check_digests(self, name: str, folder: Path, files: Mapping[str, str]) -> None:
        recorded = self.run.files(name)
        if recorded is None:
            raise SettingsError(
                f"{self.path / 'run.json'} does not list the files of {name} that the run used, "
                f"so its answers cannot be scored again"
            )
        for file, digest in recorded.items():
            if files.get(file) != digest:
                raise DataError(
                    f"{name}: {file} in {folder} is not the file that the run "
                    f"used (SHA-256 {str(files.get(file, 'none'))[:12]}, the run had "
                    f"{shortened(str(digest), 12)}); name the folder with that data: "
                    f"--bench-data=DIR"
                )


_UNSCORED: dict[str, Any] = {
    **dict.fromkeys(("score", "threshold", "passed", "part", "metric")),
    "outcome": "no_answer",
    "parts": {},
}
"""The fields of a record without a score."""

_OF_SCORES = re.compile(f"({UNCLEAR}|{BY_JUDGE}|{BY_PEOPLE}|not_judged)$|judge_")
"""Flags about a score, or about a judge's reply."""


_question = attrgetter("dataset", "example_id")


@dataclass
class _JudgeSteps:
    """What a metric's conversation did: its steps, and whether a judge's reply is missing."""

    is_asked: bool = False
    is_missing: bool = False
    done: int = 0
    """The number of steps with an outcome."""
    steps: list[StepFacts] = field(default_factory=list)


@dataclass
class Replay:
    """Scores the replies of records again, each different reply to a question once.

    Arguments:
        opener: opens the datasets.
        client: answers the questions of metrics.
        judge: the judge; None without one.
        by_new_judge: whether only answers that a judge marks are scored.
        named: the datasets whose thresholds an option sets.
        records: the records, with their thresholds.
    """

    opener: Opener
    client: ModelClient
    judge: str | None
    by_new_judge: bool = field(default=False, kw_only=True)
    named: Collection[str] = field(default=(), kw_only=True)
    records: list[Record] = field(default_factory=list, kw_only=True)

    def __post_init__(self) -> None:
        self._scorer = Scorer(self.opener.registry, self.judge, self.opener.compat)
        self._scored: dict[str, Record] = {}

    def scored(self) -> list[Record]:
        """Return the records in the same order, scored again and judged by their thresholds."""
        values_of(self.client.converse(self.conversations()))
        return [self._scored.get(record.case_id, record) for record in self.records]

    def conversations(self) -> Iterator[Conversation[None]]:
        """Yield a conversation for each different reply, which scores its records.

        Each example is loaded once, and none is kept.
        """
        replies = filter(self._has_reply, sorted(self.records, key=_question))
        for (dataset, example_id), group in groupby(replies, _question):
            example = self.opener.source(dataset).example(example_id)
            yield from self._by_reply(example, list(group))

    def _has_reply(self, record: Record) -> bool:
        if not self.by_new_judge:
            return rescorable(record)
        is_scored = record.metric != ASSERTION and record.reason not in _EMPTY_REPLIES
        return record.raw is not None and is_scored

    def _by_reply(self, plain: Example, records: Iterable[Record]) -> Iterator[Conversation[None]]:
        cluster, registry = cluster_of(plain), self.opener.registry
        examples: dict[str, Example] = {}
        groups: dict[tuple[str | None, ...], list[Record]] = {}
        for record in records:
            name, form = record.perturbation, self._scorer.form(record, plain)
            if self.by_new_judge and not self._is_judged(record, form):
                continue
            clustered = replace(record, cluster=record.cluster or cluster)
            missing = _missing(record, form) if self.opener.compat == "fixed" else None
            if missing is not None:
                flags = tuple(flag for flag in record.flags if flag != TRUNCATED)
                fields = {**_UNSCORED, "reason": missing, "flags": flags}
                self._scored[record.case_id] = replace(clustered, **fields)
                continue
            if name not in examples:
                seed = self.opener.seed
                examples[name] = scored_example(plain, registry.perturbations, name, seed)
            # A judge is asked again at each repeat.
            key = record.raw, record.metric, record.part, str(record.repeat), record.strategy
            changed = None if examples[name] is plain else name
            groups.setdefault((*key, changed), []).append(clustered)
        for group in groups.values():
            yield self._score(group, plain, examples[group[0].perturbation])

    def _is_judged(self, record: Record, form: AskedDataset) -> bool:
        decides_unclear = self._scorer.decides_unclear(form.metric)
        if decides_unclear and {UNCLEAR, BY_JUDGE}.isdisjoint(record.flags):
            return False
        return record.metric in {None, form.metric} and self._scorer.has_judge(form.metric)

    def _score(
        self, records: Sequence[Record], plain: Example, example: Example
    ) -> Conversation[None]:
        """Score records with equal replies; `plain` is the example before the perturbation."""
        first, judged = records[0], _JudgeSteps()
        try:
            reply = yield from self._reply(first, example, self.opener.compat, judged)
            score, prediction = reply
            part = yield from self._part(first, example, score)
            fields = {
                **score_fields(score, prediction, {}, part),
                "references": example.references,
                "reason": None,
                "metric": first.metric or self._scorer.form(first, example).metric,
            }
            flags = score_flags(score)
            if judged.is_missing and "not_judged" not in flags:
                flags = ("not_judged", *flags)
        except NotJudgedError as error:
            fields = {**_UNSCORED, "reason": error.reason, "parts": error.parts}
            flags = error.flags
        if self.by_new_judge and not judged.is_asked:
            return
        for number, record in enumerate(records):
            parts = {**fields["parts"], **parts_of_answer(record, self.opener.registry)}
            all_flags = tuple(dict.fromkeys([*_answer_flags(record), *flags]))
            scored = replace(record, **{**fields, "parts": parts, "flags": all_flags})
            if self.by_new_judge:
                # The first case with this reply has paid for the judge.
                steps = [replace(s, from_store=s.from_store or number > 0) for s in judged.steps]
                scored = with_judge_steps(scored, steps)
            self._scored[record.case_id] = self._with_verdict(scored, plain)

    def _part(
        self, record: Record, example: Example, score: Score
    ) -> Generator[Any, Any, str | None]:
        """Return the part that counts: the recorded one, if it was not the metric's main part.

        The main part may depend on the mode, so the run's own mode decides.
        """
        named, old = record.part, self.opener.old
        if self.by_new_judge or named not in score.parts:
            return None
        if named != score.part and old != self.opener.compat:
            before = yield from self._reply(record, example, old, _JudgeSteps())
            if before[0].part == named:
                return None
        return named

    def _reply(
        self, record: Record, example: Example, compat: Compat, judged: _JudgeSteps
    ) -> Generator[Any, Any, tuple[Score, Any]]:
        scorer, reply = replace(self._scorer, compat=compat), str(record.raw)
        form = scorer.form(record, example)
        if record.metric not in {None, form.metric}:  # the suite named another metric
            prediction, _ = scorer.texts(form, reply, example.references)
            return scorer.score_by(str(record.metric), form, example, reply), prediction
        conversation = scorer.begin(record, example, reply)
        if conversation is not None:
            prediction, _ = scorer.texts(form, reply, example.references)
            score = yield from self._judgement(conversation, record, of_metric(form.metric), judged)
            return score, prediction
        scored = scorer.score(form, example, reply)
        if scored.score is None:
            raise SettingsError(f"dataset {record.dataset!r} has no metric")
        return scored.score, scored.prediction

    def _judgement(
        self, conversation: Judgement, record: Record, subject: str, judged: _JudgeSteps
    ) -> Generator[Any, Any, Score]:
        """Follow a metric's conversation. A missing outcome is a `NotJudgedError` in it."""

        def outcome_of(step: Step) -> Generator[Any, Any, Any]:
            try:
                if not isinstance(step, Ask):
                    outcome = yield step
                elif step.model is None and self.judge is None:
                    raise NotJudgedError("the run had no judge", no_judge=True)
                else:
                    judged.is_asked |= step.model is None
                    number = judged.done
                    outcome = yield CaseAsk(
                        **vars(step), case=record, subject=subject, number=number
                    )
                    facts, model = step_facts(step, outcome), step.model or self.judge
                    judged.steps.append(replace(facts, model=model, text=outcome.written))
            except (ModelError, NotJudgedError) as error:
                judged.is_missing = True
                raise not_judged(error) from None
            judged.done += 1
            return outcome

        return (yield from relayed(conversation, outcome_of))

    def _with_verdict(self, record: Record, example: Example) -> Record:
        """Return a scored record with the verdict of its threshold, else of the dataset's.

        Free text has no verdict without a named threshold, although earlier versions gave one.
        """
        dataset = self.opener.registry.datasets[record.dataset]
        has_verdict, is_named = example.has_verdict, record.dataset in self.named
        is_usual = record.threshold in {None, dataset.threshold}
        if is_usual and not (has_verdict or is_named):
            outcome = outcome_of_score(record.score, None)
            return replace(record, outcome=outcome, passed=None, threshold=None)
        return under(record, dataset.threshold if record.threshold is None else record.threshold)


def _answer_flags(record: Record) -> list[str]:
    """Return the flags of a record that are about its answer, not about its score."""
    is_cut = [TRUNCATED] if record.reason == CUT_OFF else []
    return [*is_cut, *(flag for flag in record.flags if not _OF_SCORES.match(flag))]


def _missing(record: Record, form: AskedDataset) -> str | None:
    """Return the reason why a reply of a record contains no answer; None for an answer.

    Earlier versions scored such replies. A program's output does not show it.
    """
    if record.reason in _EMPTY_REPLIES or form.place == "printed":
        return record.reason
    if record.steps and TRUNCATED not in record.flags:
        return None
    raw = str(record.raw)
    replies = texts_of(raw) if form.several else [raw]
    end = "length" if TRUNCATED in record.flags else "stop"
    return next((reason for text in replies if (reason := Reply(text, end).missing)), None)


def with_judge_steps(record: Record, judging: Sequence[StepFacts]) -> Record:
    """Return a record with new replies of a judge and the old steps of the answer."""
    answer = [step for step in record.steps if not step_of_judge(step)] or [_answer_step(record)]
    # `_NO_STEP` comes first because `step_records` leaves out a single step.
    replies = step_records([_NO_STEP, *judging])[1:]
    return replace(record, steps=(*answer, *replies))


_NO_STEP = StepFacts("ask", "", None)


def step_of_judge(step: Mapping[str, Any]) -> bool:
    """Return whether a step is a judge's reply; only these contain a text."""
    return "text" in step


def _answer_step(record: Record) -> dict[str, Any]:
    """Return the only step of an answer, which records leave out without a judge."""
    outcome = "length" if TRUNCATED in record.flags else None
    facts = {name: getattr(record, name) for name in _OF_STEP}
    digest = digest_of(record.raw or "")
    return {"kind": "ask", "digest": digest, "outcome": outcome, "model": None, **facts}


_OF_STEP = ("latency_s", "prompt_tokens", "completion_tokens", "cost_usd", "from_store")
