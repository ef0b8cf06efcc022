"""From a table to questions without answers, by task (spec: realhitbench.md section 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_tablebench.generate._shared import digest_of
from pytest_tablebench.generate.annotate._prompts import (
    STRUCTURE,
    TASKS,
    QuestionFamily,
    ask_for_questions,
    text_of,
)
from pytest_tablebench.generate.annotate._replies import Proposed, read_questions
from pytest_tablebench.generate.llm._asking import AskingMaker, Follow
from pytest_tablebench.generate.llm.replies import RefusedError
from pytest_tablebench.generate.rules import Pair
from pytest_tablebench.generate.rules.generate import plain_question
from pytest_tablebench.generate.twins import twins_of
from pytest_tablebench.tables.hierarchy.complexity import complexity
from pytest_tablebench.tables.hierarchy.twins import is_kept
from pytest_tablebench.tables.table import Table


class QuestionGenerator(AskingMaker):
    """Has a model write questions about one table after the other, for each task.

    Arguments:
        follow: drives conversations.
        model: that writes them.
        tasks: those that are asked, of `TASKS`.
        per_table: most questions of one table, shared by the tasks.
        language: `en`, `zh`, `both`, or `auto`: that of the table.
    """

    reads_structure = True

    def __init__(
        self,
        follow: Follow,
        *,
        model: str,
        tasks: Sequence[str] = tuple(TASKS),
        per_table: int = 20,
        language: str = "auto",
    ) -> None:
        super().__init__(follow)
        self._model, self._tasks = model, tuple(tasks)
        self._per_table, self._language = per_table, language

    def make(self, table: Table, most: int | None) -> tuple[str, Iterator[Pair]] | None:
        """Return a digest of the table and its questions, None for a table that is left out."""
        try:
            shows = text_of(table)
        except RefusedError as error:
            self.skip(error.reason)
            return None
        digest = digest_of(table.title, table.lines, table.spans)
        return digest, self._pairs(table, shows, digest, most)

    def _pairs(self, table: Table, shows: str, digest: str, most: int | None) -> Iterator[Pair]:
        seen, left, rejected = set[str](), most, self.tally.rejected
        table_tags = {"complexity": complexity(table).band}
        tasks = self._tasks
        if STRUCTURE in tasks and not (is_kept(table, table) and twins_of(table, digest)):
            tasks = tuple(name for name in tasks if name != STRUCTURE)
            self.tally.course["no parts to exchange, so no structure question"] += 1
        each, rest = divmod(self._per_table, len(tasks) or 1)
        for place, name in enumerate(tasks):
            task = TASKS[name]
            for question, subtype in self._written(shows, task, each + (place < rest)):
                key = plain_question(question)
                if key in seen:
                    rejected["duplicate"] += 1
                    continue
                seen.add(key)
                if left == 0:
                    rejected["more than asked for"] += 1
                    continue
                left = None if left is None else left - 1
                self.tally.recipes[name] += 1
                tags = {"task": name, "subtype": subtype, **table_tags, "made": "annotation"}
                yield Pair(
                    id=f"{digest[:10]}-{name}-{len(seen)}",
                    question=f"{question} {task.suffix}".strip(),
                    answers=(),
                    metric=task.metric,
                    tags=tags,
                    perturbations=task.survives,
                    threshold=task.threshold,
                )
        self.tally.tables["used"] += 1

    def _written(self, shows: str, task: QuestionFamily, count: int) -> Iterator[tuple[str, str]]:
        """Yield the questions of a task that can be taken; count why others cannot."""
        rejected = self.tally.rejected
        if not count:
            return
        proposed: list[Proposed] = []
        with self._counted():
            step = ask_for_questions(shows, task, count, self._language, self._model)
            reply = self._reply_to(step)
            proposed = [] if reply is None else list(read_questions(reply, task))
        if len(proposed) > count:
            rejected["more than asked for"] += len(proposed) - count
        for proposal in proposed[:count]:
            if isinstance(proposal, RefusedError):
                rejected[proposal.reason] += 1
            else:
                yield proposal
