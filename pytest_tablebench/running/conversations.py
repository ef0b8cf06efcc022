"""What is asked about a case: its strategy's conversation, and the requests that its steps mean."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_tablebench.running.judging import request_of
from pytest_tablebench.strategies import Said, asked_about, named_strategy

if TYPE_CHECKING:
    from pytest_tablebench.datasets import ReplyForm
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.metrics.steps import Ask, Execution, Step
    from pytest_tablebench.models import Reply, Request
    from pytest_tablebench.running.pending import Route
    from pytest_tablebench.strategies import Strategy, Task


@dataclass(frozen=True)
class Conversations:
    """Begins the conversations about cases.

    Arguments:
        task: makes the task of a case: its example, its prompt.
        strategies: how a task becomes an answer, by name.
        route: how a model is asked about a dataset, by their names; without the second, how it
            judges, or is asked besides. It may wait for the engine the first time.
        reply_form: gives the form of plain replies to a case, None where it has none.
        format_retries: how often a reply without its form is asked for again.
    """

    task: Callable[[Case], Task]
    strategies: Mapping[str, Strategy]
    route: Callable[[str, str | None], Route]
    reply_form: Callable[[Case], ReplyForm | None] = lambda _: None
    format_retries: int = 0

    def strategy_of(self, case: Case) -> Strategy:
        """Return how a case becomes an answer."""
        return named_strategy(case.strategy, self.strategies)[0]

    def task_of(self, case: Case) -> Task:
        """Return the task of a case, which knows how its model is asked. Raises `ModelError`."""
        task, continues = self.task(case), self.route_of(case, None).continues
        return task if task.continues == continues else replace(task, continues=continues)

    def begin(self, case: Case, task: Task) -> Generator[Step, Reply | Execution, Said]:
        """Begin all that is asked about a case."""
        tasks = [replace(version, continues=task.continues) for version in task.versions] or [task]
        form = self.reply_form(case)
        return asked_about(self.strategy_of(case), tasks, form, self.format_retries)

    def route_of(self, case: Case, step: Ask | None) -> Route:
        """Return how a step of a case's strategy is asked: parameters are a dataset's own.

        Raises `ModelError`.
        """
        if step is not None and step.model is not None:
            return self.route(step.model, None)
        return self.route(case.model, case.dataset)

    def request(self, case: Case, step: Ask, number: int) -> Request:
        """Return the request that a step of a case's strategy means. Raises `ModelError`."""
        route = self.route_of(case, step)
        return request_of(route, case, step, self.strategy_of(case).name, number)
