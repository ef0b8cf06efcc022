"""RealHiTBench's GPT-EVAL: a judge marks answers of data analysis (realhitbench.md, 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics._base import Judgement, Processed, Score, judged_with, needs
from pytest_tablebench.metrics._realhit import realhit_analysis
from pytest_tablebench.metrics.judge_reply import read_score
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers import serialize
from pytest_tablebench.serializers.content import Message
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile, file_of

GPT_EVAL = "gpt_eval"
UNREADABLE = "judge_parse_error"
"""The status of an answer if the judge's reply has no readable marks."""

HIGHEST = 100.0
TRIES = {"reference": 5, "fixed": 1}

_WITH_TABLE = ("Summary Analysis", "Anomaly Analysis")
_NOTE = (
    "Your reply has no line that begins with `[Score]:`. Give the mark alone, in this form: "
    "[Score]: xx/100"
)
_CORRECTNESS = (
    "Correctness: how near the answer comes to the reference. An answer that says the same in "
    "other words has full marks."
)
_COVERAGE = (
    "Coherence and coverage: whether the summary hangs together, says what the table holds and "
    "shows, and leaves out nothing that matters."
)


@needs("sacrebleu")
@judged_with(max_tokens=4096)
def realhit_judged(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    question: str = "",
    subtype: str = "",
    table: TableFile | Table | None = None,
    decimal_comma: bool = False,
    **_: Any,
) -> Judgement:
    """Return the parts of `realhit_analysis`, and `gpt_eval`: a judge's marks, divided by 100.

    The score is `gpt_eval`. Without a judge it is ROUGE-L, and there is no `gpt_eval`. If the judge
    gives no marks, the answer keeps its other parts, but has no score.

    Arguments:
        prediction: the answer.
        references: the expected answer.
        compat: `reference` shows the judge the table only for summaries and anomalies, and asks
            again for unreadable marks, up to five times in total.
        question: the question that the model received.
        subtype: the kind of analysis.
        table: the question's table, unperturbed as its LaTeX file.
        decimal_comma: whether the table has decimal commas.
    """
    facts: dict[str, Any] = {"question": question, "decimal_comma": decimal_comma}
    parts = dict(realhit_analysis(prediction, references, compat=compat, **facts).parts)
    shown = _shown(table, compat, subtype)
    reference = str(references[0]) if references else ""
    messages = [judge_message(question, reference, str(prediction), subtype, shown)]
    for _attempt in range(TRIES[compat]):
        try:
            reply = yield Ask(tuple(messages))
        except NotJudgedError as error:
            if error.no_judge:
                return Score(parts["rouge_l"], parts, "rouge_l")
            raise NotJudgedError(str(error), parts=parts) from None
        marks = read_score(reply.text)
        if marks is not None:
            parts[GPT_EVAL] = marks / HIGHEST
            return Score(parts[GPT_EVAL], parts, GPT_EVAL)
        messages += [Message("assistant", reply.text), Message("user", _NOTE)]
    raise NotJudgedError(
        "the judge's reply has no marks from 0 to 100",
        reason=UNREADABLE,
        parts=parts,
        flags=(UNREADABLE,),
    )


def _shown(table: TableFile | Table | None, compat: Compat, subtype: str) -> TableFile | None:
    """Return the table for the judge; in `fixed`, with the cells that the model receives."""
    if compat == "reference":
        return file_of(table) if subtype in _WITH_TABLE else None
    return TableFile(table) if isinstance(table, Table) else table


def judge_message(
    question: str, reference: str, answer: str, subtype: str, table: TableFile | None
) -> Message:
    """Return the message to the judge about an answer, with the table if there is one."""
    inputs = "a question about a table, a reference answer and an answer"
    read = "the question"
    shown = ""
    if table is not None:
        inputs, read = f"a table, {inputs}", "the table and the question"
        text = table.data.decode("utf-8", "ignore") if table.data is not None else None
        shown = f"Table:\n{serialize(table.table, 'latex') if text is None else text}\n\n"
    criterion = _COVERAGE if subtype == "Summary Analysis" else _CORRECTNESS
    against = "the reference and the table" if table is not None else "the reference"
    return Message(
        "user",
        f"You are an expert in rating answers, and rate one answer by one criterion. You are "
        f"given {inputs}.\n\nCriterion: {criterion} Marks go from 0 to 100.\n\n"
        f"Steps:\n1. Read {read}.\n2. Compare the answer with {against}.\n"
        f"3. Give marks by the criterion.\n\n"
        f"{shown}Question: {question}\n\nReference: {reference}\n\nAnswer: {answer}\n\n"
        f"End with one line in this form: [Score]: xx/100",
    )
