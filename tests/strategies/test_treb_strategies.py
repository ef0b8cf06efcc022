"""tcot, pot and icot: what is asked and run in every branch of treb.md section 3, by hand."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.datasets import AnswerForm
from pytest_tablebench.errors import ModelError
from pytest_tablebench.metrics.steps import Execution
from pytest_tablebench.strategies._icot import ICoT
from pytest_tablebench.strategies._programs import PoT
from pytest_tablebench.strategies._tcot import TCoT
from pytest_tablebench.tables.table import Table

from .driving import PEOPLE, drive, executed, run, task, transcript

Outcomes = list[str | Execution | Exception]

FRAME = """\
info():
RangeIndex: 2 entries
Data columns (total 2):
0  'Name': 2 non-null, object
1  'Age': 2 non-null, int64
content:
Name\tAge
Ada\t36
Bo\t41
shape: (2, 2)
columns: ['Name', 'Age']"""


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def result(output: str) -> str:
    return f"\n```CodeExecuteResult\n{output}\n```\n"


# TCoT


def test_the_answer_of_an_object_is_judged():
    reply = 'Well.\n```json\n{"thought": "row 2", "answer": 41}\n```'
    [step], said = drive(TCoT(), task(PEOPLE), [reply])
    (role, system), user = transcript(step)
    assert role == "system"
    assert "exactly two keys" in system
    assert "Put into it the number." in system
    assert user == ("user", "<table of 2>\nHow old is Bo?")
    assert (said.text, said.flags) == ("41", ())


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("It is 41.", "It is 41."),
        ('<think>```json\n{"answer": 1}\n```</think>41', "41"),
        ('```json\n{"answer": "1"}\n```\n```json\n{"answer": "2"}\n```', "2"),
        ("```json\n{broken\n```", "```json\n{broken\n```"),
        ('```json\n{"thought": "no answer"}\n```', '```json\n{"thought": "no answer"}\n```'),
    ],
)
def test_without_such_an_object_the_reply_is_judged(reply, answer):
    assert drive(TCoT(), task(PEOPLE), [reply])[1].text == answer


def test_a_dataset_has_its_own_word_on_the_system_message():
    form = AnswerForm(system="Summarise.", remark="Rows count from 1.", judged="reply")
    [step], said = drive(TCoT(), task(PEOPLE, form=form), ["It is a list."])
    assert transcript(step)[0] == ("system", "Summarise.\nRows count from 1.")
    assert said.text == "It is a list."
    [step], _ = drive(TCoT(), task(PEOPLE, form=AnswerForm(system="")), ["x"])
    assert [role for role, _ in transcript(step)] == ["user"]


@pytest.mark.parametrize(
    ("written", "rows", "shown", "flags"),
    [
        ("markdown", 49, 49, ()),
        ("markdown", 51, 50, ("table_cut",)),
        ("csv", 51, 51, ()),
    ],
)
def test_a_long_table_is_shown_with_its_first_50_rows(written, rows, shown, flags):
    table = Table(["n"], [[str(number)] for number in range(1, rows + 1)])

    def show(one: Table) -> str:
        return "\n".join(["|n|", "|---|", *(f"|{row[0]}|" for row in one.rows)])

    [step], said = drive(TCoT(), task(table, show=show, serializer=written), ["x"])
    lines = transcript(step)[1][1].split("\n")
    assert lines[:3] == ["<|n|", "|---|", "|1|"]
    assert lines[shown + 1 : shown + 3] == [f"|{shown}|>", "How old is Bo?"]
    assert said.flags == flags


def test_half_of_the_context_is_for_the_table():
    table = Table(["n"], [["1"], ["2"], ["3"]])
    given = task(
        table,
        show=lambda _: "|n|\n|-|\n|1|\n|2|\n|3|",
        serializer="markdown",
        params={"context": 8},  # four tokens of about four characters: the head and two rows
    )
    [step], said = drive(TCoT(), given, ["x"])
    assert transcript(step)[1][1] == "<|n|\n|-|\n|1|\n|2|>\nHow old is Bo?"
    assert said.flags == ("table_cut",)


# PoT


def test_the_last_program_is_run_once_and_what_it_prints_is_judged(tmp_path):
    given = task(PEOPLE)
    reply = f"Plan.\n{fenced('print(1)')}\nBetter:\n{fenced('print(df.Age.max())')}"
    conversation = PoT().converse(given)
    first = next(conversation)
    (_, system), user = transcript(first)
    assert "`df`; do not load it again" in system
    assert "Have it print the number, in the language of the question." in system
    where = "The table lies in df.csv, and is loaded as `df`."
    assert user == ("user", f"<{where}\n{FRAME}>\nHow old is Bo?")
    steps, said = drive(PoT(), given, [reply, Execution("ok", "41\n")])
    assert (said.text, said.flags) == ("41\n", ())
    step = executed(steps[1])
    assert step.program == "print(df.Age.max())\n"
    assert step.files["df.csv"] == b"Name,Age\nAda,36\nBo,41\n"
    assert run(step, tmp_path / "box").output == "41\n"


def test_the_published_prompt_names_its_path_and_no_program_may():
    steps, _ = drive(
        PoT(),
        task(PEOPLE, compat="reference"),
        [fenced("df = pd.read_csv('x')\nprint(2)"), Execution("ok", "2\n")],
    )
    assert "<The table lies in /mnt/tmp.csv, and is loaded" in transcript(steps[0])[1][1]
    assert executed(steps[1]).program == "print(2)\n"


def test_without_a_program_nothing_is_run_and_nothing_is_judged():
    steps, said = drive(PoT(), task(PEOPLE), ["It is 41."])
    assert (len(steps), said.text, said.flags) == (1, "", ("no_program",))


def test_an_answer_that_is_a_program_is_not_run():
    reply = fenced("plt.show()")
    steps, said = drive(PoT(), task(PEOPLE, form=AnswerForm(judged="reply")), [reply])
    assert (len(steps), said.text) == (1, reply)


@pytest.mark.parametrize(
    ("execution", "answer"),
    [
        (
            Execution("error", "Error code: 1/0\nError message: X"),
            "Error code: 1/0\nError message: X",
        ),
        (Execution("timeout"), "The program took too long and was stopped."),
        (Execution("output", "1\n"), "1\n\nThe program printed too much and was stopped."),
    ],
)
def test_what_becomes_of_a_program_that_fails_is_judged(execution, answer):
    _, said = drive(PoT(), task(PEOPLE), [fenced("x"), execution])
    assert (said.text, said.flags) == (answer, ("program_failed",))


def test_each_of_several_tables_has_a_name_and_the_published_code_knows_the_first_alone():
    other = Table(["City"], [["Leeds"]])
    steps, _ = drive(PoT(), task(PEOPLE, other), [fenced("x"), Execution("ok")])
    user = transcript(steps[0])[1][1]
    assert "loaded as `df`" in user
    assert "loaded as `df2`" in user
    assert set(executed(steps[1]).files) == {"df.csv", "df2.csv", "job.json"}
    steps, _ = drive(PoT(), task(PEOPLE, other, compat="reference"), [fenced("x"), Execution("ok")])
    assert "Leeds" not in transcript(steps[0])[1][1]
    assert set(executed(steps[1]).files) == {"df.csv", "job.json"}


def test_without_a_table_the_question_is_asked_all_the_same():
    steps, said = drive(PoT(), task(), [fenced("print(2)"), Execution("ok", "2\n")])
    assert "There is no table." in transcript(steps[0])[0][1]
    assert said.text == "2\n"


# ICoT


def test_the_model_goes_on_in_its_own_turn_behind_each_program():
    replies = [
        f"Look.\n{fenced('print(1)')} and so \\boxed{{early}}",
        f"Then.\n{fenced('x = 2')}",
        "So \\boxed{41}.",
    ]
    outcomes: Outcomes = [
        replies[0],
        Execution("ok", "1\n"),
        replies[1],
        Execution("ok"),
        replies[2],
    ]
    steps, said = drive(ICoT(), task(PEOPLE), outcomes)
    first = f"Look.\n{fenced('print(1)')}{result('1' + chr(10))}"
    second = f"{first}Then.\n{fenced('x = 2')}{result('')}"
    asked = [transcript(step) for step in steps[::2]]
    assert [one[2:] for one in asked] == [[], [("assistant", first)], [("assistant", second)]]
    assert {json.dumps(one[:2]) for one in asked} == {json.dumps(asked[0][:2])}
    assert "put into it the number" in asked[0][0][1]
    assert [executed(step).program for step in steps[1::2]] == ["print(1)\n", "x = 2\n"]
    assert json.loads(executed(steps[3]).files["job.json"])["earlier"] == ["print(1)\n"]
    assert (said.text, said.flags) == ("41", ())


def test_after_three_programs_it_has_a_last_word():
    round_of: Outcomes = [fenced("x"), Execution("ok", "1")]
    outcomes = [*round_of * 3, f"Done {fenced('y')}"]
    steps, said = drive(ICoT(), task(PEOPLE), outcomes)
    assert len(steps) == 7
    assert said.text == f"Done {fenced('y')}"


def test_the_bound_is_a_parameter():
    outcomes: Outcomes = [fenced("x"), Execution("ok", "1"), f"\\boxed{{7}} {fenced('y')}"]
    steps, said = drive(ICoT(), task(PEOPLE, params={"max_exec": 1}), outcomes)
    assert (len(steps), said.text) == (3, "7")
    steps, _ = drive(ICoT(), task(PEOPLE, params={"max_exec": 0}), [fenced("x")])
    assert len(steps) == 1


def test_a_model_that_refuses_to_go_on_is_given_its_text_in_the_users_turn():
    refused = ModelError("no prefill", reason="bad_request")
    outcomes: Outcomes = [fenced("x"), Execution("error", "NameError: x"), refused, "\\boxed{41}"]
    steps, said = drive(ICoT(), task(PEOPLE), outcomes)
    so_far = f"{fenced('x')}{result('NameError: x')}"
    assert transcript(steps[2])[2] == ("assistant", so_far)
    messages = transcript(steps[3])
    assert [role for role, _ in messages] == ["system", "user"]
    assert messages[1][1].startswith(transcript(steps[0])[1][1])
    assert so_far in messages[1][1]
    assert (said.text, said.flags) == ("41", ("program_failed", "turn_restated"))


def test_a_model_that_is_known_not_to_go_on_is_not_tried():
    outcomes: Outcomes = [fenced("x"), Execution("ok", "1"), "\\boxed{41}"]
    steps, said = drive(ICoT(), task(PEOPLE, continues=False), outcomes)
    assert [role for role, _ in transcript(steps[2])] == ["system", "user"]
    assert said.flags == ("turn_restated",)


def test_other_failures_end_the_conversation():
    failed = ModelError("too many", reason="rate_limit")
    with pytest.raises(ModelError, match="too many"):
        drive(ICoT(), task(PEOPLE), [fenced("x"), Execution("ok", "1"), failed])


def test_names_hold_on_from_block_to_block_and_each_is_shown_its_own_output(tmp_path):
    blocks = ["df['Twice'] = df.Age * 2\nprint('unseen')\n1 / 0", "print('now')\ndf.Twice.sum()"]
    outcomes: Outcomes = [
        fenced(blocks[0]),
        Execution("error"),
        fenced(blocks[1]),
        Execution("ok"),
        ".",
    ]
    steps, _ = drive(ICoT(), task(PEOPLE), outcomes)
    first = run(executed(steps[1]), tmp_path / "first")
    second = run(executed(steps[3]), tmp_path / "second")
    assert (first.outcome, first.output) == (
        "error",
        "unseen\nZeroDivisionError: division by zero\n",
    )
    assert (second.outcome, second.output) == ("ok", "now\n154\n")
