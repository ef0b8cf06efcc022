"""The annotation's parts: what is read of replies, which answer is taken, what people are shown."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.generate.annotate.answers import AnswerGenerator
from pytest_tablebench.generate.annotate.questions import (
    TASKS,
    QuestionGenerator,
    read_answer,
    read_complexity,
    read_questions,
    word_count,
)
from pytest_tablebench.generate.annotate.review import (
    Candidate,
    counted_alike,
    questions_as_table,
    ranked,
)
from pytest_tablebench.generate.llm.replies import Draft
from pytest_tablebench.generate.pair import OpenQuestion, Pair, RejectedError
from pytest_tablebench.metrics.steps import Ask, Execute, Execution
from pytest_tablebench.tables.table import Table
from tests.support.following import expected_steps, pairs_of

TABLE = Table(("name", "age"), (("Ada", "36"), ("Bo", "41")), name="ages.csv")


# Replies


def test_questions_are_read_with_their_sub_types_and_each_fault_has_a_reason() -> None:
    reply = """Here they are:
[Question1]: How many people
are there among all those whose names, ages in years and towns of birth the table lists in its rows?
[Subtype1]: Counting
**[Question2]:** Who is older, Ada or Bo, going by the ages in years that the
table lists for both of these two people?
**[Sub-type 2]:** comparison.
[Question3]: What is their sum?
[Question4]: Which?
[Subtype4]: Riddle
[Question5]: =HYPERLINK("x")
[Subtype5]: Counting
[Question6]: One?
[Question6]: Two?
[Subtype6]: Counting

