"""Read run folders and the examples that they asked into what an audit compares."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tablebench.audit._ballots import AuditedExample, OtherAnswer
from pytest_tablebench.config.axes import DIRECT
from pytest_tablebench.config.compat import COMPAT_MODES, check_compat
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import row_digest
from pytest_tablebench.errors import DataError, SettingsError, TableBenchError
from pytest_tablebench.metrics.normal_form import answer_text, joined_form, normal_form, words_of
from pytest_tablebench.results.folder import read_facts, read_places
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import TEXTS, TranscriptText, read_texts
from pytest_tablebench.running.replay import Opener
from pytest_tablebench.strategies import answer_place
from pytest_tablebench.tables.perturbations import parse_perturbation, takes_questions
from pytest_tablebench.util.names import counted, shortened, unknown_name

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Example, Source
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.results import Record

MOST_WORDS = 15
"""Words of the longest gold that is audited: answers in free text are rarely equal."""


@dataclass
class Collected:
    """The examples of an audit.

    Arguments:
        examples: in the order of datasets and ids.
        models: the model of each voter.
        notes: one line for each thing that could not be read or is not audited.
    """

    examples: list[AuditedExample] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def voters(self) -> list[str]:
        """The names of all voters."""
        return sorted({voter for example in self.examples for voter in example.votes})


class _VotedCase(NamedTuple):
    """What an audit needs of a record."""

    dataset: str
    example_id: str
    model: str
    strategy: str
    answer: Any
    passed: bool
    executed: bool
    transcript: str | None


@dataclass(frozen=True)
class _ReadRun:
    path: Path
    facts: RunFacts
    records: Sequence[_VotedCase]

    @property
    def seed(self) -> str:
        return str(self.facts.seed)


def collect(
    paths: Sequence[Path],
    registry: Registry,
    *,
    data: Path | None = None,
    datasets: Collection[str] | None = None,
) -> Collected:
    """Return the examples that runs asked, with all answers.

    Arguments:
        paths: run folders.
        registry: the datasets, strategies and perturbations.
        data: the data folder; None for the folder of each run.
        datasets: names of the datasets to audit; None for all.

    A dataset that cannot be opened becomes a note. Raises `SettingsError` for a folder that is not
    a run, for an unknown dataset, and if no run contains an answer.
    """
    collector = _Collector(registry, data)
    runs = [collector.read(path) for path in paths]
    present = sorted({record.dataset for run in runs for record in run.records})
    if not present:
        listing = ", ".join(map(str, paths))
        raise SettingsError(f"{listing}: no recorded answer, so there is nothing to audit")
    for name in datasets or ():
        if name not in present:
            raise SettingsError(f"--dataset: {unknown_name('dataset', name, present)}")
    names = _voter_names(runs)
    for run in runs:
        collector.add(run, names, datasets)
    collected = collector.finish()
    collected.models.update({name: model for (model, _, _), name in names.items()})
    return collected


def _voter_names(runs: Iterable[_ReadRun]) -> dict[tuple[str, str, str], str]:
    """Return the name of each voter, by model, strategy and seed."""
    seeds = defaultdict[tuple[str, str], set[str]](set)
    for run in runs:
        for record in run.records:
            seeds[record.model, record.strategy].add(run.seed)
    names = {}
    for (model, strategy), values in seeds.items():
        name = model if strategy == DIRECT else f"{model} ({strategy})"
        for seed in values:
            names[model, strategy, seed] = name if len(values) == 1 else f"{name} seed {seed}"
    return names


class _Collector:
    def __init__(self, registry: Registry, data: Path | None) -> None:
        self._registry, self._data = registry, data
        self._examples: dict[tuple[str, str], AuditedExample] = {}
        self._sources: dict[tuple[str, ...], Source | str] = {}
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._skipped: set[tuple[str, str]] = set()
        self._usable: dict[str, bool] = {}
        self._golds: dict[tuple[str, str, str], str] = {}  # by run and example: the gold's form
        self._notes: list[str] = []

    def read(self, path: Path) -> _ReadRun:
        facts = read_facts(path)
        rows = read_places(path, keep=self._keep)
        records = [record for _, record in rows if record is not None]
        if not records:
            self._notes.append(f"{path}: no recorded answer")
        return _ReadRun(path, facts, records)

    def _keep(self, record: Record) -> _VotedCase | None:
        """Return what the audit needs; None for a case that says nothing about the gold."""
        if record.passed is None or record.score is None:
            return None
        if not (record.preserves_meaning and self._keeps_answer(record.perturbation)):
            return None
        executed = any(
            step.get("kind") == "execute" and step.get("outcome") == "ok" for step in record.steps
        )
        answer = record.raw if record.prediction is None else record.prediction
        names = record.dataset, record.example_id, record.model, record.strategy
        return _VotedCase(*names, answer, record.passed, executed, record.transcript)

    def _keeps_answer(self, perturbation: str) -> bool:
        if perturbation not in self._usable:
            function = self._registry.perturbations.get(parse_perturbation(perturbation)[0])
            self._usable[perturbation] = function is None or not takes_questions(function)
        return self._usable[perturbation]

    def add(
        self,
        run: _ReadRun,
        names: Mapping[tuple[str, str, str], str],
        datasets: Collection[str] | None,
    ) -> None:
        """Add the answers of a run."""
        transcripts = self._transcripts(run)
        for record in run.records:
            if datasets is not None and record.dataset not in datasets:
                continue
            example = self._example(run, record.dataset, record.example_id)
            if example is None:
                continue
            form, gold_form = normal_form(record.answer), example.gold_form
            if record.passed:
                # A run over another version of the data has another gold.
                gold = self._golds.get((str(run.path), *example.key), gold_form)
                form = gold
            if not form:
                continue
            voter = names[record.model, record.strategy, run.seed]
            example.votes.setdefault(voter, Counter())[form] += 1
            if form != gold_form:
                example.texts.setdefault(form, answer_text(record.answer))
            printed = form
            if record.executed and record.transcript in transcripts:
                printed = normal_form(transcripts[record.transcript])
            if record.executed and printed:
                example.programs.setdefault(voter, Counter())[printed] += 1

    def _transcripts(self, run: _ReadRun) -> dict[str | None, str]:
        """Return the last output of programs whose output is not the answer, by transcript."""
        needed = {
            record.transcript
            for record in run.records
            if record.executed
            and answer_place(record.strategy, self._registry.strategies) != "printed"
        } - {None}
        if not needed:
            return {}
        return {
            text.digest: next((turn for kind, turn in text.turns[::-1] if kind == "output"), "")
            for text in read_texts(run.path / TEXTS)
            if isinstance(text, TranscriptText) and text.digest in needed
        }

    def _example(self, run: _ReadRun, dataset: str, example_id: str) -> AuditedExample | None:
        key, golds_key = (dataset, example_id), (str(run.path), dataset, example_id)
        if golds_key in self._golds:
            return self._examples.get(key)
        if key in self._skipped:
            return None
        source = self._open(run, dataset)
        if source is None:
            return None
        try:
            example = source.example(example_id)
        except (TableBenchError, LookupError):
            self._skip(key, "which cannot be read")
            return None
        why = _unaudited(example)
        if why is not None:
            self._skip(key, why)
            return None
        metric = example.metric or self._registry.datasets[dataset].metric
        loaded = AuditedExample(dataset, example, row_digest(example), metric=metric)
        self._golds[golds_key] = loaded.gold_form
        audited = self._examples.setdefault(key, loaded)
        if loaded.gold_form != audited.gold_form:
            where = f"the data of {run.path.name}"
            audited.others.append(OtherAnswer(where, loaded.gold_text, loaded.gold_form))
            audited.texts.setdefault(loaded.gold_form, loaded.gold_text)
        return audited

    def _skip(self, key: tuple[str, str], reason: str) -> None:
        self._skipped.add(key)
        self._left_out[key[0], reason] += 1

    def _open(self, run: _ReadRun, name: str) -> Source | None:
        """Return the source of a run's dataset; None, with a note, if it cannot be opened."""
        facts = run.facts
        data = self._data
        if data is None:
            data = Settings(data=None if facts.data is None else Path(facts.data)).data_folder()
        files = facts.files(name)
        compat = facts.compat or COMPAT_MODES[0]
        key = (name, str(data), compat, json.dumps(files, sort_keys=True, default=str))
        if key not in self._sources:
            self._sources[key] = self._opened(run, name, data)
            if isinstance(opened := self._sources[key], str):
                self._notes.append(f"{name} is left out: {opened}")
        source = self._sources[key]
        return None if isinstance(source, str) else source

    def _opened(self, run: _ReadRun, name: str, data: Path) -> Source | str:
        if name not in self._registry.datasets:
            return f"it is neither registered here nor a folder of {data}"
        compat = check_compat(run.facts.compat or COMPAT_MODES[0])
        opener = Opener(run.path, run.facts, compat, data, self._registry)
        try:
            return opener.source(name)
        except (SettingsError, DataError) as error:
            return shortened(str(error), 300)

    def finish(self) -> Collected:
        """Return the examples, with the golds of the same questions elsewhere."""
        examples = sorted(self._examples.values(), key=lambda example: example.key)
        examples = [example for example in examples if example.votes]
        _add_same_questions(examples)
        self._add_other_versions(examples)
        for (dataset, reason), count in sorted(self._left_out.items()):
            self._notes.append(f"{dataset}: {counted(count, 'example')} left out, {reason}")
        return Collected(examples, notes=self._notes)

    def _add_other_versions(self, examples: Sequence[AuditedExample]) -> None:
        """Add the golds of other versions of the data that are in the same folder."""
        folders = {(key[0], Path(key[1])) for key in self._sources}
        by_dataset = defaultdict[str, dict[str, AuditedExample]](dict)
        for example in examples:
            by_dataset[example.dataset][example.example.id] = example
        for name, data in sorted(folders):
            if name not in by_dataset:
                continue
            dataset = self._registry.datasets[name]
            for other in dataset.other_golds(data / dataset.folder):
                audited = by_dataset[name].get(other.example_id)
                if audited is None or not _same_words(audited.example.question, other.question):
                    continue
                add_other(audited, other.place, other.answers)


