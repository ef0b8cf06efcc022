"""`tablebench generate translate` against a server: there, back, answers checked, counts, cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.folder import check_dataset
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from pytest_tablebench.generate.llm.translated import Translator, language_of, read_texts
from pytest_tablebench.generate.pair import RejectedError
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.tables.table import Table
from tests.support.following import expected_steps, pairs_of
from tests.support.openai_server import OpenAIServer
from tests.support.own_folders import only

MODEL = "openai/gpt-4o"
WORDS = {
    "Harbours": "港口表", "port": "港口", "sea": "海域", "ships": "船数", "Alba": "阿尔巴",
    "north": "北", "Brig": "布里格", "south": "南",
}  # fmt: skip
QUESTIONS = [
    ("How many ships has Alba?", "12"),
    ("Which sea is Brig in?", "south"),
    ("Has Alba 12 ships?", "yes"),
    ("Which ports have over 5 ships?", "Alba | Brig"),
    ("Is Brig in the south?", "yes"),
    ("How many seas are there?", "2"),
    ("How many ports are there?", "2"),
]
THERE = {
    "How many ships has Alba?": "阿尔巴有多少艘船?",
    "Which sea is Brig in?": "布里格在哪片海域?",
    "Has Alba 12 ships?": "阿尔巴有十二艘船吗?",
    "Which ports have over 5 ships?": "哪些港口的船数超过 5?",
    "Is Brig in the south?": "布里格在南边吗?",
    "How many seas are there?": "How many seas are there now?",
}
BACK = {
    "阿尔巴有多少艘船?": "How many ships does Alba have?",
    "布里格在哪片海域?": "In which sea is Brig?",
    "哪些港口的船数超过 5?": "Which ports have 5 ships?",
    "布里格在南边吗?": "Is Brig in the south of it?",
}
SOLVED: dict[str, Any] = {
    "阿尔巴有多少艘船?": "12",
    "How many ships does Alba have?": 12,
    "布里格在哪片海域?": "北",
    "哪些港口的船数超过 5?": ["布里格", "阿尔巴"],
    "Which ports have 5 ships?": None,
    "布里格在南边吗?": "是",
    "Is Brig in the south of it?": "yes",
}


def said(body: dict[str, Any]) -> str:
    """What a model says to texts and to a question."""
    told, asked = (str(message["content"]) for message in body["messages"])
    if told.startswith(("You translate", "你把")):
        texts = json.loads(asked)["texts"]
        if texts[0] == "How many ports are there?":
            return "有多少个港口?"
        known = WORDS | (THERE if told.startswith("You") else BACK)
        return json.dumps({"texts": [known[one] for one in texts]}, ensure_ascii=False)
    question = asked.replace("问题:", "Question: ").rsplit("Question: ", 1)[1]
    answer = json.dumps({"answer": SOLVED[question]}, ensure_ascii=False)
    return f"```json\n{answer}\n```"


def folder(tmp_path: Path) -> Path:
    own = tmp_path / "ports"
    own.mkdir()
    (own / "ports.csv").write_text(
        "port,sea,ships\nAlba,north,12\nBrig,south,8\n", encoding="utf-8"
    )
    rows: list[dict[str, Any]] = [
        {"table": "ports.csv", "title": "Harbours", "question": question, "answer": answer}
        for question, answer in QUESTIONS
    ]
    rows[0] |= {"tags": {"type": "lookup"}, "perturbations": ["none"], "tolerance": "0.5"}
    rows[0] |= {"aliases": ["12.0"]}
    rows += [
        {"question": "How much is 2 and 2?", "answer": "4"},
        {"table": "ports.csv", "question": "阿尔巴有多少艘船?", "answer": "12"},
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    (own / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return own


def test_questions_are_kept_that_are_answered_alike_there_and_back(
    tmp_path: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        "generate", "translate", str(folder(tmp_path)), "-o", str(tmp_path / "out"), "--yes",
        f"--model={MODEL}", f"--bench-api-base={server.url}",
        f"--bench-store={tmp_path / 'answers'}",
    ]  # fmt: skip
    assert main(given) == 0
    out = capsys.readouterr().out
    assert "questions left out: of no table or several 1, already in zh 1" in out
    # The table's words; of seven questions there, back, and twice an answer.
    assert f"at most: {MODEL}: 29 questions, 0 in the answer store, 29 calls to pay" in out
    # The table's words; by question 4, 3, 1, 4, 4, 1, 1.
    assert server.calls == 1 + 4 + 3 + 1 + 4 + 4 + 1 + 1
    assert "2 questions from 1 table" in out
    assert "accepted: 2 of 7" in out
    for reason in (
        "translated question is answered differently 1",
        "question translated back is answered differently 1",
        "numbers of the question have changed 1",
        "question is not translated 1",
        "reply is not JSON 1",
    ):
        assert reason in out
    # gpt-4o: 19 x 200 and 19 x 50 tokens at $2.50 and $10 a million.
    assert f"asked: 19 calls ({MODEL} 19), 3,800 tokens of prompts, 950 of replies, $0.0190" in out

    dataset = only(tmp_path / "out")
    assert check_dataset(dataset, tmp_path / "out").problems == ()
    lines = (tmp_path / "out/questions.jsonl").read_text("utf-8").splitlines()
    rows = sorted(map(json.loads, lines), key=lambda row: row["id"])
    file = rows[0]["table"]
    assert rows == [
        {
            "id": "1-zh", "table": file, "question": "阿尔巴有多少艘船?", "answer": "12",
            "metric": "number", "tolerance": "0.5", "aliases": {"12": ["12.0"]}, "title": "港口表",
            "tags": {"type": "lookup", "language": "zh", "translation_of": "1"},
            "perturbations": ["none"],
        },
        {
            "id": "5-zh", "table": file, "question": "布里格在南边吗?", "answer": "是",
            "metric": "yes_no", "title": "港口表",
            "tags": {"language": "zh", "translation_of": "5"}, "perturbations": [],
        },
    ]  # fmt: skip
    assert (tmp_path / "out" / file).read_text("utf-8") == (
        '"港口","海域","船数"\n阿尔巴,北,12\n布里格,南,8\n'
    )
    check_transcripts([received.body["messages"] for received in server.requests])


def check_transcripts(bodies: list[list[dict[str, Any]]]) -> None:
    """What is in use is told; who translates back is not told what it was."""
    contents = [str(body[1]["content"]) for body in bodies]
    sent = [json.loads(content) for content in contents if content.startswith("{")]
    assert sent[0] == {"known": {}, "texts": list(WORDS)}
    assert {"known": {"ships": "船数", "Alba": "阿尔巴"}, "texts": [QUESTIONS[0][0]]} in sent
    assert {"known": {"阿尔巴": "Alba"}, "texts": [THERE[QUESTIONS[0][0]]]} in sent
    # The solver sees the table in the question's language, and no answer beside it.
    assert (
        '表格《港口表》:\n|港口|海域|船数|\n|---|---|---|\n|阿尔巴|北|12|\n|布里格|南|8|\n\n'
        "问题:布里格在南边吗?"
    ) in contents  # fmt: skip
    assert (
        'Table "Harbours":\nport,sea,ships\nAlba,north,12\nBrig,south,8\n\n'
        "Question: Is Brig in the south of it?"
    ) in contents


def test_a_chinese_folder_becomes_english_and_words_beside_the_table_are_translated_too() -> None:
    table = Table(("港口", "日期"), (("青岛", "2024-03-05"), ("大连", "5")), name="ports")
    there = {
        "港口": "port", "日期": "date", "青岛": "Qingdao", "大连": "Dalian",
        "青岛和大连在哪国?": "In which country are Qingdao and Dalian?", "中国": "China",
        "青岛的日期是什么?": "What is the date of Qingdao?", "中华": "Cathay", "吨": "tonnes",
    }  # fmt: skip
    own = [
        FolderQuestion(
            "1",
            1,
            ("p",),
            (table,),
            "青岛和大连在哪国?",
            ("中国",),
            {"kind": "text", "unit": "吨"},
            {"中国": ("中华",)},
        ),
        FolderQuestion(
            "2", 2, ("p",), (table,), "青岛的日期是什么?", ("2024-03-05",), {"kind": "date"}
        ),
    ]
    answers = {"country": "China", "哪国": "中国", "date": "March 5, 2024", "日期是": "2024-03-05"}

    def reply_to(step: Ask) -> str:
        content = str(step.messages[1].content)
        if step.model == "translator":
            back = {value: name for name, value in there.items()}
            texts = [there.get(one) or back[one] for one in json.loads(content)["texts"]]
            return json.dumps({"texts": texts})
        question = content.rsplit("\n", 1)[1]
        return json.dumps({"answer": next(a for sign, a in answers.items() if sign in question)})

    maker = Translator(model="translator", solver="s", questions={"ports": own}, to="en")
    # The words of the table; each question there, back, and twice an answer.
    assert len(expected_steps(maker, table)) == 1 + 2 * 4
    pairs = pairs_of(maker, table, reply_to)
    assert [(pair.question, pair.answers, pair.metric) for pair in pairs] == [
        ("In which country are Qingdao and Dalian?", ("China",), "text"),
        ("What is the date of Qingdao?", ("2024-03-05",), "date"),
    ]
    assert [(pair.unit, pair.aliases) for pair in pairs] == [
        ("tonnes", {"China": ("Cathay",)}),
        ("", {}),
    ]
    assert maker.tally.rejected == {}


def test_two_texts_that_become_one_leave_the_table_out() -> None:
    table = Table(("a", "b"), (("red", "scarlet"),), name="t")
    maker = Translator(model="m", solver="s", questions={"t": []}, to="zh")
    with pytest.raises(RejectedError, match=r"^not translated: two texts have become one$"):
        pairs_of(maker, table, lambda _: '{"texts": ["甲", "乙", "红", "红"]}')


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"texts": ["甲"]}', "reply is not a list of texts"),
        ('{"texts": ["甲", "乙", "丙"]}', "reply is not a list of texts"),
        ('{"texts": {"a": "甲"}}', "reply is not a list of texts"),
        ('{"texts": ["甲", 2]}', "translation is neither text nor a number"),
        ('{"texts": ["甲", "<b>乙"]}', "translation has HTML in it"),
        ('{"texts": ["甲", "=乙"]}', "translation is a formula"),
        ('{"texts": ["甲", "../../x"]}', "translation names a path"),
        ('{"texts": ["甲", "\\u0000"]}', "translation has characters that cannot be shown"),
        ('{"texts": ["甲", "' + "乙" * 200 + '"]}', "translation is too long"),
    ],
)
def test_other_translations_are_refused(reply: str, reason: str) -> None:
    with pytest.raises(RejectedError) as raised:
        read_texts(reply, ["a", "b"])
    assert raised.value.reason == reason


def test_names_of_another_language_leave_a_text_its_own() -> None:
    assert language_of("How many people live in 北京?") == "en"
    assert language_of("Alba 有多少艘船?") == "zh"


def test_what_cannot_be_translated_is_said_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = folder(tmp_path)
    given = ["generate", "translate", str(own), "--model=openai/x", "-o"]
    assert main([*given, str(own)]) == 2
    assert "must differ from the folder" in capsys.readouterr().err
    (own / "questions.jsonl").write_text('{"question": "2+2?", "answer": "4"}', encoding="utf-8")
    assert main([*given, str(tmp_path / "out")]) == 2
    assert "nothing to translate; questions left out: of no table or several 1" in (
        capsys.readouterr().err
    )
