from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.models._scripted import Entry, Replies, ScriptedModel


def asking(case_id: str = "starter/1", prompt: str = "How old is Sophia?") -> Request:
    messages = (Message("system", "Be short."), Message("user", prompt))
    return Request("test", messages, {}, case_id=case_id)


def write(path: Path, *lines: object) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "script.jsonl"


# Scripts in Python


@pytest.mark.parametrize(
    "replies",
    [["26"], iter(["26"]), {"starter/1": "26"}, lambda request: str(20 + 6)],
    ids=["list", "iterator", "mapping", "function"],
)
def test_a_text_becomes_a_reply(replies: Replies) -> None:
    model = ScriptedModel(replies)
    assert model.complete(asking()) == Reply("26", finish_reason="stop")
    assert model.requests == [asking()]


@pytest.mark.parametrize("shape", ["list", "mapping", "function"])
def test_replies_and_errors_are_used_unchanged(shape: str) -> None:
    reply = Reply("cut", finish_reason="length", completion_tokens=3, cost_usd=0.5)
    error = ModelError("too long", reason="context_window")

    def model(entry: Entry) -> ScriptedModel:
        if shape == "list":
            return ScriptedModel([entry])
        return ScriptedModel({"starter/1": entry} if shape == "mapping" else lambda _: entry)

    assert model(reply).complete(asking()) is reply
    failing = model(error)
    with pytest.raises(ModelError) as caught:
        failing.complete(asking())
    assert caught.value is error
    assert failing.requests == [asking()]