def _unaudited(example: Example) -> str | None:
    """Return why an example is not audited, None if it is."""
    if not any(map(str.strip, example.references)):
        return "without a gold"
    longest = max(len(words_of(text)) for text in example.references)
    return "with a gold in free text" if longest > MOST_WORDS else None


def add_other(example: AuditedExample, origin: str, answers: Sequence[str]) -> None:
    """Add the gold of the same question elsewhere, if it differs."""
    form = joined_form(answers)
    if not form or form == example.gold_form or any(form == item.form for item in example.others):
        return
    text = answer_text(list(answers))
    example.others.append(OtherAnswer(origin, text, form))
    example.texts.setdefault(form, text)


def _same_words(first: str, second: str) -> bool:
    return words_of(first) == words_of(second)


def _add_same_questions(examples: Sequence[AuditedExample]) -> None:
    """Add the golds of examples that ask the same about a table with the same cells."""
    by_words = defaultdict[tuple[str, ...], list[AuditedExample]](list)
    for example in examples:
        by_words[words_of(example.example.question)].append(example)
    for same in by_words.values():
        if len(same) < 2:
            continue
        alike = defaultdict[frozenset[str], list[AuditedExample]](list)
        for example in same:
            alike[_content(example.example, example.further_text)].append(example)
        for group in alike.values():
            for example in group:
                for other in group:
                    if other is not example:
                        add_other(example, "/".join(other.key), other.gold)


def _content(example: Example, further: str) -> frozenset[str]:
    """Return the cells of an example's tables, and its paragraphs."""
    return frozenset([*_cells(example), " ".join(words_of(further))])


def _cells(example: Example) -> Iterator[str]:
    from pytest_tablebench.tables.table import Table

    for value in example.inputs.values():
        if isinstance(value, Table):
            for row in value.lines:
                yield from filter(None, map(normal_form, row))
