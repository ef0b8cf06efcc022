"""Plan the questions to a judge from stored or expected answers."""

from __future__ import annotations

from contextlib import suppress

from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics.steps import Execute, Execution, Step
from pytest_tablebench.models import Reply, Request
from pytest_tablebench.running._conversation import follow
from pytest_tablebench.running._limits import stored
from pytest_tablebench.running.requests import of_metric, request_of
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.store import Store


class JudgeQuestions:
    """Collects the questions of a run to its judge.

    A question contains the answer. If an answer is not stored yet, the expected answer takes its
    place, and the question counts for each case separately.

    Attributes:
        cases: answers that are scored by a metric with a judge.
        asked: questions that must be asked, equal ones once.
        calls: their number over all cases.
        hits: questions whose `replies` are in the store.
        supposed: questions that contain an expected answer.
        at_most: those of them that are asked only if the answer is unclear.
        unknown: cases whose programs must run before the questions are known.
    """

    def __init__(self, runner: Runner, judge: str) -> None:
        self.judge = judge
        self.cases = self.hits = self.supposed = self.unknown = self.at_most = 0.0
        self.calls = 0.0
        self.asked: list[Request] = []
        self.replies: list[Reply] = []
        self._runner = runner
        self._known = set[str]()
        self._weight = 1.0
        self._store: Store | None = None

    def look(self, case: Case, example: Example, reply: str | None, weight: float = 1.0) -> None:
        """Follow the conversation about an answer, None for a missing one.

        `weight` is the number of cases that this one represents. Raises `ModelError`; errors of
        metrics propagate.
        """
        scorer = self._runner.scorer
        conversation = scorer.begin(case, example, reply)
        if conversation is None:
            return
        decides_unclear = scorer.decides_unclear(scorer.form(case, example).metric)
        self.supposed += weight * (reply is None)
        self.at_most += weight * (reply is None and decides_unclear)
        before = self.calls + self.hits
        self._weight, self._store = weight, None if reply is None else self._runner.models.store()
        with suppress(NotJudgedError):  # without a score no further question follows
            follow(conversation, lambda step, number: self._outcome(case, example, step, number))
        if not decides_unclear or self.calls + self.hits > before:
            self.cases += weight

    def _outcome(
        self, case: Case, example: Example, step: Step, number: int
    ) -> Reply | Execution | None:
        models, store = self._runner.models, self._store
        if isinstance(step, Execute):
            ran = store.get_execution(step.key()) if store is not None else None
            self.unknown += self._weight * (ran is None)
            return ran
        subject = of_metric(self._runner.scorer.form(case, example).metric)
        route = models.route(step.model or self.judge, subject)
        settlement = stored(request_of(route, case, step, subject, number), route.limits, store)
        request, reply = settlement.request, settlement.reply
        key = request.key()
        if route.model != self.judge or (store is not None and key in self._known):
            return reply
        self._known.add(key)
        if reply is None:
            self.calls += self._weight
            self.asked.append(request)
        else:
            self.hits += self._weight
            self.replies.append(reply)
        return reply
