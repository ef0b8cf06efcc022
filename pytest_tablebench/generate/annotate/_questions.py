"""Let a model write questions about a table, by task (spec: realhitbench.md section 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_tablebench.errors import ModelError
from pytest_tablebench.generate._shared import digest_of
from pytest_tablebench.generate.annotate._prompts import (
    STRUCTURE,
    TASKS,
    QuestionFamily,
    ask_for_questions,
    text_of,
)
from pytest_tablebench.generate.annotate._replies import read_questions
from pytest_tablebench.generate.llm.replies import RefusedError
from pytest_tablebench.generate.pair import Pair
from pytest_tablebench.generate.question_maker import (
    Conversation,
    Finish,
    QuestionMaker,
    Tally,
    reply_text,
)
from pytest_tablebench.generate.rules.generate import plain_question
from pytest_tablebench.generate.twins import twins_of
from pytest_tablebench.tables.hierarchy.complexity import complexity
from pytest_tablebench.tables.hierarchy.twins import is_kept
from pytest_tablebench.tables.table import Table


class QuestionGenerator(QuestionMaker):
    """Lets a model write questions about one table after the other, for each task.

    Arguments:
        model: writes the questions.
        tasks: names of tasks in `TASKS`.
        per_table: most questions of one table, shared by the tasks.
        language: `en`, `zh`, `both`, or `auto` for the table's language.
    """

    reads_structure = True

    def __init__(
        self,
        *,
        model: str,
        tasks: Sequence[str] = tuple(TASKS),
        per_table: int = 20,
        language: str = "auto",
    ) -> None:
        super().__init__()
        self._model, self._tasks = model, tuple(tasks)
        self._per_table, self._language = per_table, language

    def converse(self, table: Table) -> Conversation[Finish]:
        """Collect questions about a table."""
        try:
            shows = text_of(table)
        except RefusedError as error:
            return self.left_out(error.reason)
        digest = digest_of(table.title, table.lines, table.spans)
        tally, tasks = Tally(), self._tasks
        if STRUCTURE in tasks and not (is_kept(table, table) and twins_of(table, digest)):
            tasks = tuple(name for name in tasks if name != STRUCTURE)
            tally.course["no parts to exchange, so no structure question"] += 1
        each, rest = divmod(self._per_table, len(tasks) or 1)
        shares = {name: each + (place < rest) for place, name in enumerate(tasks)}
        counts = {name: count for name, count in shares.items() if count}
        replies = yield [
            reply_text(ask_for_questions(shows, TASKS[name], count, self._language, self._model))
            for name, count in counts.items()
        ]
        written = [
            (name, question, subtype)
            for (name, count), reply in zip(counts.items(), replies, strict=True)
            for question, subtype in _written(reply, TASKS[name], count, tally)
        ]
        return lambda most: (digest, self._pairs(table, digest, written, tally, most))

    def _pairs(
        self,
        table: Table,
        digest: str,
        written: Sequence[tuple[str, str, str]],
        tally: Tally,
        most: int | None,
    ) -> Iterator[Pair]:
        self.tally.add(tally)
        seen, left, rejected = set[str](), most, self.tally.rejected
        table_tags = {"complexity": complexity(table).band}
        for name, question, subtype in written:
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
            task = TASKS[name]
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


def _written(
    reply: str | ModelError, task: QuestionFamily, count: int, tally: Tally
) -> Iterator[tuple[str, str]]:
    """Yield a reply's questions with their sub-types; count the rejected ones by reason."""
    try:
        if isinstance(reply, ModelError):
            raise reply
        proposed = list(read_questions(reply, task))
    except (RefusedError, ModelError) as error:
        tally.reject(error)
        return
    if len(proposed) > count:
        tally.rejected["more than asked for"] += len(proposed) - count
    for proposal in proposed[:count]:
        if isinstance(proposal, RefusedError):
            tally.reject(proposal)
        else:
            yield proposal
