"""RealHiTBench's scores of answers, by rule and by a judge (realhitbench.md, sections 3 and 4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics._base import Judgement, Processed, Score, judged_with, needs
from pytest_tablebench.metrics._bleu import corpus_bleu
from pytest_tablebench.metrics._normal import normalized, numbers_as_words
from pytest_tablebench.metrics._plain_words import dates_as_words
from pytest_tablebench.metrics._rouge import rouge_l, rouge_l_of_texts
from pytest_tablebench.metrics.judge_reply import read_score
from pytest_tablebench.metrics.realhit_numbers import (
    Write,
    asks_percentage,
    near_words,
    plain_signs,
)
from pytest_tablebench.metrics.replies import plain_text, run_chain
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers import serialize
from pytest_tablebench.serializers.content import Message
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile, file_of

_DECIMAL = re.compile(r"\b\d+\.\d+\b")

# Chinese and Japanese have no blanks: each of their characters is a token.
_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")

# `2014-12-06`, `2007/08`, `A-17`, `12:30`: parts joined by marks, with a digit in one of them.
_CODE = re.compile(
    r"(?<![\w.,])(?<![^\w\s][-/:])(?:[^\W_]++(?:[-/:\u2010-\u2013][^\W_]++)++"
    r"|[^\W_]++(?:\.[^\W_]++){2,}+)(?!\w|[.,][0-9]|%)"
)
_RANGE = re.compile(r"(?<=[0-9])\s{1,3}[-\u2010-\u2013]\s{1,3}(?=[0-9])")
_JOINTS = dict.fromkeys("-\u2010\u2011\u2012\u2013", "hyphen") | {
    "/": "slash",
    ":": "colon",
    ".": "dot",
}


@needs("sacrebleu")
def realhit(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    question: str = "",
    decimal_comma: bool = False,
    **_: Any,
) -> Score:
    """Return exact match (the score), word F1, ROUGE-L and, in `reference`, SacreBLEU of an answer.

    It scores fact checking, numerical reasoning and structure comprehending. Each part is from 0 to
    1; with several references, each part uses its best one.

    `reference`: decimals are rounded to one place, then case, marks and articles are removed, with
    signs, points and percent signs among them: `-3.2` equals `32`. Parts are rounded as published.

    `fixed`: each number becomes one word for its value, equal within the rounding that the
    reference shows, so signs, points and percent signs count. Dates and codes become one word, too.
    A percent sign may be missing if the `question` asks for a percentage. A comma separates words,
    unless the table has decimal commas (`decimal_comma`). A text keeps its characters if it would
    lose all of them. ROUGE-L uses the letters of all scripts.
    """
    answer = str(prediction)
    # Without a reference no answer is right, but the score still has its parts.
    texts = [str(text) for text in references or [""]]
    if compat == "reference":
        predicted = published_form(answer)
        parts_by_reference = [_reference_parts(published_form(text), predicted) for text in texts]
    else:
        any_sign = asks_percentage(question)
        answer = _marked(answer, decimal_comma=decimal_comma)
        parts_by_reference = []
        for text in texts:
            marked = _marked(text, decimal_comma=decimal_comma)
            write = near_words(marked, any_sign=any_sign)
            parts_by_reference.append(_fixed_parts(_words(marked, write), _words(answer, write)))
    best = {
        name: max(parts[name] for parts in parts_by_reference) for name in parts_by_reference[0]
    }
    return Score(best["em"], best, "em")


@needs("sacrebleu")
def realhit_analysis(
    prediction: Processed, references: Sequence[Processed], **context: Any
) -> Score:
    """Return the parts of `realhit`; ROUGE-L is the score, as for data analysis."""
    parts = realhit(prediction, references, **context).parts
    return Score(parts["rouge_l"], parts, "rouge_l")


def published_form(text: str) -> str:
    """Return the text that the published code compares."""
    return plain_text(_DECIMAL.sub(lambda match: str(round(float(match[0]), 1)), text))


def _marked(text: str, *, decimal_comma: bool) -> str:
    """Return a text in which each date and each code is one word."""
    text = plain_signs(normalized("NFC", text), decimal_comma=decimal_comma)
    text = _RANGE.sub("-", dates_as_words(text.lower()))
    return _CODE.sub(_code, text)


def _code(match: re.Match[str]) -> str:
    if not any(map(str.isdigit, match[0])):
        return match[0]
    return "".join(_JOINTS.get(character, character) for character in match[0])


def _words(text: str, write: Write) -> str:
    words = numbers_as_words(text, write).replace(",", " ")
    # The grade `A` is no article, and a single mark can be an answer.
    return plain_text(words) or str(run_chain(("lower_case", "fix_whitespace"), text))


def _reference_parts(reference: str, prediction: str) -> dict[str, float]:
    prediction = prediction or "#"  # an empty prediction must not equal an empty reference
    overlap = rouge_l_of_texts(reference, prediction, "reference")
    return {
        "em": float(reference == prediction),
        "f1": _percent(_word_f1(reference, prediction)),
        "rouge_l": _percent(overlap),
        "sacrebleu": _percent(corpus_bleu([prediction], [reference])),
    }


def _fixed_parts(reference: str, prediction: str) -> dict[str, float]:
    return {
        "em": float(reference == prediction != ""),
        "f1": _word_f1(reference, prediction),
        "rouge_l": rouge_l(_TOKEN.findall(reference), _TOKEN.findall(prediction)),
    }


def _percent(share: float) -> float:
    """Round a share so that its percentage has two decimals."""
    return round(100 * share, 2) / 100


def _word_f1(reference: str, prediction: str) -> float:
    reference_words, prediction_words = reference.split(), prediction.split()
    same = (Counter(reference_words) & Counter(prediction_words)).total()
    return 2 * same / (len(reference_words) + len(prediction_words)) if same else 0.0


def realhit_structure(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    structure: str = "both",
    **facts: Any,
) -> Score:
    """Score the answers about a plain table and about its rearranged twin, in this order.

    `structure` selects the score. `self`: the second answer equals the first, right or wrong (the
    published code). `gold`: the second equals the gold answer. `both`: each of them equals it. With
    a gold answer all three are parts. The other parts are those of `realhit` for the selected
    comparison; of two answers the lower counts.
    """
    answers = prediction if isinstance(prediction, list) else [prediction]
    first, second = answers[0], answers[-1]
    scored = {"self": [realhit(second, [first], compat=compat, **facts)]}
    if references:
        gold = [realhit(answer, references, compat=compat, **facts) for answer in (first, second)]
        scored |= {"gold": gold[1:], "both": gold}
    counted = scored[structure]
    parts = {name: min(score.parts[name] for score in counted) for name in counted[0].parts}
    parts |= {
        f"em_{name}": min(score.parts["em"] for score in scores) for name, scores in scored.items()
    }
    return Score(parts["em"], parts, "em")


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
    table_text = _shown(table, compat, subtype)
    reference = str(references[0]) if references else ""
    messages = [judge_message(question, reference, str(prediction), subtype, table_text)]
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
    table_text = ""
    if table is not None:
        inputs, read = f"a table, {inputs}", "the table and the question"
        text = table.data.decode("utf-8", "ignore") if table.data is not None else None
        table_text = f"Table:\n{serialize(table.table, 'latex') if text is None else text}\n\n"
    criterion = _COVERAGE if subtype == "Summary Analysis" else _CORRECTNESS
    against = "the reference and the table" if table is not None else "the reference"
    return Message(
        "user",
        f"You are an expert in rating answers, and rate one answer by one criterion. You are "
        f"given {inputs}.\n\nCriterion: {criterion} Marks go from 0 to 100.\n\n"
        f"Steps:\n1. Read {read}.\n2. Compare the answer with {against}.\n"
        f"3. Give marks by the criterion.\n\n"
        f"{table_text}Question: {question}\n\nReference: {reference}\n\nAnswer: {answer}\n\n"
        f"End with one line in this form: [Score]: xx/100",
    )
