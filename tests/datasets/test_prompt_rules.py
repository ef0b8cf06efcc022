"""Our prompts contain every rule of the published prompts (realhitbench.md 2, 4, 6; treb.md 3, 5).

Each pair is a rule of the published prompt and the words that state it in ours.
"""

from __future__ import annotations

import re

import pytest

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets.realhitbench._prompts import FORMS, Form, instruction, tree_form
from pytest_tablebench.datasets.treb.treb import DATASETS
from pytest_tablebench.metrics._realhit import judge_message
from pytest_tablebench.metrics._treb import JUDGE
from pytest_tablebench.strategies import _icot, _programs, _tcot, _treethinker
from pytest_tablebench.tables.hierarchy.tree import TREE_PROMPT

ROLE_AND_STEPS = (
    ("an expert in tables", r"^You are an expert in the analysis of tables"),
    ("step 1: the question", r"(?m)^1\. Understand the question"),
    ("step 2: the structure and headers", r"(?m)^2\. Understand the table: .* headers"),
    ("step 2: a warning of summary cells", r"Beware of cells .* totals and means"),
    ("step 3: headers and cells", r"(?m)^3\. Pick the headers .* cells"),
    ("step 4: the answer in its form", r"(?m)^4\. Work out the answer .* in the form below"),
    ("a closing sentence with input and form", r"The table and the question follow\..*form\.$"),
)
LIST = (
    ("one line of names or numbers", r"one line of names or numbers"),
    ("a comma and a blank between them", r"separated by a comma and a blank"),
    ("the shortest form", r"shortest form"),
    ("the marker", r"\[Final Answer\]: AnswerName1, AnswerName2"),
)
JUDGEMENT = (("Yes or No for judgements", r"judge, the answer is Yes or No"),)
DECIMALS = (("two decimals", r"worked out with two decimals"),)
TASKS = {
    "Fact Checking": (*LIST, *JUDGEMENT),
    "Structure Comprehending": (*LIST, *JUDGEMENT),
    "Numerical Reasoning": (*LIST, *DECIMALS),
    "Rudimentary Analysis": (*LIST, *DECIMALS, ("no explanation", r"without explanation")),
    "Predictive Analysis": (
        *LIST,
        *DECIMALS,
        ("a number, an entity or a trend", r"a number, a name, or a trend"),
        ("three trends", r"No clear trend, Increasing trend or Decreasing trend"),
    ),
    "Exploratory Analysis": (
        ("relation and coefficient", r"\[Final Answer\]: CorrelationRelation, CorrelationCoeff"),
        ("none up to .3", r"No correlation for \|r\| up to 0\.3"),
        ("weak from .3 to .7", r"Weak positive .* Weak negative correlation from there to 0\.7"),
        ("strong beyond", r"Strong positive .* Strong negative correlation beyond"),
        ("influence", r"name what has it, or give No impact, Negative impact or Positive impact"),
        ("cause", r"For a cause give a short explanation"),
    ),
    "Summary Analysis": (
        ("concise", r"concise"),
        ("content, main columns, insights", r"what the table holds, its main columns, what they"),
    ),
    "Anomaly Analysis": (("a conclusion", r"your conclusion"),),
    "Visualization": (
        ("begins with both imports", r"begins with `import pandas as pd` and `import matplotlib"),
        ("the file", r"file table\.xlsx"),
        ("x ascending", r"Values on the x axis go up from left to right"),
        ("the last line", r"last line is exactly `plt\.show\(\)`"),
        ("runs as it is", r"runs as it is"),
    ),
}
TREE = (
    ("header levels", r"how many levels the column headers and the row headers have"),
    ("merged cells and indentation", r"Merged cells, indentation"),
    ("summary cells", r"totals and means"),
    ("tuples of kind and level, start, end, text", r"T\(t1, t2, t3, t4\).*kind.*level.*text"),
    ("an example", r"\(R0, 1, 2, City\)"),
    ("the list L", r"list L"),
    ("validation and completeness", r"Check L against the table: no header is missing"),
    ("level by level", r"Build the tree H of L, level by level"),
    ("ROOT at -1, of rows and of columns", r"ROOT \(level -1\) for rows and one for columns"),
    ("parent", r"nearest tuple of the same kind at a higher level whose range holds"),
    ("orphans", r"without one it is ROOT"),
    ("leaves", r"is a leaf"),
)
ROUND_2 = (
    ("keywords", r"1\. Write a line that begins with Keywords:"),
    ("headers", r"2\. Headers: which headers of the tree"),
    ("content", r"3\. Content: which cells"),
    ("cycles", r"4\. Thought, Action, Result: .* as many times as needed"),
    ("the model does its own actions", r"do it yourself"),
    ("always derivable, check again", r"can always be derived.*check your steps again"),
    ("the last line", r"as the last line Final Answer:"),
)
ORIGINAL = (("the original format", r"in the original format of the table"),)
DROPPED = re.compile(r"worked out with two decimals|table\.xlsx|x axis|last line is exactly")


def lacking(text: str, rules: tuple[tuple[str, str], ...]) -> list[str]:
    return [name for name, words in rules if not re.search(words, text, re.DOTALL)]


