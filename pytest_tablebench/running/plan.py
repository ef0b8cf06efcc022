"""Plan a run before the first call: requests, tokens, cost and time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, fsum
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import CUT_OFF, ModelError, SettingsError
from pytest_tablebench.metrics.steps import Execute
from pytest_tablebench.models import picture_size, picture_tokens
from pytest_tablebench.running.conversation import follow
from pytest_tablebench.running.limits import limit_of, stored
from pytest_tablebench.serializers.content import images_of
from pytest_tablebench.strategies import rounds_of
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.metrics.steps import Step
    from pytest_tablebench.models import Reply, Request, Resolution
    from pytest_tablebench.running.judge_plan import JudgeQuestions
    from pytest_tablebench.running.provider_pool import ProviderPool
    from pytest_tablebench.running.runner import Runner
    from pytest_tablebench.strategies import Task

EXACT_UP_TO = 1000
"""Largest number of cases for which all prompts are made; for more, only a sample."""

SAMPLE = 400
COUNTED = 40
"""Prompts whose tokens are counted; other counts are estimated from lengths."""

CHARACTERS_PER_TOKEN = 4.0
ASSUMED_S = 2.0
"""Seconds of a call if no stored answer has a time."""


@dataclass(frozen=True)
class ModelPlan:
    """The planned requests to one model. None means unknown.

    Arguments:
        model: its name.
        cases: items that use it.
        requests: different requests among them.
        hits: requests whose answers are in the store.
        calls: requests that must be paid.
        prompt_tokens: of these calls.
        completion_tokens: of these calls if each answer has its maximal length.
        cost_usd: of these calls, at most.
        seconds: at the chosen number of connections, with `seconds_per_call` each.
        measured: whether `seconds_per_call` is measured from stored answers, not assumed.
        exact: whether every prompt was made, and not only a sample.
        tokenizer: the counter of the tokens; None: four characters each.
        too_long: prompts longer than the model's context, among those made.
        unusable: cases whose prompt cannot be made, among those tried.
        further: strategies with steps that these figures leave out, because their questions
            depend on missing answers.
        pictures: pictures of these calls whose tokens these figures leave out.
        judges: whether the model is the judge; `cases` are then the answers to judge.
        supposed: questions to the judge that contain the expected answer in place of a missing
            one.
        unknown: answers for which programs must run before the judge's questions are known.
        priced_by_reply: whether a call's price is known only from its reply.
        sent: parameters as the server receives them, if equal for all datasets.
        dropped: parameters that are not sent, with reasons.
        room: tokens for thinking, above the limit of the answer.
        reasoning_tokens: tokens of thinking in the stored replies whose provider counts them.
        thinking_replies: the number of these replies.
        context_unknown: whether prompts should be cut to the context, which is unknown.
        in_process: whether the model is called in the pytest process, one call at a time.
    """

    model: str
    cases: int
    requests: int
    hits: int
    calls: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    seconds_per_call: float = ASSUMED_S
    measured: bool = False
    exact: bool = True
    tokenizer: str | None = None
    too_long: int = 0
    unusable: int = 0
    further: tuple[str, ...] = ()
    pictures: int = 0
    judges: bool = False
    supposed: int = 0
    unknown: int = 0
    priced_by_reply: bool = False
    sent: dict[str, Any] | None = None
    dropped: dict[str, str] | None = None
    room: int = 0
    reasoning_tokens: int = 0
    thinking_replies: int = 0
    in_process: bool = False
    context_unknown: bool = False


@dataclass(frozen=True)
class _Prompt:
    """The text of a request, its token limit, and its picture sizes, None if unknown."""

    text: str
    limit: int | None
    pictures: tuple[tuple[int, int] | None, ...] = ()


def _prompt(request: Request) -> _Prompt:
    contents, limit = [message.content for message in request.messages], limit_of(request.params)
    if all(isinstance(content, str) for content in contents):
        return _Prompt(request.text, limit)
    return _Prompt(
        "\n".join(
            "".join(part for part in content if isinstance(part, str)) for content in contents
        ),
        limit,
        tuple(picture_size(image) for content in contents for image in images_of(content)),
    )


@dataclass
class _Looked:
    prompts: dict[str, _Prompt]
    stored: dict[str, Reply]
    unusable: int = 0
    further: set[str] = field(default_factory=set)
    """Strategies with steps that are not known yet."""


def plan_model(
    runner: Runner,
    model: str,
    cases: Sequence[Case],
    *,
    exact: bool = False,
    judge: JudgeQuestions | None = None,
) -> ModelPlan:
    """Return the plan for the cases of one model, without making a call.

    `judge` collects the questions about their answers. Raises `ModelError` if the engine has no
    facts about the model, and `SettingsError` if the engine cannot start.
    """
    exact = exact or len(cases) <= EXACT_UP_TO
    chosen = cases if exact else [cases[n * len(cases) // SAMPLE] for n in range(SAMPLE)]
    scale = 1.0 if exact else len(cases) / len(chosen)
    looked = _look(runner, chosen, judge, scale)
    requests = round((len(looked.prompts) + len(looked.stored)) * scale)
    hits = round(len(looked.stored) * scale)
    datasets = dict.fromkeys(case.dataset for case in cases)
    resolutions = [runner.models.facts_about(model, dataset) for dataset in datasets]
    prompts, stored = list(looked.prompts.values()), list(looked.stored.values())
    return ModelPlan(
        model,
        len(cases),
        requests,
        hits,
        requests - hits,
        exact=exact,
        unusable=round(looked.unusable * scale),
        further=tuple(sorted(looked.further)),
        room=max((runner.models.room(model, dataset) for dataset in datasets), default=0),
        context_unknown=any(
            runner.models.cuts_prompts(dataset)
            and runner.models.cut_context(model, dataset) is None
            for dataset in datasets
        ),
        **_figures(runner, model, resolutions, requests - hits, prompts=prompts, stored=stored),
    )


def plan_judge(runner: Runner, judge: JudgeQuestions, *, exact: bool) -> ModelPlan:
    """Return the plan of the collected questions. Raises the errors of `plan_model`."""
    resolutions, prompts = [runner.models.facts_about(judge.judge)], list(map(_prompt, judge.asked))
    calls, hits = round(judge.calls), round(judge.hits)
    return ModelPlan(
        judge.judge,
        round(judge.cases),
        calls + hits,
        hits,
        calls,
        exact=exact,
        judges=True,
        supposed=round(judge.supposed),
        unknown=round(judge.unknown),
        room=runner.models.room(judge.judge, None),
        **_figures(runner, judge.judge, resolutions, calls, prompts=prompts, stored=judge.replies),
    )


def _figures(
    runner: Runner,
    model: str,
    resolutions: Iterable[Resolution | None],
    calls: int,
    *,
    prompts: Sequence[_Prompt],
    stored: Sequence[Reply],
) -> dict[str, Any]:
    facts = [resolution for resolution in resolutions if resolution is not None]
    figures = _time(runner, model, calls, stored) | (_parameters(facts) if facts else {})
    thinking = [n for reply in stored if (n := reply.reasoning_tokens) is not None]
    figures |= {"reasoning_tokens": sum(thinking), "thinking_replies": len(thinking)}
    if calls and prompts:
        figures |= _tokens(runner.models, model, facts[0] if facts else None, prompts, calls)
    return figures


def _time(runner: Runner, model: str, calls: int, stored: Sequence[Reply]) -> dict[str, Any]:
    latencies = [reply.latency_s for reply in stored if reply.latency_s]
    each = fsum(latencies) / len(latencies) if latencies else ASSUMED_S
    in_process = model in runner.models.in_process()
    waves = calls if in_process else ceil(calls / runner.settings.connections)
    # Batches are answered within a day, at no certain time.
    seconds = None if runner.settings.executor == "batch" and not in_process else waves * each
    return {
        "seconds": seconds,
        "seconds_per_call": each,
        "measured": bool(latencies),
        "in_process": in_process,
    }


def _parameters(resolutions: Sequence[Resolution]) -> dict[str, dict[str, Any]]:
    first, *others = resolutions
    sent = {
        name: value
        for name, value in first.sent.items()
        if all(name in resolution.sent and resolution.sent[name] == value for resolution in others)
    }
    dropped = {name: why for resolution in resolutions for name, why in resolution.dropped.items()}
    return {"sent": sent, "dropped": dropped}


def _look(
    runner: Runner, cases: Sequence[Case], judge: JudgeQuestions | None, weight: float
) -> _Looked:
    looked = _Looked({}, {})
    for case in cases:
        try:
            task = runner.conversations.task(case)
            reply = _follow(runner, case, task, looked)
            if judge is not None:
                judge.look(case, task.example, reply, weight)
        except (ModelError, SettingsError):
            raise
        except Exception:
            # Bad data or a failing part of the user's: the case itself will report it.
            looked.unusable += 1
    return looked


def _follow(runner: Runner, case: Case, task: Task, looked: _Looked) -> str | None:
    """Collect the requests of a case; return its answer if all its replies are stored."""
    conversations = runner.conversations
    strategy = conversations.strategy_of(case)
    rounds = rounds_of(case.strategy, runner.registry.strategies)
    if rounds is not None and rounds[1] == 1:
        # All versions of the question are asked at once.
        replies = [
            _look_up(runner, case, next(strategy.converse(version)), number, looked)
            for number, version in enumerate(task.versions or (task,))
        ]
        if None in replies:
            return None
    try:
        end = follow(
            conversations.begin(case, task),
            lambda step, number: _look_up(runner, case, step, number, looked),
        )
    except ModelError as error:
        if error.reason != CUT_OFF:
            raise
        return None  # the stored reply contains no answer, and no further question follows
    if end is None:
        looked.further.add(_named(runner, case))
        return None
    return str(end.text)


def _named(runner: Runner, case: Case) -> str:
    strategy = runner.conversations.strategy_of(case).name
    rounds = rounds_of(case.strategy, runner.registry.strategies)
    if rounds is None:
        return strategy
    least, most = rounds
    calls = counted(most, "call") if least == most else f"{least} to {counted(most, 'call')}"
    return f"{strategy} ({calls} a case)"


def _look_up(runner: Runner, case: Case, step: Step, number: int, looked: _Looked) -> Reply | None:
    if isinstance(step, Execute) or step.model not in {None, case.model}:
        # The next question depends on the outcome.
        looked.further.add(_named(runner, case))
        return None
    request = runner.conversations.request(case, step, number)
    limits = runner.conversations.route_of(case, step).limits
    settlement = stored(request, limits, runner.models.store())
    key = settlement.request.key()
    if settlement.reply is None:
        looked.prompts[key] = _prompt(settlement.request)
    else:
        looked.stored[key] = settlement.reply
    return settlement.reply


def price(
    models: ProviderPool, model: str, facts: Resolution | None, requests: Sequence[Request]
) -> dict[str, Any]:
    """Return tokens and price of at least one request, as fields of `ModelPlan`."""
    return _tokens(models, model, facts, list(map(_prompt, requests)), len(requests))


def _tokens(
    models: ProviderPool,
    model: str,
    facts: Resolution | None,
    prompts_asked: Sequence[_Prompt],
    calls: int,
) -> dict[str, Any]:
    prompts = [prompt.text for prompt in prompts_asked]
    provider = facts.provider if facts is not None else None
    pictures = [
        [size and picture_tokens(size, provider, model) for size in prompt.pictures]
        for prompt in prompts_asked
    ]
    step = max(1, len(prompts) // COUNTED)
    counted = prompts[::step][:COUNTED]
    counts = None
    # A replay has no engine to count tokens, and makes no call.
    if facts is not None and facts.tokenizer is not None and not models.settings.replay:
        token_counts = models.engine().question("count", {"model": model, "texts": counted})
        counts = None if None in token_counts else token_counts
    per_character = (
        sum(counts) / max(1, sum(map(len, counted))) if counts else 1 / CHARACTERS_PER_TOKEN
    )
    lengths = [
        len(prompt) * per_character + sum(tokens or 0 for tokens in shown)
        for prompt, shown in zip(prompts, pictures, strict=True)
    ]
    uncounted = sum(tokens is None for shown in pictures for tokens in shown)
    prompt_tokens = round(fsum(lengths) / len(lengths) * calls)
    limits = [prompt.limit for prompt in prompts_asked]
    known_limits = [limit for limit in limits if limit is not None]
    completion = (
        round(sum(known_limits) / len(limits) * calls) if len(known_limits) == len(limits) else None
    )
    cost = None
    if facts is not None and None not in (facts.input_cost_per_token, completion):
        each, output_cost = facts.input_cost_per_token or 0.0, facts.output_cost_per_token or 0.0
        if models.settings.executor == "batch":
            # Facts stored by an earlier version have no price of batches; it is half the usual.
            each = facts.batch_input_cost_per_token or each / 2
            output_cost = facts.batch_output_cost_per_token or output_cost / 2
        cost = prompt_tokens * each + (completion or 0) * output_cost
    most = facts.max_input_tokens if facts is not None else None
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion,
        "cost_usd": cost,
        "tokenizer": facts.tokenizer if facts is not None and counts else None,
        "pictures": round(uncounted / len(prompts) * calls),
        "too_long": sum(length > most for length in lengths) if most else 0,
    }
