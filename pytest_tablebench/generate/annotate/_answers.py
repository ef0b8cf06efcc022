"""From questions to answers: several models answer, a judge rates (realhitbench.md section 8)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_tablebench.errors import STOPPED, ModelError
from pytest_tablebench.generate._shared import digest_of
from pytest_tablebench.generate.annotate._asked import USUAL, Asked
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
from pytest_tablebench.generate.llm._asking import AskingMaker, Tell
from pytest_tablebench.generate.llm.replies import RefusedError, tolerance_of
from pytest_tablebench.generate.rules import Pair
from pytest_tablebench.generate.twins import asked_of_twin, twins_of
from pytest_tablebench.metrics.chart_values import chart_verdict
from pytest_tablebench.metrics.charts import chart_step
from pytest_tablebench.metrics.judge_reply import read_score
from pytest_tablebench.metrics.steps import Ask, Execute, Execution
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

    The best by marks times frequency is taken. As with other makers `tell` gives replies, and what
    is not told yet is asked before a table is gone through again.

    Arguments:
        tell: gives the reply to a question. run: what came of a program, None: it has not run yet.
        asked: the questions, by the name of their table.
        models: that answer, in the order in which ties are broken; one may stand there twice.
        judge: rates each different answer.
        strategy: how the models are asked: `direct`, or `treethinker`: for the tree of the table's
            headings, once a table, and then for each answer by it.
        review: the file in which all candidates are written for a person; None: nowhere.
    """

    reads_structure = True

    def __init__(
        self,
        tell: Tell,
        run: Callable[[Execute], Execution | None],
        *,
        asked: Mapping[str, Sequence[Asked]],
        models: Sequence[str],
        judge: str,
        strategy: str = "direct",
        review: Path | None = None,
    ) -> None:
        super().__init__(tell)
        self._strategy = strategy
        self._run, self._asked = run, asked
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
        for asked in self._asked.get(str(table.name), ()):
            with contextlib.suppress(RefusedError):
                self._candidates(table, shows, asked)

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
        for asked in self._asked[str(table.name)]:
            try:
                candidates = ranked(self._candidates(table, shows, asked) or [])
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
                self.tally.recipes[asked.tags.get("task", USUAL)] += 1
                if len(best.models) > 1:
                    self.tally.course["given by several"] += 1
                if _is_tie(candidates):
                    self.tally.course["tie broken"] += 1
                pair = _pair(asked, best.answer)
            self._review.add(str(table.name), asked, candidates, taken=pair is not None)
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
        yield from asked_of_twin(pair, name, twins[name], {})

    def _candidates(self, table: Table, shows: str, asked: Asked) -> list[Candidate] | None:
        """Return the different answers with their marks; None as long as some are not told.

        Raises `RefusedError` where not all could be asked: fewer votes would decide.
        """
        given, pending = [], False
        for model in self._models:
            try:
                reply = self._reply(shows, asked, model)
                answer = None if reply is None else self._read(table, asked, reply)
                pending = pending or answer is None
                if answer is not None:
                    given.append((model, answer))
            except (ModelError, RefusedError) as error:
                _require_asked(error)
                self.tally.course[f"no answer of a model: {error.reason}"] += 1
        if pending:
            self.further.append((self._to_judge(shows, asked, _STAND_IN), len(self._models)))
            return None
        found = []
        for one in counted_alike(given, lambda new, old: _same(new, old, asked)):
            try:
                reply = self._tell(self._to_judge(shows, asked, one.answer))
                pending = pending or reply is None
                score = None if reply is None else read_score(reply)
                found.append(replace(one, score=score))
                self.tally.course["marks that cannot be read"] += (
                    reply is not None and score is None
                )
            except ModelError as error:
                _require_asked(error)
                self.tally.course[f"no marks: {error.reason}"] += 1
                found.append(one)
        return None if pending else found

    def _reply(self, shows: str, asked: Asked, model: str) -> str | None:
        """Return a model's reply to a question; None as long as it is not told.

        Raises `ModelError`.
        """
        if self._strategy == "direct":
            return self._tell(ask_for_answer(shows, asked.task, asked.text, model))
        tree = ask_for_tree(shows, model)
        drawn = self._tell(tree)
        step = ask_by_tree(tree, _STAND_IN if drawn is None else drawn, asked.task, asked.text)
        if drawn is None:
            self.further.append((step, 1))
            return None
        return self._tell(step)

    def _read(self, table: Table, asked: Asked, reply: str) -> str | None:
        """Return the answer in a reply: of a program what it draws, None as long as it has not run.

        Raises `RefusedError` where there is none, and `ModelError` where no program can run.
        """
        if asked.metric != CHART:
            return read_answer(reply, asked.task)
        subtype = asked.tags.get("subtype", "")
        step = chart_step(reply, chart_type=subtype, table=table)
        if step is None:
            raise RefusedError("no program")
        ran = self._run(step)
        return None if ran is None else drawn_answer(ran)

    def _to_judge(self, shows: str, asked: Asked, answer: str) -> Ask:
        subtype = asked.tags.get("subtype", "")
        if asked.metric == CHART:
            answer = f"a program that draws a chart of these values: {answer}"
        return ask_for_score(shows, subtype, asked.text, answer, self._judge)


def _require_asked(error: Exception) -> None:
    """Raise `RefusedError` where nobody is asked any more, as the budget is spent."""
    if isinstance(error, ModelError) and (error.whole_run or error.reason in {"budget", STOPPED}):
        raise RefusedError(f"not all asked: {error.reason}") from None


def _is_tie(candidates: Sequence[Candidate]) -> bool:
    return len(candidates) > 1 and candidates[0].final == candidates[1].final


def _items(answer: str, asked: Asked) -> tuple[str, ...]:
    """Return the items of an answer; one that is no short one is whole, without bars."""
    if asked.metric:
        return (answer.replace("|", "/"),)
    return tuple(item for part in answer.split("|") if (item := part.strip()))


def _same(new: str, old: str, asked: Asked) -> bool:
    """Whether an answer says what another one does: numbers by value, lists in any order."""
    if asked.metric == CHART:
        shares = asked.tags.get("subtype", "").startswith("Pie")
        return chart_verdict([json.loads(new)], [old], compat="fixed", shares=shares) == "true"
    if " ".join(new.casefold().split()) == " ".join(old.casefold().split()):
        return True
    given, wanted = _items(new, asked), _items(old, asked)
    if asked.metric or not given or not wanted:
        return False
    return typed_answer("\n".join(given), wanted).value == 1.0


def _pair(asked: Asked, answer: str) -> Pair:
    items = _items(answer, asked)
    is_number = not asked.metric and items and answer_kind(items) == "number"
    return Pair(
        id=asked.id,
        question=asked.text,
        answers=items,
        metric=asked.metric,
        tolerance=tolerance_of(items, "number") if is_number else "",
        tags=asked.tags,
        perturbations=asked.perturbations,
        threshold=asked.threshold,
    )
