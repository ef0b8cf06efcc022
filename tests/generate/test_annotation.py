"""The annotation's parts: what is read of replies, which answer is taken, what people are shown."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.generate.annotate import (
    TASKS,
    AnswerGenerator,
    QuestionGenerator,
    UnansweredQuestion,
    questions_as_table,
)
from pytest_tablebench.generate.annotate._ranking import Candidate, counted_alike, ranked
from pytest_tablebench.generate.annotate._replies import (
    read_answer,
    read_complexity,
    read_questions,
    word_count,
)
from pytest_tablebench.generate.llm.replies import RefusedError
from pytest_tablebench.metrics.steps import Ask, Execute, Execution
from pytest_tablebench.tables.table import Table
from tests.support.following import following

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
        one.reason if isinstance(one, RefusedError) else one
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
        "question has not 20 to 50 words",
        "question has not 20 to 50 words",
        "question begins like a formula",
        "a number stands twice",
    ]
    with pytest.raises(RefusedError, match="holds no question"):
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
    assert isinstance(read, tuple) is taken


def test_an_answer_is_what_the_last_marker_stands_before() -> None:
    reply = "[Final Answer]: 1\n[Final Answer]: 2\n[Final Answer]: **tea |\ncoffee**"
    assert read_answer(reply, TASKS["fc"]) == "tea | coffee"
    with pytest.raises(RefusedError, match="no marked answer"):
        read_answer("tea", TASKS["fc"])
    with pytest.raises(RefusedError, match="too long"):
        read_answer(f"[Final Answer]: {'x' * 601}", TASKS["fc"])
    assert read_answer(f"[Final Answer]: {'x' * 601}", TASKS["da"]) == "x" * 601


@pytest.mark.parametrize("marks", [[1, 2, 3, 4], [1, 2, 3, 4, 11], [1, 2, 3, 4, True]])
def test_complexity_is_five_whole_marks(marks: list[int]) -> None:
    names = ("column_header", "row_header", "partition", "compound", "visual")
    good = dict(zip(names, (1, 2, 3, 4, 10), strict=True))
    assert read_complexity(f"```json\n{json.dumps(good)}\n```") == (1, 2, 3, 4, 10)
    with pytest.raises(RefusedError):
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


def reply_to(answers: dict[str, str], marks: dict[str, str]) -> Callable[[Ask], str | None]:
    """Models that say one answer each, and a judge by the answer."""

    def found(step: Ask) -> str | None:
        told, asked = (str(message.content) for message in step.messages)
        if "rate one answer" in told:
            return marks.get(asked.rpartition("Answer: ")[2])
        said = answers.get(str(step.model))
        if said in {"!", "$"}:
            raise ModelError("no", reason="timeout" if said == "!" else "budget")
        return None if said is None else f"[Final Answer]: {said}"

    return found


def run(step: Execute) -> Execution | None:
    """What a program drew stands behind its `#`."""
    said = step.program.partition("#")[2].partition("\n")[0]
    if said == "later":
        return None
    values = json.loads(said)
    return Execution("ok" if values else "error", value={"ran": True, "values": values})


def made(
    answers: dict[str, str],
    marks: dict[str, str],
    review: Path | None = None,
    asked: UnansweredQuestion | None = None,
) -> AnswerGenerator:
    rows = {"ages.csv": [asked or UnansweredQuestion("q", "Which?", {"task": "fc"})]}
    models = ["a", "b", "c"]
    return AnswerGenerator(
        following(reply_to(answers, marks), run),
        questions=rows,
        models=models,
        judge="j",
        review=review,
    )


def pairs(maker: AnswerGenerator) -> list[tuple[str, ...]]:
    found = maker.make(TABLE, None)
    assert found is not None
    return [pair.answers for pair in found[1]]


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
    maker = made(dict(zip("abc", said, strict=True)), marks)
    assert pairs(maker) == [expected]


def test_nothing_is_taken_that_has_no_marks_and_the_reason_is_counted() -> None:
    maker = made(dict.fromkeys("abc", "x"), {"x": "[Score]: 0/100"})
    assert pairs(maker) == []
    assert maker.tally.rejected == {"no marks for an answer": 1}
    maker = made(dict.fromkeys("abc", "!"), {})
    assert pairs(maker) == []
    assert maker.tally.rejected == {"no answer": 1}
    assert maker.tally.course == {"no answer of a model: timeout": 3}


def test_where_the_budget_is_spent_fewer_votes_do_not_decide() -> None:
    maker = made({"a": "x", "b": "x", "c": "$"}, {"x": "[Score]: 90/100"})
    maker.look(TABLE)
    assert pairs(maker) == []
    assert maker.tally.rejected == {"not all asked: budget": 1}


def test_as_long_as_models_have_not_replied_the_judge_is_expected_for_each_of_them() -> None:
    maker = made({"a": "x"}, {})
    maker.look(TABLE)
    [(step, count)] = maker.further
    assert (step.model, count) == ("j", 3)
    later = made(dict.fromkeys("abc", "x"), {})
    later.look(TABLE)
    assert later.further == []  # what is asked of the judge is known now


def test_a_run_that_goes_on_writes_the_candidates_once(tmp_path: Path) -> None:
    path = tmp_path / "review.csv"
    marks = {"-3": "[Score]: 70/100", "7": "[Score]: 80/100"}
    answers = {"a": "-3", "b": "7", "c": "7"}
    first = made(answers, marks, path)
    assert pairs(first) == [("7",)]
    state, whole = json.loads(json.dumps(first.state())), path.read_bytes()
    pairs(first)  # was cut off behind the state
    assert path.read_bytes() != whole
    again = made(answers, marks, path, UnansweredQuestion("p", "@Who?", {"task": "nr"}))
    again.resume(state)
    assert again.accepted == 1
    pairs(again)
    read = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    assert [(row["id"], row["answer"], row["taken"]) for row in read] == [
        ("q", "7", "yes"), ("q", "-3", "no"), ("p", "7", "yes"), ("p", "-3", "no"),
    ]  # fmt: skip
    assert read[2]["question"] == "'@Who?"  # a spreadsheet would run it


def program(values: object) -> str:
    return f"import pandas as pd\n#{json.dumps(values)}\nplt.show()"


def test_programs_that_draw_the_same_count_together_and_the_values_are_the_answer() -> None:
    asked = UnansweredQuestion(
        "q", "Draw.", {"task": "cg", "subtype": "BarChart Generation"}, "realhit_chart"
    )
    drawn = {"a": program([1, 2.004]), "b": program([2, 1]), "c": program([[3, 4]])}
    shown = "a program that draws a chart of these values: "
    marks = {f"{shown}[1.0, 2.0]": "[Score]: 60/100", f"{shown}[[3.0, 4.0]]": "[Score]: 90/100"}
    maker = made(drawn, marks, asked=asked)
    assert pairs(maker) == [("[1.0, 2.0]",)]  # 120 is more than 90
    assert maker.tally.course["given by several"] == 1
    # One program fails, one reply holds none, and one draws what is no number.
    faulty = {"a": program([]), "b": "plt.show()", "c": program(["x"])}
    maker = made(faulty, {}, asked=asked)
    assert pairs(maker) == []
    assert maker.tally.course == {
        "no answer of a model: program error": 1,
        "no answer of a model: no program": 1,
        "no answer of a model: program draws no numbers": 1,
    }
    maker = made(dict.fromkeys("abc", "import pandas as pd\n#later\nplt.show()"), {}, asked=asked)
    maker.look(TABLE)
    assert [count for _, count in maker.further] == [3]


def test_prose_is_one_text_without_bars_and_judged_as_the_row_says() -> None:
    asked = UnansweredQuestion(
        "q", "Sum up.", {"task": "da"}, metric="realhit_judged", threshold="0.3"
    )
    said = "It rises | then falls."
    maker = made(dict.fromkeys("abc", said), {said: "[Score]: 60/100"}, asked=asked)
    found = maker.make(TABLE, None)
    assert found is not None
    [pair] = found[1]
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

    maker = QuestionGenerator(following(writes), model="m", tasks=["fc", "cg"], per_table=5)
    found = maker.make(TABLE, None)
    assert found is not None
    [pair] = found[1]
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
        maker = QuestionGenerator(following(writes), model="m", tasks=["sc"])
        made = maker.make(table, None)
        assert made is not None
        assert [pair.tags["task"] for pair in made[1]] == expected
        assert maker.tally.course["no parts to exchange, so no structure question"] == (
            table is TABLE
        )


def test_the_answer_to_a_structure_question_holds_for_the_twin_too(headed: Table) -> None:
    question = UnansweredQuestion("q", WOMEN, {"task": "sc"})
    maker = AnswerGenerator(
        following(reply_to(dict.fromkeys("abc", "8"), {"8": "[Score]: 90/100"}), run),
        questions={"towns.html": [question]}, models=["a", "b", "c"], judge="j",
    )  # fmt: skip
    made = maker.make(headed, None)
    assert made is not None
    plain, twin = made[1]
    assert (plain.id, plain.answers, plain.tags["shown"]) == ("q", ("8",), "original")
    assert (twin.id, twin.answers, twin.tags["twin_of"]) == ("q-twin", ("8",), "q")
    assert twin.other is not None
    assert twin.other.table.lines != headed.lines
    assert maker.tally.recipes == {"sc": 1}


def test_treethinker_asks_for_the_tree_once_and_then_for_each_answer_by_it() -> None:
    steps: list[Ask] = []

    def says(step: Ask) -> str | None:
        first = str(step.messages[0].content)
        if "rate one answer" in first:
            return "[Score]: 90/100"
        steps.append(step)
        if len(step.messages) == 1:
            return trees
        return "[Final Answer]: 41"

    rows = {"ages.csv": [UnansweredQuestion(name, f"{name}?", {"task": "fc"}) for name in "pq"]}
    trees: str | None = None
    for trees in (None, "(C0, 1, 1, name)"):
        maker = AnswerGenerator(
            following(says, run), questions=rows, models=["a"], judge="j", strategy="treethinker"
        )
        steps.clear()
        maker.look(TABLE)
        # As long as there is no tree, each answer and its marks are expected.
        assert sum(count for _, count in maker.further) == (4 if trees is None else 0)
    first, second, *_ = steps
    assert [message.role for message in second.messages] == ["user", "assistant", "user"]
    assert first.messages == second.messages[:1]
    assert "T(t1, t2, t3, t4)" in str(first.messages[0].content)
    assert second.messages[1].content == "(C0, 1, 1, name)"
    assert "Question: p?" in str(second.messages[2].content)
    assert len({step.messages for step in steps if len(step.messages) == 1}) == 1
    assert [pair.answers for pair in maker.make(TABLE, None)[1]] == [("41",), ("41",)]  # type: ignore[index]


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
