"""Score raw replies: post-process them and apply the dataset's metric."""

from __future__ import annotations

import pickle
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.compat import Compat, check_compat
from pytest_tablebench.config.secrets import redact
from pytest_tablebench.datasets import AskedDataset, Dataset, asked_dataset
from pytest_tablebench.errors import ModelError, NotJudgedError, SettingsError
from pytest_tablebench.metrics import Judgement, Score, begin, run_chain, score
from pytest_tablebench.metrics.steps import Grade
from pytest_tablebench.metrics.unclear import decision
from pytest_tablebench.models import Reply, as_read
from pytest_tablebench.models.thinking import split_thoughts
from pytest_tablebench.registry import Registry
from pytest_tablebench.results.record import UNCLEAR
from pytest_tablebench.running.answer import SHOWN
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.strategies import answer_place, texts_of
from pytest_tablebench.util.names import unknown_name

if TYPE_CHECKING:
    from pytest_tablebench.datasets import Example

MEMORY = "memory"
"""The part of a score that is the score by the answer before the perturbation."""


Grading = Generator[Grade, Score, Score]
"""The conversation of a plain metric that runs in another process."""


@dataclass(frozen=True)
class ScoredReply:
    """The processed texts and their score, which is None if the dataset has no metric."""

    score: Score | None
    prediction: Any
    references: tuple[Any, ...]


def score_flags(score: Score) -> tuple[str, ...]:
    """Return the flags that a score adds to its record."""
    return (*score.flags, *([UNCLEAR] if score.unclear else []))


def score_fields(
    score: Score, prediction: Any, parts: Mapping[str, float], part: str | None = None
) -> dict[str, Any]:
    """Return the fields of a record about a score, without its verdict.

    `parts` are the strategy's. `part` is the part that counts; None: the metric's main part.
    """
    part = part or score.part
    return {
        "score": score.parts.get(part, score.value) if part else score.value,
        "part": part,
        "parts": {**score.parts, **parts},
        "prediction": prediction,
        "why": redact(score.why)[:SHOWN] if score.why else None,
    }


def asked_by(
    registry: Registry, dataset: str, strategy: str, texts: Mapping[str, str] | None = None
) -> AskedDataset:
    """Return a dataset in the form that a strategy uses, which decides prompts and scoring.

    `texts` are printed prompts by name.
    """
    return asked_dataset(
        registry.datasets[dataset], answer_place(strategy, registry.strategies), texts
    )


def judge_reply(
    registry: Registry,
    dataset: Dataset | AskedDataset,
    reply: str,
    references: Sequence[str],
    *,
    compat: Compat,
    **context: Any,
) -> ScoredReply:
    """Post-process and score a raw reply; `context` contains further inputs of the metric."""
    form = dataset if isinstance(dataset, AskedDataset) else AskedDataset(dataset)
    prediction, processed = processed_texts(registry, form, reply, references, compat)
    metric, scored = form.metric, None
    if metric is not None:
        scored = score_by(registry, metric, prediction, processed, compat=compat, context=context)
        scored = _main_part(form, scored)
    return ScoredReply(scored, prediction, tuple(processed))


def score_by(
    registry: Registry,
    metric: str,
    prediction: Any,
    references: Sequence[Any],
    *,
    compat: Compat,
    context: Mapping[str, Any],
) -> Score:
    """Score a processed answer by a registered metric."""
    texts = metric, prediction, references
    return score(*texts, compat=compat, metrics=registry.metrics, **context)


def judge_example(
    registry: Registry, form: AskedDataset, reply: str, example: Example, *, compat: Compat
) -> ScoredReply:
    """Score a raw reply to an example.

    If a perturbation has changed the answer, the part `memory` is the score by the former answer: a
    model that still gives it has not read the table.
    """

    def judge(example: Example) -> ScoredReply:
        texts, context = (reply, example.references), example.context
        return judge_reply(registry, form, *texts, compat=compat, **context)

    judged, former = judge(example), example.former
    if judged.score is None or former is None:
        return judged
    return replace(judged, score=_with_memory(judged.score, judge(former).score))


def _with_memory(scored: Score, remembered: Score | None) -> Score:
    value = remembered.value if remembered is not None else 0.0
    return replace(scored, parts={**scored.parts, MEMORY: value})


def graded(
    registry: Registry, form: AskedDataset, reply: str, example: Example, *, compat: Compat
) -> Grading:
    """Begin the conversation that scores an answer in another process, as `judge_example` does.

    Arguments that cannot be pickled are scored in this process.
    """
    name = str(form.metric)

    def grade(example: Example) -> Grading:
        prediction, processed = processed_texts(registry, form, reply, example.references, compat)
        context = dict(example.context)
        try:
            arguments = pickle.dumps((prediction, processed, context))
        except Exception:  # values of users may raise anything
            scored = score_by(registry, name, prediction, processed, compat=compat, context=context)
        else:
            scored = yield Grade(name, registry.metrics[name], compat, arguments)
        return _main_part(form, scored)

    score = yield from grade(example)
    if example.former is None:
        return score
    return _with_memory(score, (yield from grade(example.former)))


