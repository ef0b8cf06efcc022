"""Plan a run before the first call: requests, tokens, cost and time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, fsum
from typing import Any

from pytest_tablebench.config.parameters import by_effort
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import PAID_WITHOUT_ANSWER, ModelError, SettingsError
from pytest_tablebench.metrics.steps import Execute, Step
from pytest_tablebench.models import Reply, Resolution
from pytest_tablebench.models.litellm_facts import may_be_direct
from pytest_tablebench.running._conversation import follow
from pytest_tablebench.running._limits import stored
from pytest_tablebench.running.judge_plan import JudgeQuestions
from pytest_tablebench.running.pricing import Prompt, cost_of, prompt_of, tokens_and_price
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.strategies import Task, rounds_of
from pytest_tablebench.util.names import counted

EXACT_UP_TO = 400
"""Largest number of cases for which all prompts are made; for more, only a sample."""

SAMPLE = 200
ASSUMED_S = 2.0
"""Seconds of a call if no stored answer has a time."""


@dataclass(frozen=True)
class EffortPlan:
    """The planned requests with one effort. None means unknown.

    Arguments:
        effort: its name.
        calls: requests that must be paid.
        hits: requests whose answers are in the store.
        completion_tokens: of these calls if each answer has its maximal length.
        cost_usd: of these calls, at most.
        tokens_each: tokens of a stored reply with this effort, on average.
        expected_usd: the cost if the calls have as many tokens as the stored replies.
    """

    effort: str
    calls: int
    hits: int
    completion_tokens: int | None = None
    cost_usd: float | None = None
    tokens_each: float | None = None
    expected_usd: float | None = None


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
        at_most: those of them that are asked only if the answer is unclear.
        unknown: answers for which programs must run before the judge's questions are known.
        priced_by_reply: whether a call's price is known only from its reply.
        sent: parameters as the server receives them, if equal for all datasets.
        dropped: parameters that are not sent, with reasons.
        room: tokens for thinking, above the limit of the answer.
        reasoning_tokens: tokens of thinking in the stored replies whose provider counts them.
        thinking_replies: the number of these replies.
        context_unknown: whether prompts should be cut to the context, which is unknown.
        in_process: whether the model is called in the pytest process, one call at a time.
        deprecation_date: the day on which the provider retires the model, as `2026-12-31`.
        provider: litellm's name of the provider; None if litellm does not know the model.
        context: the longest prompt in tokens.
        longest_reply: the longest reply in tokens.
        has_server: whether an option names the address of the server.
        transport: how the calls are made, `direct` or `litellm`; None if not by litellm's rules.
        efforts: the figures of each effort, if the run has several.
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
    at_most: int = 0
    unknown: int = 0
    priced_by_reply: bool = False
    sent: dict[str, Any] | None = None
    dropped: dict[str, str] | None = None
    room: int = 0
    reasoning_tokens: int = 0
    thinking_replies: int = 0
    in_process: bool = False
    context_unknown: bool = False
    deprecation_date: str | None = None
    provider: str | None = None
    context: int | None = None
    longest_reply: int | None = None
    has_server: bool = False
    transport: str | None = None
    efforts: tuple[EffortPlan, ...] = ()


class _Requests:
    """The requests of cases, each with its stored reply if there is one."""

    def __init__(self, runner: Runner) -> None:
        self.prompts: dict[str, Prompt] = {}
        """Requests that are not stored, by key."""
        self.replies: dict[str, Reply] = {}
        """Replies to the others, by key."""
        self.effort_of: dict[str, str | None] = {}
        """The effort of each request, by key."""
        self.unusable = 0
        self.further: set[str] = set()
        """Strategies with steps that are not known yet."""
        self._runner = runner
        self._conversations = runner.conversations

    def add(self, case: Case, judge: JudgeQuestions | None, weight: float) -> None:
        """Add the requests of a case, and its questions to a judge."""
        try:
            task = self._conversations.task(case)
            reply = self._follow(case, task)
            if judge is not None:
                judge.look(case, task.example, reply, weight)
        except (ModelError, SettingsError):
            raise
        except Exception:
            # Bad data or a failing part of the user's: the case itself will report it.
            self.unusable += 1

    def _follow(self, case: Case, task: Task) -> str | None:
        """Add the requests of a case; return its answer if all its replies are stored."""
        strategy = self._conversations.strategy_of(case)
        rounds = rounds_of(case.strategy, self._runner.registry.strategies)
        if rounds is not None and rounds[1] == 1:
            # All versions of the question are asked at once.
            replies = [
                self._reply(case, next(strategy.converse(version)), number)
                for number, version in enumerate(task.versions or (task,))
            ]
            if None in replies:
                return None
        try:
            end = follow(
                self._conversations.begin(case, task),
                lambda step, number: self._reply(case, step, number),
            )
        except ModelError as error:
            if error.reason not in PAID_WITHOUT_ANSWER:
                raise
            return None  # the stored reply contains no answer, and no further question follows
        if end is None:
            self._add_further(case)
            return None
        return str(end.text)

    def _add_further(self, case: Case) -> None:
        strategy = self._conversations.strategy_of(case).name
        rounds = rounds_of(case.strategy, self._runner.registry.strategies)
        if rounds is not None:
            least, most = rounds
            start = f"{least} to " if least != most else ""
            strategy = f"{strategy} ({start}{counted(most, 'call')} a case)"
        self.further.add(strategy)

    def _reply(self, case: Case, step: Step, number: int) -> Reply | None:
        if isinstance(step, Execute) or step.model not in {None, case.model}:
            self._add_further(case)  # the next question depends on the outcome
            return None
        request = self._conversations.request(case, step, number)
        limits = self._conversations.route_of(case, step).limits
        settlement = stored(request, limits, self._runner.models.store())
        key = settlement.request.key()
        self.effort_of[key] = case.effort
        if settlement.reply is None:
            self.prompts[key] = prompt_of(settlement.request)
        else:
            self.replies[key] = settlement.reply
        return settlement.reply


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
    collected = _Requests(runner)
    for case in chosen:
        collected.add(case, judge, scale)
    requests = round((len(collected.prompts) + len(collected.replies)) * scale)
    hits = round(len(collected.replies) * scale)
    datasets = dict.fromkeys(case.dataset for case in cases)
    modes = dict.fromkeys((case.dataset, case.effort) for case in cases)
    facts = [runner.models.facts_about(model, *mode) for mode in modes]
    prompts, replies = list(collected.prompts.values()), list(collected.replies.values())
    return ModelPlan(
        model,
        len(cases),
        requests,
        hits,
        requests - hits,
        exact=exact,
        unusable=round(collected.unusable * scale),
        further=tuple(sorted(collected.further)),
        room=max((runner.models.room(model, *mode) for mode in modes), default=0),
        context_unknown=any(
            runner.models.cuts_prompts(dataset)
            and runner.models.cut_context(model, dataset) is None
            for dataset in datasets
        ),
        efforts=_effort_plans(runner, model, cases, collected, scale),
        **_figures(runner, model, facts, requests - hits, prompts=prompts, replies=replies),
    )


def _effort_plans(
    runner: Runner, model: str, cases: Sequence[Case], collected: _Requests, scale: float
) -> tuple[EffortPlan, ...]:
    """Return the plan of each effort, empty without several."""
    dataset_of = {case.effort: case.dataset for case in cases if case.effort is not None}
    if len(dataset_of) < 2:
        return ()
    plans = []
    for effort in by_effort(dataset_of):
        keys = {key for key, name in collected.effort_of.items() if name == effort}
        prompts = [prompt for key, prompt in collected.prompts.items() if key in keys]
        replies = [reply for key, reply in collected.replies.items() if key in keys]
        calls, hits = round(len(prompts) * scale), round(len(replies) * scale)
        facts = runner.models.facts_about(model, dataset_of[effort], effort)
        figures = tokens_and_price(runner.models, model, facts, prompts, calls) if calls else {}
        lengths = [n for reply in replies if (n := reply.completion_tokens) is not None]
        each = fsum(lengths) / len(lengths) if lengths else None
        expected = None
        if each is not None and calls:
            usual = round(each * calls)
            expected = cost_of(runner.models, facts, figures["prompt_tokens"], usual)
        plans.append(
            EffortPlan(
                effort,
                calls,
                hits,
                figures.get("completion_tokens"),
                figures.get("cost_usd"),
                each,
                expected,
            )
        )
    return tuple(plans)


def plan_judge(runner: Runner, judge: JudgeQuestions, *, exact: bool) -> ModelPlan:
    """Return the plan of the collected questions. Raises the errors of `plan_model`."""
    facts, prompts = [runner.models.facts_about(judge.judge)], list(map(prompt_of, judge.asked))
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
        at_most=round(judge.at_most),
        unknown=round(judge.unknown),
        room=runner.models.room(judge.judge, None),
        **_figures(runner, judge.judge, facts, calls, prompts=prompts, replies=judge.replies),
    )


def _figures(
    runner: Runner,
    model: str,
    resolutions: Iterable[Resolution | None],
    calls: int,
    *,
    prompts: Sequence[Prompt],
    replies: Sequence[Reply],
) -> dict[str, Any]:
    facts = [resolution for resolution in resolutions if resolution is not None]
    latencies = [reply.latency_s for reply in replies if reply.latency_s]
    each = fsum(latencies) / len(latencies) if latencies else ASSUMED_S
    in_process = model in runner.models.in_process()
    waves = calls if in_process else ceil(calls / runner.settings.connections)
    # Batches are answered within a day, at no certain time.
    is_batch = runner.settings.executor == "batch" and not in_process
    thinking = [n for reply in replies if (n := reply.reasoning_tokens) is not None]
    figures: dict[str, Any] = {
        "seconds": None if is_batch else waves * each,
        "seconds_per_call": each,
        "measured": bool(latencies),
        "in_process": in_process,
        "reasoning_tokens": sum(thinking),
        "thinking_replies": len(thinking),
    }
    if facts:
        sent = facts[0].sent.items()
        figures["sent"] = dict(pair for pair in sent if all(pair in f.sent.items() for f in facts))
        figures["dropped"] = {name: why for f in facts for name, why in f.dropped.items()}
        figures["deprecation_date"] = facts[0].deprecation_date
        figures |= {
            "provider": facts[0].provider,
            "context": facts[0].max_input_tokens,
            "longest_reply": facts[0].max_output_tokens,
            "has_server": runner.settings.api_base is not None,
            "transport": _transport(runner.settings.transport, model),
        }
    if calls and prompts:
        figures |= tokens_and_price(
            runner.models, model, facts[0] if facts else None, prompts, calls
        )
    return figures


def _transport(setting: str, model: str) -> str:
    if setting == "auto":
        return "direct" if may_be_direct(model) else "litellm"
    return setting
