"""TReB's scores of an answer in one metric (treb.md section 5).

The judge is asked last, so that without it an answer keeps its other scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isclose, isnan
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics._base import Judgement, Processed, Score, judged_with, needs
from pytest_tablebench.metrics._realhit_judge import UNREADABLE
from pytest_tablebench.metrics._treb import treb_bleu, treb_em, treb_rouge
from pytest_tablebench.metrics.judge_reply import (
    HIGHEST,
    published_judgement,
    read_judgement,
    reference_score,
)
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.metrics.thinking import oddities
from pytest_tablebench.serializers.content import Message

JUDGED = "llm_score"
SCORES = ("em", "em_letters", "bleu", "rougeL", JUDGED)

TOLERANCE = 0.005
"""Largest difference of a number from a sample's `number_answer`: half of the second decimal."""

JUDGE = (
    "You mark a student's answer to a question, with the true answer beside it. Give marks by what "
    "the answer means and whether it is correct, not by how it is worded; a number that differs "
    "from the true one in its last decimals alone loses nothing. Give 0 for an answer that is "
    "wrong throughout, 10 for one that is wholly right, and a whole number between them for one "
    "that is right in part. Say in a few sentences why, and end with the marks alone in \\boxed{}."
)


def em_letters(prediction: Processed, references: Sequence[Processed], **_: Any) -> Score:
    """Return 1 if each letter from A to Z occurs equally often in both: the published code's EM.

    It is meant for options such as `B, D`; texts without capitals are all equal.
    """
    share = treb_em(prediction, references, compat="reference").value
    return Score(share, {"em_letters": share}, "em_letters")


@needs("jieba", "sacrebleu")
@judged_with(temperature=0.2, max_tokens=4096)
def treb(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    question: str = "",
    scores: Sequence[str] = SCORES,
    main: str = "em",
    number: float | None = None,
    **_: Any,
) -> Judgement:
    """Score an answer in each way that its subtask names.

    The score is `llm_score`, a tenth of the judge's marks. Without a judge, or for an empty answer,
    it is the part `main`. If a judge gives no marks, the answer keeps its other parts, the flags
    say why, and `llm_score_or_0` has the 0 of the published code. `reference` reads the judge's
    reply as the published code does.

    `scores` are some of `SCORES`. `number` is the answer as a number; a prediction that is a number
    may equal it instead. The judge receives the `question` as the model did.
    """
    text = str(prediction)
    parts: dict[str, float] = {}
    for name in scores:
        if name != JUDGED:
            parts[name] = _PLAIN[name](prediction, references, compat="fixed").value
    if "em" in parts and _equals_number(text, number):
        parts["em"] = 1.0
    # For such answers the published code silently counts 0, or reads the model's thinking.
    flags = [*oddities(text)] if text.strip() else ["empty_prediction"]
    if JUDGED in scores:
        if not text.strip():
            parts[f"{JUDGED}_or_0"] = 0.0
        else:
            try:
                reply = yield Ask(judge_messages(question, str(references[0]), text))
            except NotJudgedError as error:
                if not error.no_judge:
                    raise NotJudgedError(str(error), parts=parts, flags=flags) from None
            else:
                flags += _add_marks(parts, reply.text, text, compat)
                main = JUDGED
    if main not in parts:
        raise NotJudgedError(
            "the judge's reply has no marks from 0 to 10",
            reason=UNREADABLE,
            parts=parts,
            flags=flags,
        )
    return Score(parts[main], parts, main, tuple(flags))


_PLAIN: Mapping[str, Callable[..., Score]] = {
    "em": treb_em,
    "em_letters": em_letters,
    "bleu": treb_bleu,
    "rougeL": treb_rouge,
}


def _equals_number(prediction: str, number: float | None) -> bool:
    if number is None:
        return False
    try:
        predicted = float(prediction.strip().replace(",", ""))
    except ValueError:
        return False
    return isclose(predicted, number, rel_tol=0, abs_tol=TOLERANCE)


def _add_marks(
    parts: dict[str, float], reply: str, prediction: str, compat: Compat
) -> tuple[str, ...]:
    """Add the judge's marks to the parts; return flags of the reply, with why marks are missing."""
    read = published_judgement if compat == "reference" else read_judgement
    judgement = read(reply, prediction)
    marks = judgement.score
    if compat == "reference":
        marks = reference_score(reply, prediction)
        if isnan(marks):  # the mean over answers must not be NaN
            marks = None
    parts[f"{JUDGED}_or_0"] = (marks or 0.0) / HIGHEST
    if marks is not None:
        parts[JUDGED] = marks / HIGHEST
    status = () if judgement.status == "ok" else (judgement.status,)
    return tuple(f"judge_{flag}" for flag in (*oddities(reply), *status))


def judge_messages(question: str, answer: str, prediction: str) -> tuple[Message, ...]:
    """Return the messages to the judge."""
    return (
        Message("system", JUDGE),
        Message(
            "user",
            f"Question:\n{question}\n\nTrue answer:\n{answer}\n\nStudent's answer:\n{prediction}",
        ),
    )
