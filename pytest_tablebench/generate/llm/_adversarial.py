"""Rounds of a generator and a critic, then independent solvers (spec: treb.md section 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.generate.llm._asking import Follow
from pytest_tablebench.generate.llm._prompts import (
    SOLVERS,
    SUBTASKS,
    ask_for_attack,
    ask_for_revision,
    ask_solver,
    yes_no,
)
from pytest_tablebench.generate.llm._proposing import (
    STAND_IN,
    About,
    Kept,
    Proposer,
    require_unsaid,
)
from pytest_tablebench.generate.llm.replies import (
    Attack,
    Draft,
    RefusedError,
    read_attack,
    read_drafts,
    read_solution,
    tolerance_of,
)
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.metrics.typed_answer import KINDS, typed_answer

TURNS = 3
"""How often a question is put forward at most; the critic attacks it each time."""

COMPARED = {name: about for name, about in SUBTASKS.items() if about["metric"] in KINDS}
"""Subtasks whose answers can be compared: of prose no majority can be taken."""

_FAULT = "?" * 200
"""What a critic may say, where the price of a revision is worked out."""


class AdversarialGenerator(Proposer):
    """Keeps the questions that withstand a critic, with the answer most solvers give.

    Arguments:
        follow, proposing: see `Proposer`.
        critic: attacks whether a question can be answered, in one way alone, and is right.
        solvers: answer without knowing the answer; each of `SOLVERS` has its model here.
    """

    origin = "adversarial"
    available = COMPARED

    def __init__(
        self, follow: Follow, *, critic: str, solvers: Sequence[str], **proposing: Any
    ) -> None:
        super().__init__(follow, **proposing)
        self._critic, self._solvers = critic, tuple(solvers)

    def _expect(self, about: About, count: int) -> None:
        self._expect_from(about, 1, count)

    def _expect_from(self, about: About, turn: int, count: int = 1) -> None:
        """Note what questions will be asked that are put forward for the `turn`-th time."""
        history = [(STAND_IN, Attack(("correct",), _FAULT))]
        revision = ask_for_revision(
            about.shows, about.subtask, about.language, history, self._model
        )
        attack = ask_for_attack(about.shows, STAND_IN, about.language, self._critic)
        self.further += [(revision, count * (TURNS - turn)), (attack, count * (TURNS - turn + 1))]
        self._expect_solvers(about, count)

    def _expect_solvers(self, about: About, count: int) -> None:
        self.further += [(step, count) for step in self._to_solvers(about, STAND_IN)]

    def _to_solvers(self, about: About, draft: Draft) -> list[Ask]:
        how = {"metric": about.metric, "language": about.language}
        return [
            ask_solver(about.table, draft.question, number=number, model=model, **how)
            for number, model in enumerate(self._solvers)
        ]

    def _examined(self, about: About, draft: Draft, seen: set[str]) -> Kept | None:
        history: list[tuple[Draft, Attack]] = []
        course = self.tally.course
        for turn in range(1, TURNS + 1):
            if history:
                revision = ask_for_revision(
                    about.shows, about.subtask, about.language, history, self._model
                )
                reply = self._reply_to(revision)
                if reply is None:
                    self._expect_from(about, turn)
                    return None
                draft = self._revised(about, reply, seen)
            reply = self._reply_to(ask_for_attack(about.shows, draft, about.language, self._critic))
            if reply is None:
                if turn < TURNS:
                    self._expect_from(about, turn + 1)
                self._expect_solvers(about, 1)
                return None
            attack = read_attack(reply)
            if not attack.points:
                return self._solved(about, draft, turn)
            for point in attack.points:
                course[f"found not {point}"] += 1
            history.append((draft, attack))
        raise RefusedError(f"not {history[-1][1].points[0]} after {TURNS} turns")

    def _revised(self, about: About, reply: str, seen: set[str]) -> Draft:
        pairs = read_drafts(reply)
        if len(pairs) != 1:
            raise RefusedError("revision is not one question")
        return self._read(about, pairs[0], seen)

    def _solved(self, about: About, draft: Draft, turn: int) -> Kept | None:
        """Return a question with the answer that most solvers give; None: they are not asked.

        A solver without a readable reply has no vote. Raises `RefusedError`: no answer has most.
        """
        votes, words = list[tuple[str, ...]](), yes_no(about.language)
        pending = False
        for step in self._to_solvers(about, draft):
            try:
                reply = self._reply_to(step)
                pending = pending or reply is None
                if reply is not None:
                    votes.append(read_solution(reply, about.metric, words, is_vote=True))
            except (RefusedError, ModelError):
                self.tally.course["solver without a vote"] += 1
        if pending:
            return None
        for answers in (draft.answers, *votes):
            agree = sum(_same(vote, answers, about.metric) for vote in votes)
            if 2 * agree > len(SOLVERS):
                break
        else:
            raise RefusedError("solvers do not agree")
        if not answers:
            raise RefusedError("solvers find no answer")
        is_own = answers == draft.answers
        draft = replace(draft, answers=answers, tolerance=tolerance_of(answers, about.metric))
        require_unsaid(about, draft)
        self.tally.course[f"accepted in turn {turn}"] += 1
        self.tally.course["answer of the solvers"] += not is_own
        return Kept(draft, {"turns": str(turn), "answer_by": "generator" if is_own else "solvers"})


def _same(items: tuple[str, ...], expected: tuple[str, ...], metric: str) -> bool:
    """Whether two answers say the same; one without items says that there is none."""
    if not items or not expected:
        return items == expected
    # What is looked up may be a number, which is written in several ways.
    kind = None if metric == "text" else metric
    tolerance = tolerance_of(expected, metric)
    # A list's items stand on lines of their own: no comma in one parts it.
    return typed_answer("\n".join(items), expected, kind=kind, tolerance=tolerance).value == 1.0
