"""Let several models answer questions and a judge rate the answers (realhitbench.md section 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_tablebench.errors import STOPPED, ModelError
from pytest_tablebench.generate.annotate.questions import (
    STRUCTURE,
    WORDS,
    drawn_answer,
    read_answer,
    text_of,
)
from pytest_tablebench.generate.annotate.review import (
    Candidate,
    ReviewFile,
    counted_alike,
    family_of,
    ranked,
)
from pytest_tablebench.generate.llm.prompts import ask_model
from pytest_tablebench.generate.llm.replies import tolerance_of
from pytest_tablebench.generate.pair import OpenQuestion, Pair, RejectedError
from pytest_tablebench.generate.question_maker import (
    CheckedQuestions,
    Conversation,
    Tally,
    digest_of,
    reply_text,
)
from pytest_tablebench.generate.twins import question_pair, twins_of
from pytest_tablebench.metrics.chart_values import chart_verdict
from pytest_tablebench.metrics.charts import chart_step
from pytest_tablebench.metrics.judge_reply import read_score
from pytest_tablebench.metrics.steps import Ask, Execution
from pytest_tablebench.metrics.typed_answer import answer_kind, typed_answer
from pytest_tablebench.serializers.content import Message
from pytest_tablebench.tables.hierarchy.rearranged import is_kept
from pytest_tablebench.tables.hierarchy.tree import TREE_PROMPT
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.entries import parsed_json

CHART = "realhit_chart"
"""The metric of questions whose answer is a program."""

_PROGRAM = "import pandas as pd\nplt.show()"
"""The program that a plan expects."""


@dataclass(frozen=True)
class _Posed:
    """A question about a table, and the table as models receive it."""

    table: Table
    shows: str
    question: OpenQuestion


class AnswerGenerator(CheckedQuestions):
    """Collects models' answers to the questions about a table, and a judge's marks for them.

    The answer with the highest product of marks and frequency is taken.

    Arguments:
        questions: the questions, by the name of their table.
        models: the answering models, in the order that decides ties; one may occur twice.
        judge: rates each different answer.
        strategy: `direct`, or `treethinker`, which first requests the tree of the table's headings
            and then the answers with it.
        review: the file with all candidates for reviewers; None for no file.
    """

    reads_structure = True

    def __init__(
        self,
        *,
        questions: Mapping[str, Sequence[OpenQuestion]],
        models: Sequence[str],
        judge: str,
        strategy: str = "direct",
        review: Path | None = None,
    ) -> None:
        super().__init__()
        self._strategy = strategy
        self._questions = questions
        self._models, self._judge = tuple(models), judge
        self._review = ReviewFile(review)

    def state(self) -> dict[str, dict[str, int]]:
        """Return the counts and the size of the review file."""
        return {**super().state(), "review": {"bytes": self._review.size}}

    def resume(self, state: Mapping[str, Mapping[str, int]]) -> None:
        """Continue from a state."""
        counts = dict(state)
        self._review.size = counts.pop("review")["bytes"]
        super().resume(counts)

    def propose(
        self,
        table: Table,
        tally: Tally,  # noqa: ARG002 - no question is rejected before its check
    ) -> Conversation[tuple[str, list[_Posed]]]:
        """Return the questions about a table."""
        shows = text_of(table)
        posed = [_Posed(table, shows, question) for question in self._questions[str(table.name)]]
        # Two files may contain the same table with different questions.
        return digest_of(table.name, table.title, table.lines), posed
        yield

    def keep(self, proposal: _Posed, checked: list[Candidate]) -> Pair:
        """Return the question with the best answer. Raises `RejectedError` without one."""
        if not checked:
            raise RejectedError("no answer")
        if not checked[0].final:
            raise RejectedError("no marks for an answer")
        return _pair(proposal.question, checked[0].answer)

    def close(
        self, proposal: _Posed, checked: list[Candidate], pair: Pair | None
    ) -> Iterator[Pair]:
        """Write the candidates for reviewers; return the question, perhaps with its twin."""
        name, question = str(proposal.table.name), proposal.question
        self._review.add(name, question, checked, taken=pair is not None)
        if pair is not None:
            if len(checked[0].models) > 1:
                self.tally.course["given by several"] += 1
            if _is_tie(checked):
                self.tally.course["tie broken"] += 1
            yield from self._with_twin(proposal.table, pair)

    def _with_twin(self, table: Table, pair: Pair) -> Iterator[Pair]:
        """Yield a question; for one about structure, also the question about a twin."""
        twins = {}
        if pair.tags.get("task") == STRUCTURE and is_kept(table, table):
            twins = twins_of(table, digest_of(table.title, table.lines, table.spans))
        if not twins:
            yield pair
            return
        names = list(twins)
        name = names[self.tally.recipes[STRUCTURE] % len(names)]
        yield from question_pair(pair, name, twins[name], {})

    def check(self, proposal: _Posed, course: Counter[str]) -> Conversation[list[Candidate]]:
        """Return the different answers with their marks, the best first.

        Raises `RejectedError` if the run stopped before all models replied, because fewer votes
        would decide.
        """
        question, shows = proposal.question, proposal.shows
        outcomes = yield [self._answer(proposal, index) for index in range(len(self._models))]
        answers = []
        for model, answer in zip(self._models, outcomes, strict=True):
            if isinstance(answer, ModelError | RejectedError):
                _require_budget(answer)
                course[f"no answer of a model: {answer.reason}"] += 1
            else:
                answers.append((model, answer))
        candidates = counted_alike(answers, lambda new, old: _same(new, old, question))
        replies = yield [
            reply_text(self._to_judge(shows, question, candidate.answer))
            for candidate in candidates
        ]
        marked = []
        for candidate, reply in zip(candidates, replies, strict=True):
            score = None
            if isinstance(reply, ModelError):
                _require_budget(reply)
                course[f"no marks: {reply.reason}"] += 1
            else:
                score = read_score(reply)
                course["marks that cannot be read"] += score is None
            marked.append(replace(candidate, score=score))
        return ranked(marked)

    def _answer(self, proposal: _Posed, index: int) -> Conversation[str]:
        """Return the answer of the model at an index; for a program, the values that it draws.

        Raises `RejectedError` if there is no answer.
        """
        question, shows = proposal.question, proposal.shows
        model, draws = self._models[index], question.metric == CHART
        # A plan expects a different answer of each model, because the judge rates each.
        likely = _PROGRAM if draws else f"[Final Answer]: {'some words ' * 6}{index}"
        family = family_of(question)
        texts = {"shows": shows, "question": question.text, "form": family.form}
        if self._strategy == "direct":
            request = WORDS["asked"].format_map(texts)
            step = ask_model(WORDS["answers"].format_map(texts), request, model)
        else:  # TreeThinker's prompt
            turns = (Message("user", f"{TREE_PROMPT}\n\n{shows}"),)
            drawn = yield from reply_text(Ask(turns, model, "(C0, 1, 1, heading)\n" * 3))
            request = WORDS["by_tree"].format_map(texts)
            step = Ask((*turns, Message("assistant", drawn), Message("user", request)), model)
        reply = yield from reply_text(replace(step, expected=likely))
        if not draws:
            return read_answer(reply, family)
        subtype = question.tags.get("subtype", "")
        program = chart_step(reply, chart_type=subtype, table=proposal.table)
        if program is None:
            raise RejectedError("no program")
        values = Execution("ok", value={"ran": True, "values": [index] * 10})
        return drawn_answer((yield replace(program, expected=values)))

    def _to_judge(self, shows: str, question: OpenQuestion, answer: str) -> Ask:
        """Return the request for marks of an answer, without a reference answer."""
        if question.metric == CHART:
            answer = f"a program that draws a chart of these values: {answer}"
        is_summary = question.tags.get("subtype") == "Summary Analysis"
        criterion = WORDS["coverage" if is_summary else "correctness"]
        text = WORDS["answered"].format(shows=shows, question=question.text, answer=answer)
        return ask_model(WORDS["judge"].format(criterion=criterion), text, self._judge)


def _require_budget(error: Exception) -> None:
    """Raise `RejectedError` if an error means that no further requests are sent."""
    if isinstance(error, ModelError) and (error.whole_run or error.reason in {"budget", STOPPED}):
        raise RejectedError(f"not all asked: {error.reason}") from None


def _is_tie(candidates: Sequence[Candidate]) -> bool:
    return len(candidates) > 1 and candidates[0].final == candidates[1].final


def _items(answer: str, question: OpenQuestion) -> tuple[str, ...]:
    """Return the items of an answer; a long answer is one item without bars."""
    if question.metric:
        return (answer.replace("|", "/"),)
    return tuple(item for part in answer.split("|") if (item := part.strip()))


def _same(new: str, old: str, question: OpenQuestion) -> bool:
    """Return whether two answers are equal: numbers by value, lists in any order."""
    if question.metric == CHART:
        shares = question.tags.get("subtype", "").startswith("Pie")
        return chart_verdict([parsed_json(new)], [old], compat="fixed", shares=shares) == "true"
    if " ".join(new.casefold().split()) == " ".join(old.casefold().split()):
        return True
    new_items, old_items = _items(new, question), _items(old, question)
    if question.metric or not new_items or not old_items:
        return False
    return typed_answer("\n".join(new_items), old_items).value == 1.0


def _pair(question: OpenQuestion, answer: str) -> Pair:
    items = _items(answer, question)
    is_number = not question.metric and items and answer_kind(items) == "number"
    return Pair(
        id=question.id,
        question=question.text,
        answers=items,
        metric=question.metric,
        tolerance=tolerance_of(items, "number") if is_number else "",
        tags=question.tags,
        perturbations=question.perturbations,
        threshold=question.threshold,
    )