I hope they are of use."""
    found = [
        one.reason if isinstance(one, RejectedError) else (one.question, one.subtype)
        for one in read_questions(reply, TASKS["nr"])
    ]
    assert found == [
        (
            "How many people are there among all those whose names, ages in years and towns of "
            "birth the table lists in its rows?",
            "Counting",
        ),
        (
            "Who is older, Ada or Bo, going by the ages in years that the table lists for both of "
            "these two people?",
            "Comparison",
        ),
        "question does not have 20 to 50 words",
        "question does not have 20 to 50 words",
        "question begins like a formula",
        "a number occurs twice",
    ]
    with pytest.raises(RejectedError, match="has no question"):
        list(read_questions("I cannot.", TASKS["nr"]))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What is the mean-age of Ada's 1,234.5 people (in 2020)?", 10),
        ("各年龄段的平均工资是多少?", 6),
        ("表中 Total 的值?", 3),
        ("", 0),
    ],
)
def test_words_are_counted_in_scripts_with_blanks_and_without(text: str, count: int) -> None:
    assert word_count(text) == count


@pytest.mark.parametrize(("count", "taken"), [(19, False), (20, True), (50, True), (51, False)])
def test_a_question_has_20_to_50_words(count: int, taken: bool) -> None:
    [read] = read_questions(f"[Question1]: {'word ' * count}\n[Subtype1]: Counting", TASKS["nr"])
    assert isinstance(read, Draft) is taken


def test_an_answer_is_what_the_last_marker_stands_before() -> None:
    reply = "[Final Answer]: 1\n[Final Answer]: 2\n[Final Answer]: **tea |\ncoffee**"
    assert read_answer(reply, TASKS["fc"]) == "tea | coffee"
    with pytest.raises(RejectedError, match="no marked answer"):
        read_answer("tea", TASKS["fc"])
    with pytest.raises(RejectedError, match="too long"):
        read_answer(f"[Final Answer]: {'x' * 601}", TASKS["fc"])
    assert read_answer(f"[Final Answer]: {'x' * 601}", TASKS["da"]) == "x" * 601


@pytest.mark.parametrize("marks", [[1, 2, 3, 4], [1, 2, 3, 4, 11], [1, 2, 3, 4, True]])
def test_complexity_is_five_whole_marks(marks: list[int]) -> None:
    names = ("column_header", "row_header", "partition", "compound", "visual")
    good = dict(zip(names, (1, 2, 3, 4, 10), strict=True))
    assert read_complexity(f"```json\n{json.dumps(good)}\n```") == (1, 2, 3, 4, 10)
    with pytest.raises(RejectedError):
        read_complexity(json.dumps(dict(zip(names, marks, strict=False))))


# Which answer is taken


def test_marks_times_frequency_then_marks_then_who_was_first() -> None:
    a, b, c, d, e = (
        Candidate("a", ("x",), 60.0),
        Candidate("b", ("y", "z"), 30.0),
        Candidate("c", ("u",), 60.0),
        Candidate("d", ("v", "w"), 31.0),
        Candidate("e", ("t",), None),
    )
    # 62, then 60 three times: 60 marks before 30, and the first before the later one.
    assert ranked([e, b, a, c, d]) == [d, a, c, b, e]


def test_equal_answers_are_counted_in_the_order_in_which_they_came() -> None:
    given = [("x", "Tea"), ("y", "coffee"), ("x", "tea")]
    found = counted_alike(given, lambda new, old: new.casefold() == old.casefold())
    assert found == [Candidate("Tea", ("x", "x")), Candidate("coffee", ("y",))]


# The makers, told by hand


def open_question(name: str, text: str, task: str) -> OpenQuestion:
    return OpenQuestion(name, "ages.csv", text, tags={"task": task})


class Annotation:
    """Three models that say one answer each, and a judge by the answer."""

    def __init__(
        self,
        answers: dict[str, str],
        marks: dict[str, str],
        review: Path | None = None,
        question: OpenQuestion | None = None,
    ) -> None:
        self.answers, self.marks = answers, marks
        self.maker = AnswerGenerator(
            questions={"ages.csv": [question or open_question("q", "Which?", "fc")]},
            models=["a", "b", "c"],
            judge="j",
            review=review,
        )
        self.tally = self.maker.tally

    def pairs(self) -> list[Pair]:
        return pairs_of(self.maker, TABLE, self.reply_to, run)

    def accepted_answers(self) -> list[tuple[str, ...]]:
        return [pair.answers for pair in self.pairs()]

    def reply_to(self, step: Ask) -> str:
        instructions, question = (str(message.content) for message in step.messages)
        if "rate one answer" in instructions:
            return self.marks[question.rpartition("Answer: ")[2]]
        answer = self.answers[str(step.model)]
        if answer in {"!", "$"}:
            raise ModelError("no", reason="timeout" if answer == "!" else "budget")
        return f"[Final Answer]: {answer}"


def run(step: Execute) -> Execution:
    """What a program drew stands behind its `#`."""
    values = json.loads(step.program.partition("#")[2].partition("\n")[0])
    return Execution("ok" if values else "error", value={"ran": True, "values": values})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (("1,234", "1234", "7"), ("1,234",)),
        (("tea | coffee", "Coffee | tea", "tea"), ("tea", "coffee")),
        (("!", "nobody", "No marks"), ("nobody",)),
    ],
)
def test_answers_that_say_the_same_count_together(
    said: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    marks = {"7": "[Score]: 100/100", "tea": "[Score]: 99/100", "No marks": "fine"}
    marks |= dict.fromkeys(("1,234", "tea | coffee", "nobody"), "[Score]: 51/100")
    annotation = Annotation(dict(zip("abc", said, strict=True)), marks)
    assert annotation.accepted_answers() == [expected]


def test_nothing_is_taken_that_has_no_marks_and_the_reason_is_counted() -> None:
    annotation = Annotation(dict.fromkeys("abc", "x"), {"x": "[Score]: 0/100"})
    assert annotation.pairs() == []
    assert annotation.tally.rejected == {"no marks for an answer": 1}
    annotation = Annotation(dict.fromkeys("abc", "!"), {})
    assert annotation.pairs() == []
    assert annotation.tally.rejected == {"no answer": 1}
    assert annotation.tally.course == {"no answer of a model: timeout": 3}


def test_where_the_budget_is_spent_fewer_votes_do_not_decide() -> None:
    annotation = Annotation({"a": "x", "b": "x", "c": "$"}, {"x": "[Score]: 90/100"})
    assert annotation.pairs() == []
    assert annotation.tally.rejected == {"not all asked: budget": 1}


@pytest.mark.parametrize("metric", ["", "realhit_chart"])
def test_a_plan_expects_another_answer_of_each_model_and_the_judge_for_each(metric: str) -> None:
    question = OpenQuestion(
        "q", "ages.csv", "Which?", tags={"subtype": "BarChart Generation"}, metric=metric
    )
    models = [
        step.model for step in expected_steps(Annotation({}, {}, None, question).maker, TABLE)
    ]
    assert models == ["a", "b", "c", "j", "j", "j"]


def test_a_run_that_goes_on_writes_the_candidates_once(tmp_path: Path) -> None:
    path = tmp_path / "review.csv"
    marks = {"-3": "[Score]: 70/100", "7": "[Score]: 80/100"}
    answers = {"a": "-3", "b": "7", "c": "7"}
    first = Annotation(answers, marks, path)
    assert first.accepted_answers() == [("7",)]
    state, whole = json.loads(json.dumps(first.maker.state())), path.read_bytes()
    first.pairs()  # was cut off behind the state
    assert path.read_bytes() != whole
    again = Annotation(answers, marks, path, open_question("p", "@Who?", "nr"))
    again.maker.resume(state)
    assert again.maker.tally.accepted == 1
    again.pairs()
    read = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    assert [(row["id"], row["answer"], row["taken"]) for row in read] == [
        ("q", "7", "yes"), ("q", "-3", "no"), ("p", "7", "yes"), ("p", "-3", "no"),
    ]  # fmt: skip
    assert read[2]["question"] == "'@Who?"  # a spreadsheet would run it


def program(values: object) -> str:
    return f"import pandas as pd\n#{json.dumps(values)}\nplt.show()"


def test_programs_that_draw_the_same_count_together_and_the_values_are_the_answer() -> None:
    tags = {"task": "cg", "subtype": "BarChart Generation"}
    asked = OpenQuestion("q", "ages.csv", "Draw.", tags=tags, metric="realhit_chart")
    drawn = {"a": program([1, 2.004]), "b": program([2, 1]), "c": program([[3, 4]])}
    shown = "a program that draws a chart of these values: "
    marks = {f"{shown}[1.0, 2.0]": "[Score]: 60/100", f"{shown}[[3.0, 4.0]]": "[Score]: 90/100"}
    annotation = Annotation(drawn, marks, question=asked)
    assert annotation.accepted_answers() == [("[1.0, 2.0]",)]  # 120 is more than 90
    assert annotation.tally.course["given by several"] == 1
    # One program fails, one reply holds none, and one draws what is no number.
    faulty = {"a": program([]), "b": "plt.show()", "c": program(["x"])}
    annotation = Annotation(faulty, {}, question=asked)
    assert annotation.pairs() == []
    assert annotation.tally.course == {
        "no answer of a model: program error": 1,
        "no answer of a model: no program": 1,
        "no answer of a model: program draws no numbers": 1,
    }


def test_prose_is_one_text_without_bars_and_judged_as_the_row_says() -> None:
    question = open_question("q", "Sum up.", "da")
    asked = replace(question, metric="realhit_judged", threshold="0.3")
    said = "It rises | then falls."
    [pair] = Annotation(
        dict.fromkeys("abc", said), {said: "[Score]: 60/100"}, question=asked
    ).pairs()
    assert pair.answers == ("It rises / then falls.",)
    assert (pair.metric, pair.threshold) == ("realhit_judged", "0.3")


DRAW = (
    "Draw a bar chart of the ages in years of all people in the table, with one bar for each of "
    "their names."
)


def test_a_model_is_asked_for_a_share_of_the_questions_in_each_task() -> None:
    asked: list[str] = []

    def writes(step: Ask) -> str:
        asked.append(str(step.messages[0].content))
        return f"[Question1]: {DRAW}\n[Subtype1]: BarChart Generation"

    maker = QuestionGenerator(model="m", tasks=["fc", "cg"], per_table=5)
    pairs = pairs_of(maker, TABLE, writes)
    [pair] = pairs
    assert ["Write 3 questions" in text for text in asked] == [True, False]
    assert ["Write 2 questions" in text for text in asked] == [False, True]
    assert maker.tally.rejected == {"unknown sub-type": 1}
    assert (pair.metric, pair.perturbations) == ("realhit_chart", ("none",))
    assert pair.question.startswith(f"{DRAW} Answer with a Python program alone.")


HEADED = (
    "<table><tr><td rowspan=2>Town</td><td colspan=2>2020</td><td colspan=2>2021</td></tr>"
    "<tr><td>Men</td><td>Women</td><td>Men</td><td>Women</td></tr>"
    "<tr><td>Oslo</td><td>1</td><td>2</td><td>3</td><td>4</td></tr>"
    "<tr><td>Rome</td><td>5</td><td>6</td><td>7</td><td>8</td></tr></table>"
)
WOMEN = (
    "How many women did the town of Rome count in the year 2021, by the part of the table about "
    "that year alone?"
)


@pytest.fixture
def headed(tmp_path: Path) -> Table:
    path = tmp_path / "towns.html"
    path.write_text(HEADED, "utf-8")
    return replace(Table.from_html(path, structure=True), name="towns.html")


def test_structure_questions_are_asked_of_tables_with_parts_to_exchange(headed: Table) -> None:
    def writes(step: Ask) -> str:
        task = str(step.messages[0].content)
        assert ("Task: Structure Comprehending" in task) is (table is headed)
        return f"[Question1]: {WOMEN}\n[Subtype1]: Value-Matching"

    for table, expected in ((headed, ["sc"]), (TABLE, [])):
        maker = QuestionGenerator(model="m", tasks=["sc"])
        pairs = pairs_of(maker, table, writes)
        assert [pair.tags["task"] for pair in pairs] == expected
        assert maker.tally.course["no parts to exchange, so no structure question"] == (
            table is TABLE
        )


def test_the_answer_to_a_structure_question_holds_for_the_twin_too(headed: Table) -> None:
    question = open_question("q", WOMEN, "sc")
    maker = AnswerGenerator(questions={"towns.html": [question]}, models=["a", "b", "c"], judge="j")
    replies = Annotation(dict.fromkeys("abc", "8"), {"8": "[Score]: 90/100"})
    pairs = pairs_of(maker, headed, replies.reply_to)
    plain, twin = pairs
    assert (plain.id, plain.answers, plain.tags["shown"]) == ("q", ("8",), "original")
    assert (twin.id, twin.answers, twin.tags["twin_of"]) == ("q-twin", ("8",), "q")
    assert twin.other is not None
    assert twin.other.table.lines != headed.lines
    assert maker.tally.recipes == {"sc": 1}


def test_treethinker_asks_for_the_tree_and_then_for_each_answer_by_it() -> None:
    steps: list[Ask] = []

    def reply_to(step: Ask) -> str:
        if "rate one answer" in str(step.messages[0].content):
            return "[Score]: 90/100"
        steps.append(step)
        return "(C0, 1, 1, name)" if len(step.messages) == 1 else "[Final Answer]: 41"

    rows = {"ages.csv": [open_question(name, f"{name}?", "fc") for name in "pq"]}
    maker = AnswerGenerator(questions=rows, models=["a"], judge="j", strategy="treethinker")
    pairs = pairs_of(maker, TABLE, reply_to)
    assert [pair.answers for pair in pairs] == [("41",), ("41",)]
    tree, answer, *_ = steps
    assert [message.role for message in answer.messages] == ["user", "assistant", "user"]
    assert tree.messages == answer.messages[:1]
    assert "T(t1, t2, t3, t4)" in str(tree.messages[0].content)
    assert answer.messages[1].content == "(C0, 1, 1, name)"
    assert "Question: p?" in str(answer.messages[2].content)
    # One request, which both questions need: it is paid for once.
    assert len({step.messages for step in steps if len(step.messages) == 1}) == 1


def test_questions_become_a_table_beside_their_settings(tmp_path: Path) -> None:
    row = {"id": "1", "question": "Who?", "answer": ["a", "b"], "tags": {"task": "fc", "x": "y"}}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    (tmp_path / "tablebench.toml").write_text("# Written\n\n[defaults]\nlimit = 100\n", "utf-8")
    questions_as_table(tmp_path, {"params": "{ max_tokens = 4096 }"})
    assert (tmp_path / "questions.csv").read_text("utf-8") == (
        "id,question,answer,tags\n1,Who?,a | b,task=fc | x=y\n"
    )
    assert (
        (tmp_path / "tablebench.toml")
        .read_text("utf-8")
        .endswith("[defaults]\nlimit = 100\nparams = { max_tokens = 4096 }\n")
    )
    assert not (tmp_path / "questions.jsonl").exists()