def test_a_queue_is_used_in_order_until_its_end() -> None:
    model = ScriptedModel(["one", "two"])
    assert [model.complete(asking()).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(ModelError, match="used up") as caught:
        model.complete(asking())
    assert caught.value.reason == "not_scripted"
    assert not caught.value.retryable
    assert len(model.requests) == 3


def test_a_mapping_is_read_by_case_id() -> None:
    model = ScriptedModel({"a": "for a", "b": "for b"})
    assert [model.complete(asking(case)).text for case in "bab"] == ["for b", "for a", "for b"]
    with pytest.raises(ModelError, match="'c'") as caught:
        model.complete(asking("c"))
    assert caught.value.reason == "not_scripted"


def test_a_function_receives_the_request() -> None:
    model = ScriptedModel(lambda request: f"{request.case_id}: {request.text}")
    assert model.complete(asking("a", "Who?")).text == "a: Be short.\nWho?"


def test_an_error_raised_again_does_not_accumulate_tracebacks() -> None:
    model = ScriptedModel({"starter/1": ModelError("no", reason="error")})
    depths = []
    for _ in range(3):
        with pytest.raises(ModelError) as caught:
            model.complete(asking())
        depths.append(len(caught.traceback))
    assert depths[0] == depths[2]


def test_a_text_is_no_queue_of_letters() -> None:
    with pytest.raises(TypeError, match=r"\[text\]"):
        ScriptedModel("26")


def test_many_threads_get_every_reply_once() -> None:
    total, n_threads = 2000, 8

    def slowly() -> Iterator[str]:
        # A generator fails when two threads enter it at once.
        for number in range(total):
            yield str(sum([number] + [0] * 50))

    model = ScriptedModel(slowly())
    got: list[str] = []
    problems: list[Exception] = []
    start = threading.Barrier(n_threads)

    def work() -> None:
        start.wait()
        try:
            for _ in range(total // n_threads):
                got.append(model.complete(asking()).text)  # noqa: PERF401 - kept on failure
        except Exception as error:
            problems.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(n_threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert problems == []
    assert sorted(map(int, got)) == list(range(total))
    assert len(model.requests) == total


# Scripts in a file


def test_a_script_is_read_from_a_file(script: Path) -> None:
    write(
        script,
        {"default": "do not know"},
        {"match": "Sophia", "text": "matched"},
        "",
        {"match": "How old", "text": "a later match"},
        {"case_id": "a", "text": "für a"},
        {"case_id": "b", "text": "cut", "finish_reason": "length"},
        {"case_id": "c", "error": "timeout"},
    )
    model = ScriptedModel.from_file(script)
    assert model.complete(asking("a")) == Reply("für a", finish_reason="stop")
    assert model.complete(asking("b")) == Reply("cut", finish_reason="length")
    assert model.complete(asking("x")).text == "matched"
    assert model.complete(asking("x", "How old is Ben?")).text == "a later match"
    assert model.complete(asking("x", "Who?")) == Reply("do not know", finish_reason="stop")
    with pytest.raises(ModelError, match="timeout") as caught:
        model.complete(asking("c"))
    assert (caught.value.reason, caught.value.retryable) == ("timeout", False)
    assert model.requests == []  # requests to a script from a file are not recorded


def test_a_match_is_text_and_no_pattern(script: Path) -> None:
    model = ScriptedModel.from_file(write(script, {"match": "a.c", "text": "yes"}))
    assert model.complete(asking(prompt="a.c")).text == "yes"
    with pytest.raises(ModelError):
        model.complete(asking(prompt="abc"))


def test_a_match_is_searched_in_every_message(script: Path) -> None:
    model = ScriptedModel.from_file(write(script, {"match": "Be short", "text": "yes"}))
    assert model.complete(asking()).text == "yes"


def test_an_empty_default_is_an_answer(script: Path) -> None:
    assert ScriptedModel.from_file(write(script, {"default": ""})).complete(asking()).text == ""


def test_a_case_missing_in_the_file_is_named(script: Path) -> None:
    model = ScriptedModel.from_file(write(script, {"case_id": "a", "text": "x"}))
    with pytest.raises(ModelError) as caught:
        model.complete(asking("b"))
    assert caught.value.reason == "not_scripted"
    assert str(script) in str(caught.value)
    assert "'b'" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2: "),
        ("[1]", "must be a JSON object"),
        ({"case_id": "b", "text": "x", "finish": "stop"}, "unknown field 'finish'"),
        ({"case_id": "b"}, "exactly one of 'text', 'error'"),
        ({"case_id": "b", "text": "x", "error": "timeout"}, "exactly one of 'text', 'error'"),
        ({"case_id": "b", "error": "timeout", "finish_reason": "stop"}, "needs a 'text'"),
        ({"text": "x"}, "exactly one of 'case_id', 'match' and 'default'"),
        ({"case_id": "b", "match": "m", "text": "x"}, "exactly one of 'case_id', 'match'"),
        ({"case_id": 7, "text": "x"}, "'case_id' must be a text"),
        ({"case_id": "b", "text": None}, "'text' must be a text"),
        ({"case_id": "a", "text": "y"}, "a second line for case_id 'a'"),
        ({"default": "x", "text": "y"}, "excludes 'text'"),
    ],
)
def test_a_bad_line_is_named(script: Path, line: object, says: str) -> None:
    write(script, {"case_id": "a", "text": "x"}, line)
    with pytest.raises(SettingsError) as caught:
        ScriptedModel.from_file(script)
    assert str(caught.value).startswith(f"{script}, line 2: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "line", [{"default": "x"}, {"match": "x", "text": "y"}], ids=["default", "match"]
)
def test_a_duplicate_line_is_refused(script: Path, line: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="line 2: a second"):
        ScriptedModel.from_file(write(script, line, line))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, script: Path) -> None:
    script.write_bytes('{"default": "für"}'.encode("latin-1"))
    with pytest.raises(SettingsError, match=r"nothing\.jsonl does not exist"):
        ScriptedModel.from_file(tmp_path / "nothing.jsonl")
    for path in (tmp_path, script):
        with pytest.raises(SettingsError, match=f"{path.name} cannot be read"):
            ScriptedModel.from_file(path)


def test_a_script_calls_tools(script: Path) -> None:
    line = {"match": "Sophia", "calls": {"query": {"sql": "SELECT 1"}, "python": {"code": "1"}}}
    reply = ScriptedModel.from_file(write(script, line)).complete(asking())
    assert [(call.name, call.arguments) for call in reply.calls] == [
        *(("query", '{"sql": "SELECT 1"}'), ("python", '{"code": "1"}'))
    ]
    assert reply.missing is None
