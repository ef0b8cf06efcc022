"""Rank the examples of runs by how suspicious their gold is.

The suspicion is the logistic function of log(p / (1 - p)) plus the weights of all evidence, where p
is the share of wrong golds before any evidence. The weights of one kind count up to `LIMITS`
together. Adding them assumes that the kinds are independent, so the order of the suspects means
more than the probabilities.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.audit._agreement import (
    VOTERS_TO_ESTIMATE,
    Doubt,
    VoteEstimates,
    agreement_of,
)
from pytest_tablebench.audit._ballots import AuditedExample, Ballot
from pytest_tablebench.audit._collect import Collected, collect
from pytest_tablebench.audit._evidence import REASONS, derived_answer
from pytest_tablebench.audit.suspects import Evidence, Suspect
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.metrics.normal_form import normal_form
from pytest_tablebench.results.folder import read_facts
from pytest_tablebench.results.texts import table_entry
from pytest_tablebench.running.builtins import command_plugins, registry_with
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.registry import Registry

PRIOR = 0.05
"""The share of wrong golds before any evidence."""

LIMITS: Mapping[str, float] = {"agreement": 8.0, "judge": 3.0}
"""The largest sum of the weights of a kind, in either direction; `USUAL_LIMIT` for the others."""

USUAL_LIMIT = 2.5

_MOST_CELLS = 40


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Arguments:
        suspects: all examples, the most suspicious first.
        voters: the models, or models with strategies, whose answers were compared.
        accuracy: by dataset and voter, the estimated share of right answers.
        wrong_share: by dataset, the estimated share of wrong golds.
        notes: what the audit could not know or read.
        texts: by dataset and example, the inputs other than tables and question.
        is_estimated: whether `wrong_share` is estimated; else it is the prior.
    """

    suspects: tuple[Suspect, ...]
    voters: tuple[str, ...]
    accuracy: Mapping[str, Mapping[str, float]]
    wrong_share: Mapping[str, float]
    notes: tuple[str, ...]
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    is_estimated: bool = True

    def ranked(self, suspects: Iterable[Suspect]) -> Audit:
        """Return the audit with other suspects, the most suspicious first."""
        return replace(self, suspects=tuple(sorted(suspects, key=_rank)))


def _rank(suspect: Suspect) -> tuple[float, str, str]:
    return -suspect.suspicion, suspect.dataset, suspect.example_id


def audit_runs(
    runs: Sequence[Path],
    *,
    registry: Registry | None = None,
    data: Path | None = None,
    datasets: Collection[str] | None = None,
    prior: float | None = None,
) -> Audit:
    """Audit the gold answers of the examples that runs asked.

    Arguments:
        runs: run folders, of one or several models.
        registry: the parts; None for the built-in ones, extensions and folders of `data`.
        data: the data folder; None for the folder of each run.
        datasets: names of the datasets to audit; None for all.
        prior: the share of wrong golds; None to estimate it, starting at `PRIOR`.

    Raises `SettingsError` for a folder that is not a run, for an unknown dataset, and if no run
    contains an answer.
    """
    if registry is None:
        registry = registry_with(_data_folder(runs, data), command_plugins())
    collected = collect(runs, registry, data=data, datasets=datasets)
    return rank(collected, prior=prior)


def _data_folder(runs: Sequence[Path], data: Path | None) -> Path:
    for path in runs if data is None else ():
        recorded = read_facts(path).data
        if recorded is not None:
            return Path(recorded)
    return Settings(data=data).data_folder()


def rank(collected: Collected, *, prior: float | None = None) -> Audit:
    """Return the suspects of collected examples, in an order that depends on nothing else."""
    by_dataset = defaultdict[str, list[AuditedExample]](list)
    for example in collected.examples:
        by_dataset[example.dataset].append(example)
    ballots = {name: [_ballot(item) for item in items] for name, items in by_dataset.items()}
    start = PRIOR if prior is None else prior
    agreements = agreement_of(ballots, prior=start, estimate=prior is None, models=collected.models)
    can_compare = len(collected.voters) > 1
    suspects = []
    for name, items in by_dataset.items():
        agreement = agreements[name]
        share = agreement.wrong_share if can_compare else start
        for example, doubt in zip(items, agreement.doubts, strict=True):
            suspects.append(_suspect(example, doubt, agreement, share, can_compare=can_compare))
    return Audit(
        tuple(sorted(suspects, key=_rank)),
        tuple(collected.voters),
        {name: agreement.accuracy for name, agreement in agreements.items()},
        {name: agreement.wrong_share for name, agreement in agreements.items()},
        (*collected.notes, *_unknown(collected)),
        {example.key: example.further_text for example in collected.examples},
        is_estimated=prior is None and len(collected.voters) >= VOTERS_TO_ESTIMATE,
    )


def _ballot(example: AuditedExample) -> Ballot:
    shares = {
        voter: {form: count / votes.total() for form, count in votes.items()}
        for voter, votes in example.votes.items()
    }
    return Ballot(example.gold_form, shares)


