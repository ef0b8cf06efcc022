"""From questions to answers: several models answer, a judge rates (realhitbench.md section 8)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import STOPPED, ModelError
from pytest_tablebench.generate._shared import digest_of
from pytest_tablebench.generate.annotate._asked import USUAL, UnansweredQuestion
from pytest_tablebench.generate.annotate._prompts import (
    STRUCTURE,
    ask_by_tree,
    ask_for_answer,
    ask_for_score,
    ask_for_tree,
    text_of,
)
from pytest_tablebench.generate.annotate._ranking import Candidate, counted_alike, ranked
from pytest_tablebench.generate.annotate._replies import drawn_answer, read_answer
from pytest_tablebench.generate.annotate._review import ReviewFile
from pytest_tablebench.generate.llm._asking import AskingMaker, Follow, reply_text
from pytest_tablebench.generate.llm.replies import RefusedError, tolerance_of
from pytest_tablebench.generate.rules import Pair
from pytest_tablebench.generate.twins import question_pair, twins_of
from pytest_tablebench.metrics.chart_values import chart_verdict
from pytest_tablebench.metrics.charts import chart_step
from pytest_tablebench.metrics.judge_reply import read_score
from pytest_tablebench.metrics.steps import Ask, Step
from pytest_tablebench.metrics.typed_answer import answer_kind, typed_answer
from pytest_tablebench.tables.hierarchy.twins import is_kept
from pytest_tablebench.tables.table import Table

__all__ = ["AnswerGenerator"]

CHART = "realhit_chart"
"""The metric of questions that are answered by a program."""

_STAND_IN = "?" * 60
"""An answer that is not there yet, where the price of its marks is worked out."""


class AnswerGenerator(AskingMaker):
    """Has models answer the questions about one table after the other, and a judge rate them.

    The best by marks times frequency is taken. Requests without a reply
    are sent before the maker goes through a table again.

    Arguments:
        follow: drives conversations.
        questions: the questions, by the name of their table.
        models: that answer, in the order in which ties are broken; one may stand there twice.
        judge: rates each different answer.
        strategy: how the models are asked: `direct`, or `treethinker`: for the tree of the table's
            headings, once a table, and then for each answer by it.
        review: the file in which all candidates are written for a person; None: nowhere.
    """

    reads_structure = True

    def __init__(
        self,
        follow: Follow,
        *,
        questions: Mapping[str, Sequence[UnansweredQuestion]],
        models: Sequence[str],
        judge: str,
        strategy: str = "direct",
        review: Path | None = None,
    ) -> None:
        super().__init__(follow)
        self._strategy = strategy
        self._questions = questions
        self._models, self._judge = tuple(models), judge
        self._review = ReviewFile(review)

    def state(self) -> dict[str, dict[str, int]]:
        """Return what was counted, and how far the file for a person goes."""
        return {**super().state(), "review": {"bytes": self._review.size}}

    def resume(self, state: Mapping[str, Mapping[str, int]]) -> None:
        """Go on from a state."""
        counts = dict(state)
        self._review.size = counts.pop("review")["bytes"]
        super().resume(counts)

    def look(self, table: Table) -> None:
        """Go through a table for what has to be asked about it."""
        try:
            shows = text_of(table)
        except RefusedError:
            return
        for question in self._questions.get(str(table.name), ()):
            with contextlib.suppress(RefusedError):
                self._candidates(table, shows, question)

    def make(self, table: Table, most: int | None) -> tuple[str, Iterator[Pair]] | None:
        """Return a digest of the table and its questions, None for a table that is left out."""
        try:
            shows = text_of(table)
        except RefusedError as error:
            self.skip(error.reason)
            return None
        # Two files may hold one table, each with questions of its own.
        return digest_of(table.name, table.title, table.lines), self._pairs(table, shows, most)

    def _pairs(self, table: Table, shows: str, most: int | None) -> Iterator[Pair]:
        left, rejected = most, self.tally.rejected
        for question in self._questions[str(table.name)]:
            try:
                candidates = ranked(self._candidates(table, shows, question) or [])
            except RefusedError as error:
                rejected[error.reason] += 1
                continue
            best = candidates[0] if candidates else None
            pair = None
            if best is None:
                rejected["no answer"] += 1
            elif not best.final:
                rejected["no marks for an answer"] += 1
            elif left == 0:
                rejected["more than asked for"] += 1
            else:
                left = None if left is None else left - 1
                self.tally.recipes[question.tags.get("task", USUAL)] += 1
                if len(best.models) > 1:
                    self.tally.course["given by several"] += 1
                if _is_tie(candidates):
                    self.tally.course["tie broken"] += 1
                pair = _pair(question, best.answer)
            self._review.add(str(table.name), question, candidates, taken=pair is not None)
            if pair is not None:
                yield from self._with_twin(table, pair)
        self.tally.tables["used"] += 1

    def _with_twin(self, table: Table, pair: Pair) -> Iterator[Pair]:
        """Yield a question; one about structure also of a twin of its table, in turns."""
        twins = {}
        if pair.tags.get("task") == STRUCTURE and is_kept(table, table):
            twins = twins_of(table, digest_of(table.title, table.lines, table.spans))
        if not twins:
            yield pair
            return
        names = list(twins)
        name = names[self.tally.recipes[STRUCTURE] % len(names)]
        yield from question_pair(pair, name, twins[name], {})

    def _candidates(
        self, table: Table, shows: str, question: UnansweredQuestion
    ) -> list[Candidate] | None:
        """Return the different answers with their marks; None as long as some are not told.

        Raises `RefusedError` where not all could be asked: fewer votes would decide.
        """
        answers, pending = [], False
        for model in self._models:
            try:
                answer = self._follow(self._answer(table, shows, question, model))
                pending = pending or answer is None
                if answer is not None:
                    answers.append((model, answer))
            except (ModelError, RefusedError) as error:
                _require_budget(error)
                self.tally.course[f"no answer of a model: {error.reason}"] += 1
        if pending:
            self._expect_trees(shows, question)
            self.further.append((self._to_judge(shows, question, _STAND_IN), len(self._models)))
            return None
        marked = []
        for candidate in counted_alike(answers, lambda new, old: _same(new, old, question)):
            try:
                reply = self._reply_to(self._to_judge(shows, question, candidate.answer))
                pending = pending or reply is None
                score = None if reply is None else read_score(reply)
                marked.append(replace(candidate, score=score))
                self.tally.course["marks that cannot be read"] += (
                    reply is not None and score is None
                )
            except ModelError as error:
                _require_budget(error)
                self.tally.course[f"no marks: {error.reason}"] += 1
                marked.append(candidate)
        return None if pending else marked

    def _answer(
        self, table: Table, shows: str, question: UnansweredQuestion, model: str
    ) -> Generator[Step, Any, str]:
        """Ask a model for its answer; if that is a program, run it for what it draws.

        Raises `RefusedError` if there is no answer.
        """
        step = ask_for_answer(shows, question.task, question.text, model)
        if self._strategy != "direct":
            tree = ask_for_tree(shows, model)
            drawn = yield from reply_text(tree)
            step = ask_by_tree(tree, drawn, question.task, question.text)
        reply = yield from reply_text(step)
        if question.metric != CHART:
            return read_answer(reply, question.task)
        subtype = question.tags.get("subtype", "")
        program = chart_step(reply, chart_type=subtype, table=table)
        if program is None:
            raise RefusedError("no program")
        return drawn_answer((yield program))

    def _expect_trees(self, shows: str, question: UnansweredQuestion) -> None:
        """Note the questions by trees that are not drawn yet."""
        if self._strategy == "direct":
            return
        for model in self._models:
            tree = ask_for_tree(shows, model)
            with contextlib.suppress(ModelError):
                if self._reply_to(tree) is None:
                    step = ask_by_tree(tree, _STAND_IN, question.task, question.text)
                    self.further.append((step, 1))

    def _to_judge(self, shows: str, question: UnansweredQuestion, answer: str) -> Ask:
        subtype = question.tags.get("subtype", "")
        if question.metric == CHART:
            answer = f"a program that draws a chart of these values: {answer}"
        return ask_for_score(shows, subtype, question.text, answer, self._judge)


def _require_budget(error: Exception) -> None:
    """Raise `RefusedError` where nobody is asked any more, as the budget is spent."""
    if isinstance(error, ModelError) and (error.whole_run or error.reason in {"budget", STOPPED}):
        raise RefusedError(f"not all asked: {error.reason}") from None


def _is_tie(candidates: Sequence[Candidate]) -> bool:
    return len(candidates) > 1 and candidates[0].final == candidates[1].final


def _items(answer: str, question: UnansweredQuestion) -> tuple[str, ...]:
    """Return the items of an answer; one that is no short one is whole, without bars."""
    if question.metric:
        return (answer.replace("|", "/"),)
    return tuple(item for part in answer.split("|") if (item := part.strip()))


def _same(new: str, old: str, question: UnansweredQuestion) -> bool:
    """Whether an answer says what another one does: numbers by value, lists in any order."""
    if question.metric == CHART:
        shares = question.tags.get("subtype", "").startswith("Pie")
        return chart_verdict([json.loads(new)], [old], compat="fixed", shares=shares) == "true"
    if " ".join(new.casefold().split()) == " ".join(old.casefold().split()):
        return True
    new_items, old_items = _items(new, question), _items(old, question)
    if question.metric or not new_items or not old_items:
        return False
    return typed_answer("\n".join(new_items), old_items).value == 1.0


def _pair(question: UnansweredQuestion, answer: str) -> Pair:
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