def processed_texts(
    registry: Registry, form: AskedDataset, reply: str, references: Sequence[str], compat: Compat
) -> tuple[Any, list[Any]]:
    """Return a raw reply and its references after post-processing."""
    chain, registered = form.chain(compat), registry.postprocessors
    read = (*form.reading(compat), *chain)
    replies = texts_of(reply) if form.several else [reply]
    if compat == "fixed" and form.is_plain:
        # Servers that send thoughts in a separate field leave empty lines before the answer.
        replies = [split_thoughts(reply).text.lstrip("\r\n") for reply in replies]
    prediction: Any = [run_chain(read, reply, registered) for reply in replies]
    if not form.several:
        [prediction] = prediction
    return prediction, [run_chain(chain, text, registered) for text in references]


def judgement(
    registry: Registry, form: AskedDataset, reply: str | None, example: Example, *, compat: Compat
) -> Judgement:
    """Begin the conversation in which a dataset's metric scores a raw reply.

    A reply of None is missing; the expected answer then takes its place.
    """
    prediction, references = processed_texts(
        registry, form, reply or "", example.references, compat
    )
    if reply is None:
        prediction = references[0] if references else ""
    metric, metrics, context = str(form.metric), registry.metrics, example.context
    conversation = begin(metric, prediction, references, compat=compat, metrics=metrics, **context)
    return _with_main_part(form, _read_by(conversation, compat))


def verdict_of(
    registry: Registry, form: AskedDataset, reply: str | None, example: Example, *, compat: Compat
) -> Judgement:
    """Score a raw reply with a plain metric; ask the judge if the score is unclear.

    A reply of None is missing. It may become unclear, so the judge is asked about the expected
    answer.
    """
    judged = ScoredReply(Score(0.0, unclear=True), example.target, example.references)
    if reply is not None:
        judged = judge_example(registry, form, reply, example, compat=compat)
    if judged.score is None:
        raise SettingsError(f"dataset {form.dataset.name!r} has no metric")
    if not judged.score.unclear:
        return judged.score
    conversation = decision(
        judged.score, judged.prediction, judged.references, question=example.question
    )
    return _main_part(form, (yield from _read_by(conversation, compat)))


def _read_by(conversation: Judgement, compat: Compat) -> Judgement:
    """Parse a judge's replies in the compat mode before the metric receives them.

    A judge's reply that was cut off before any text gives no mark.
    """
    try:
        step = next(conversation)
        while True:
            try:
                outcome = yield step
                if isinstance(outcome, Reply):
                    outcome = _judges_reply(outcome, compat)
            except ModelError as error:
                step = conversation.throw(NotJudgedError(f"the judge gives no mark: {error}"))
            except Exception as error:
                step = conversation.throw(error)
            else:
                step = conversation.send(outcome)
    except StopIteration as end:
        scored: Score = end.value
        return scored


def _judges_reply(reply: Reply, compat: Compat) -> Reply:
    """Return a judge's parsed reply. Raises `ModelError` for a reply without text.

    A number at the very end of a reply that was cut off may lack digits, so `fixed` drops it.
    """
    reply = as_read(reply, compat)
    if compat == "reference" or reply.finish_reason != "length":
        return reply
    return replace(reply, text=reply.text.rstrip().rstrip("0123456789.,/"))


def _with_main_part(form: AskedDataset, conversation: Judgement) -> Judgement:
    scored = yield from conversation
    if form.part is not None and form.part not in scored.parts:
        raise NotJudgedError(f"the judge gave no {form.part!r}, the score of {form.dataset.name!r}")
    return _main_part(form, scored)


def _main_part(form: AskedDataset, scored: Score) -> Score:
    """Return a score whose value is the part that the dataset names, if it names one.

    Raises `SettingsError` if that part is missing or not from 0 to 1.
    """
    part = form.part
    if part is None or part == scored.part:
        return scored
    value = scored.parts.get(part)
    if value is None or not 0 <= value <= 1:
        parts = ", ".join(name for name, number in scored.parts.items() if 0 <= number <= 1)
        raise SettingsError(
            f"dataset {form.dataset.name!r} is scored by {part!r}, which is not a score of its "
            f"metric from 0 to 1 ({parts or 'it has none'})"
        )
    return replace(scored, value=value, part=part)


def score_answer(
    dataset: str, reply: str, references: Sequence[str], *, compat: Compat = "fixed", **context: Any
) -> Score:
    """Score a raw reply with a dataset's post-processors and metric.

    `context` contains further inputs of the metric. Raises `SettingsError` for an unknown dataset
    or compat mode, and for references that are not a list.
    """
    check_compat(compat)
    registry = builtin_registry()
    if dataset not in registry.datasets:
        raise SettingsError(unknown_name("dataset", dataset, registry.datasets))
    if isinstance(references, str):
        raise SettingsError("references must be a list of texts, not one text")
    declared = registry.datasets[dataset]
    scored = judge_reply(registry, declared, reply, references, compat=compat, **context).score
    if scored is None:
        raise SettingsError(f"dataset {dataset!r} has no metric")
    return scored