def _unknown(collected: Collected) -> Iterable[str]:
    """Yield what the audit could not know."""
    count = len(collected.examples)
    if not count:
        yield "no example of these runs could be audited"
        return
    if len(collected.voters) == 1:
        yield (
            "one run of one model: agreement between models cannot be used; add runs of other "
            "models or strategies over the same examples"
        )
    else:
        alone = sum(len(example.votes) < 2 for example in collected.examples)
        if alone == count:
            yield "the runs have no examples in common, so agreement cannot be used"
        elif alone:
            yield f"{counted(alone, 'example')} of {count:,}: only one model or strategy answered"
    if not any(example.programs for example in collected.examples):
        yield "no run executed programs; a run with --bench-strategy=pot adds this evidence"


def _suspect(
    example: AuditedExample,
    doubt: Doubt,
    agreement: VoteEstimates,
    share: float,
    *,
    can_compare: bool,
) -> Suspect:
    evidence = [item for reason in REASONS for item in reason(example)]
    if can_compare and len(example.votes) > 1:
        evidence.append(_agreement_evidence(example, doubt, agreement))
    evidence.sort(key=lambda item: (-abs(item.weight), item.kind, item.text))
    return Suspect(
        dataset=example.dataset,
        example_id=example.example.id,
        digest=example.digest,
        question=example.example.question,
        tables=tuple(map(table_entry, example.tables)),
        gold=tuple(example.gold),
        suspicion=suspicion(share, evidence),
        evidence=tuple(evidence),
        groups=example.groups,
        cells=_cells(example, preferred_answer(evidence)),
    )


def suspicion(prior: float, evidence: Iterable[Evidence]) -> float:
    """Return the probability that a gold is wrong; `prior` is the one without evidence."""
    sums = defaultdict[str, float](float)
    for item in evidence:
        sums[item.kind] += item.weight
    log_odds = math.log(prior / (1 - prior))
    for kind, total in sorted(sums.items()):
        limit = LIMITS.get(kind, USUAL_LIMIT)
        log_odds += min(max(total, -limit), limit)
    return 1 / (1 + math.exp(-log_odds))


def with_evidence(suspect: Suspect, *further: Evidence) -> Suspect:
    """Return a suspect with more evidence, and the suspicion that follows from it."""
    odds = suspicion(0.5, suspect.evidence)
    rest = _logit(suspect.suspicion) - _logit(odds)
    evidence = sorted(
        [*suspect.evidence, *further], key=lambda item: (-abs(item.weight), item.kind, item.text)
    )
    prior = 1 / (1 + math.exp(-rest))
    return replace(suspect, evidence=tuple(evidence), suspicion=suspicion(prior, evidence))


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def preferred_answer(evidence: Iterable[Evidence]) -> str | None:
    """Return the answer with the largest sum of weights; None if no evidence names one."""
    sums = defaultdict[str, float](float)
    texts: dict[str, str] = {}
    for item in evidence:
        if item.answer is not None and item.weight > 0:
            form = normal_form(item.answer)
            sums[form] += item.weight
            texts.setdefault(form, item.answer)
    if not sums:
        return None
    return texts[max(sorted(sums), key=lambda form: sums[form])]


def _agreement_evidence(
    example: AuditedExample, doubt: Doubt, agreement: VoteEstimates
) -> Evidence:
    """Return what the votes say, with the voters that support the likeliest other answer."""
    limit = LIMITS["agreement"]
    weight = min(max(doubt.weight, -limit), limit)
    count = len(example.votes)
    if weight <= 0 or doubt.answer is None:
        support = [voter for voter, votes in example.votes.items() if votes[example.gold_form]]
        text = f"{len(support)} of {count} voters give the gold"
        return Evidence("agreement", text, example.gold_text if support else None, weight)
    answer = example.texts.get(doubt.answer, doubt.answer)
    voters = sorted(voter for voter, votes in example.votes.items() if votes[doubt.answer])
    rights = ", ".join(f"{agreement.accuracy[voter]:.0%}" for voter in voters)
    gold = sum(example.gold_form in votes for votes in example.votes.values())
    text = (
        f"{len(voters)} of {count} voters answer {answer} (right elsewhere: {rights}), "
        f"{gold} the gold"
    )
    return Evidence("agreement", text, answer, weight)


def _cells(example: AuditedExample, preferred: str | None) -> tuple[tuple[int, int, int], ...]:
    """Return the cells that a rule reads, or else those with the gold or the preferred answer."""
    derived = derived_answer(example)
    if derived is not None:
        return derived.cells[:_MOST_CELLS]
    forms = {form for form in (example.gold_form, normal_form(preferred)) if form}
    forms.update(normal_form(text) for text in example.gold)
    cells = [
        (number, row, column)
        for number, table in enumerate(example.tables)
        for row, line in enumerate((table.header, *table.rows), -1)
        for column, cell in enumerate(line)
        if normal_form(cell) in forms
    ]
    return tuple(cells[:_MOST_CELLS])