def test_every_kind_of_question_is_checked() -> None:
    assert TASKS.keys() == FORMS.keys()


@pytest.mark.parametrize("kind", TASKS)
def test_a_task_has_the_rules_of_its_published_prompt(kind: str) -> None:
    text = instruction(FORMS[kind])
    assert lacking(text, (*ROLE_AND_STEPS, *TASKS[kind])) == []


def of_tree(form: Form, compat: Compat) -> str:
    return instruction(tree_form(form, compat), marked=False)


@pytest.mark.parametrize("kind", TASKS)
def test_the_last_question_of_treethinker_has_the_rules_of_its_task(kind: str) -> None:
    fixed, reference = (of_tree(FORMS[kind], compat) for compat in ("fixed", "reference"))
    assert lacking(fixed, ORIGINAL) == lacking(reference, ORIGINAL) == []
    assert DROPPED.search(reference) is None
    # `fixed` keeps rules that the published prompts drop.
    assert len(DROPPED.findall(fixed)) == len(DROPPED.findall(instruction(FORMS[kind])))


def test_treethinker_names_a_further_trend_and_the_answer_for_no_anomaly() -> None:
    assert "Stabilize" in of_tree(FORMS["Predictive Analysis"], "reference")
    anomaly = of_tree(FORMS["Anomaly Analysis"], "fixed")
    assert "`No anomaly detected.`" in anomaly
    assert "anomalies detected: ..." in anomaly


def test_the_rounds_of_treethinker_have_their_rules() -> None:
    steps = "".join(
        step.format(number=place, of=_treethinker.OF_TREE)
        for place, step in enumerate(
            (
                _treethinker.KEYWORDS,
                _treethinker.HEADERS,
                _treethinker.CONTENT,
                _treethinker.CYCLES,
                _treethinker.LAST,
            ),
            start=1,
        )
    )
    last = steps.rstrip("\n") + _treethinker.FINAL.format(ask="the answer")
    assert lacking(TREE_PROMPT, TREE) == []
    assert lacking(last, ROUND_2) == []


def test_the_judge_of_realhitbench_has_its_rules() -> None:
    judge_prompt = str(judge_message("q", "r", "a", "Exploratory Analysis", None).content)
    summary = str(judge_message("q", "r", "a", "Summary Analysis", None).content)
    rules = (
        ("an expert with one metric", r"expert in rating answers, and rate one answer by one"),
        ("what is supplied", r"You are given"),
        ("correctness with full marks when equal", r"Correctness: how near .* full marks"),
        ("three steps", r"1\. Read.*2\. Compare.*3\. Give marks"),
        ("question, reference, answer", r"Question: q.*Reference: r.*Answer: a"),
        ("the demand", r"\[Score\]: xx/100$"),
    )
    assert lacking(judge_prompt, rules) == []
    assert lacking(summary, (("coherence and coverage", r"Coherence and coverage"),)) == []


TREB = {
    "tcot": (
        _tcot.SYSTEM,
        (
            ("one fenced JSON object", r"exactly one block of code, fenced as ```json"),
            ("exactly two keys", r"exactly two keys:.*\"thought\".*\"answer\""),
        ),
    ),
    "pot": (
        _programs.SYSTEM + _programs.FRAMES,
        (
            ("a short plan", r"short plan"),
            ("one complete block", r"one complete program .* fenced as ```python"),
            ("df is loaded, do not reload", r"loaded already.*`df`.*do not load it again"),
            ("print the answer", r"print the answer with print\(\)"),
            ("the same language", r"language of the question"),
        ),
    ),
    "icot": (
        _icot.SYSTEM + _programs.FRAMES,
        (
            ("step by step", r"step by step"),
            ("df is loaded, do not reload", r"loaded already.*`df`.*do not load it again"),
            ("mend faults", r"Where a block fails, correct it"),
            ("one box", r"final answer once, in \\boxed"),
            ("the same language", r"language of the question"),
        ),
    ),
}


@pytest.mark.parametrize("mode", TREB)
def test_a_mode_of_treb_has_the_rules_of_its_published_prompt(mode: str) -> None:
    text, rules = TREB[mode]
    assert lacking(text, rules) == []


def test_tasks_of_treb_with_special_instructions_have_them() -> None:
    forms = {dataset.name: dataset.answer_forms["object"] for dataset in DATASETS}
    summary = forms["treb_table_summary"].system or ""
    assert re.search(r"summar.*100 words", summary, re.IGNORECASE | re.DOTALL)
    assert "json" not in summary.lower()
    assert re.search(r"count\w* from 1|from 1", forms["treb_table_query"].remark)
    # A task without a table has a general sentence and does not ask for a JSON object.
    assert forms["treb_understanding"].system
    assert "json" not in (forms["treb_understanding"].system or "").lower()


def test_the_judge_of_treb_has_its_rules() -> None:
    rules = (
        ("meaning and correctness", r"what the answer means and whether it is correct"),
        ("other wording is fine", r"not by how it is worded"),
        (
            "no penalty for decimals",
            r"differs from the true one in its last decimals alone loses nothing",
        ),
        ("0 to 10 in a box", r"Give 0 .*10 .*\\boxed\{\}"),
    )
    assert lacking(JUDGE, rules) == []
