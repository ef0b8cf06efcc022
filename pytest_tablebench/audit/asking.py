"""Ask a judge about the gold of the most suspicious examples.

The judge sees table, question, the gold and the preferred other answer, without knowing which of
both is the gold. It is asked twice, with the answers in either order. If both verdicts differ, the
judge follows the order rather than the table, so they are counted and give no evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.audit.ranking import Audit, preferred_answer, with_evidence
from pytest_tablebench.audit.suspects import Evidence, Suspect
from pytest_tablebench.errors import TableError
from pytest_tablebench.generate.llm.replies import read_object
from pytest_tablebench.generate.pair import RejectedError
from pytest_tablebench.generate.question_maker import Conversation, reply_text
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers import serialize
from pytest_tablebench.serializers.content import Message
from pytest_tablebench.tables.table import Table

ASK_TOP = 50
"""The number of examples about which a judge is asked."""

_LONGEST_TABLE = 40_000
"""Characters of the tables of a prompt; the judge is not asked about larger ones."""

_VERDICTS = ("first", "second", "both", "neither")
_MIRRORED = {"first": "second", "second": "first", "both": "both", "neither": "neither"}

_WEIGHTS = {"first": -1.5, "second": 1.5, "both": 0.0, "neither": 0.7}
"""By verdict with the gold first. A judge is one more model, with errors like the voters'."""

_PROMPT = """\
Two people answered a question about the table below. Check both answers on the table: find the \
cells that matter, compute if necessary, and then decide which answer is right. Differences in \
spelling do not matter; differences in value, unit, scale or sign do.
{context}
{tables}

Question: {question}

First answer: {first}
Second answer: {second}

Reply with a JSON object and nothing else: {{"right": "first"}}, "second", "both" or "neither".\
"""

NO_REPLY = "no usable reply"


@dataclass(frozen=True)
class JudgeQuestion:
    """A question to the judge, about one suspect."""

    suspect: Suspect
    answer: str
    tables: str
    context: str

    def ask(self, first: str, second: str) -> Conversation[str]:
        """Ask in one order; return the verdict. Raises `RejectedError` for another reply."""
        text = _PROMPT.format(
            context=f"\n{self.context}\n" if self.context else "",
            tables=self.tables,
            question=self.suspect.question,
            first=first,
            second=second,
        )
        step = Ask((Message("user", text),), expected='{"right": "second"}')
        reply = yield from reply_text(step)
        verdict = read_object(reply, ["right"], "the judge names no answer")["right"]
        if verdict not in _VERDICTS:
            raise RejectedError("the judge names no answer")
        return str(verdict)

    def converse(self) -> Conversation[str]:
        """Ask in both orders; return the verdict with the gold first, or why there is none."""
        gold = ", ".join(self.suspect.gold)
        verdicts = yield [self.ask(gold, self.answer), self.ask(self.answer, gold)]
        if any(isinstance(verdict, Exception) for verdict in verdicts):
            return NO_REPLY
        ahead, reverse = verdicts
        return str(ahead) if ahead == _MIRRORED[reverse] else "the orders disagree"


def questions(audit: Audit, *, top: int = ASK_TOP) -> Iterator[JudgeQuestion]:
    """Yield the questions about the first `top` suspects that have another answer."""
    for suspect in audit.suspects[:top]:
        answer = preferred_answer(suspect.evidence)
        if answer is None or not suspect.tables:
            continue
        try:
            tables = "\n\n".join(map(_table_text, suspect.tables))
        except TableError:
            continue
        if len(tables) <= _LONGEST_TABLE:
            context = audit.texts.get((suspect.dataset, suspect.example_id), "")
            yield JudgeQuestion(suspect, answer, tables, context)


def _table_text(table: Mapping[str, Any]) -> str:
    content = Table(table["header"], table["rows"], **table.get("structure", {}))
    title = table.get("title")
    return (f"Table: {title}\n" if title else "Table:\n") + serialize(content, "html")


def with_verdicts(
    audit: Audit,
    questions: Sequence[JudgeQuestion],
    outcomes: Sequence[str | Exception],
    judge: str,
) -> tuple[Audit, Mapping[str, int]]:
    """Return the audit with the judge's verdicts, ranked again, and the numbers of outcomes."""
    counts: Counter[str] = Counter()
    further: dict[tuple[str, str], Evidence] = {}
    for question, outcome in zip(questions, outcomes, strict=True):
        name = NO_REPLY if isinstance(outcome, Exception) else outcome
        counts[name] += 1
        if name in _VERDICTS:
            key = question.suspect.dataset, question.suspect.example_id
            further[key] = _evidence(question, name, judge)
    suspects = [
        with_evidence(suspect, further[key])
        if (key := (suspect.dataset, suspect.example_id)) in further
        else suspect
        for suspect in audit.suspects
    ]
    return audit.ranked(suspects), counts


def _evidence(question: JudgeQuestion, verdict: str, judge: str) -> Evidence:
    gold = ", ".join(question.suspect.gold)
    texts = {
        "first": (f"{judge} prefers the gold in both orders", gold),
        "second": (f"{judge} prefers {question.answer} in both orders", question.answer),
        "both": (f"{judge} calls both answers right", question.answer),
        "neither": (f"{judge} calls both answers wrong", None),
    }
    text, answer = texts[verdict]
    return Evidence("judge", text, answer, _WEIGHTS[verdict])
