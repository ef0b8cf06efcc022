"""The answer store returns what was put, or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError, StoreError, TableBenchError
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.serializers.content import ToolCall
from pytest_tablebench.store import Store
from tests.support.matrix import draws
from tests.support.stores import ask, filled, segments, text_of

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)
NASTY = st.sampled_from(
    ["", "\0", "\n", "\r\n", "\u2028", "\u2029", "\x85", "\ud83d", "\ud83d\ude00", '"}', "\\ud800"]
)
COUNT = st.none() | st.integers(0, 2**40)
NUMBER = st.none() | st.floats(0, 1e9)
REPLIES = st.builds(
    Reply,
    text=ANY_TEXT | NASTY | st.lists(NASTY).map("".join),
    finish_reason=st.none() | st.sampled_from(["stop", "length", "content_filter", "\0", ""]),
    prompt_tokens=COUNT,
    completion_tokens=COUNT,
    cost_usd=NUMBER,
    latency_s=NUMBER,
)


# Reading


@settings(max_examples=draws(150))
@given(reply=REPLIES, prompt=ANY_TEXT | NASTY, case_id=ANY_TEXT)
def test_any_reply_is_read_back_equal(tmp_path_factory, reply, prompt, case_id):
    path = tmp_path_factory.mktemp("store")
    request = ask(prompt, case_id=case_id)
    with Store.open(path) as store:
        store.put(request, reply)
        assert store.get(request.key()) == replace(reply, from_store=True)
    with Store.open(path) as again:
        assert again.get(request.key()) == replace(reply, from_store=True)
        assert again.warnings == []
    content = segments(path)[0].read_bytes()
    assert content.isascii()
    assert content.count(b"\n") == 1


def test_every_field_of_a_reply_is_kept(tmp_path):
    reply = Reply(
        "<think>a</think>t", "stop", 11, 7, 0.25, 1.5,
        cut=True, thinking="b", reasoning_tokens=5, fingerprint="fp_1",
        served_model="m-1", served_by="DeepInfra", calls=(ToolCall("c", "f", "{", "{}"),),
        sent_back='{"reasoning_content": "b"}', stored_at="2026-11-28T09:00:00.000000+00:00",
    )  # fmt: skip
    left = [field.name for field in fields(Reply) if getattr(reply, field.name) == field.default]
    assert left == ["from_store"]  # else this test misses a new field
    with Store.open(tmp_path) as store:
        store.put(ask(), reply)
        assert store.get(ask().key()) == replace(reply, from_store=True)


def test_a_reply_without_a_fingerprint_has_no_such_field(tmp_path):
    with Store.open(tmp_path) as store:
        store.put(ask(), Reply("t", "stop"))
    assert b"fingerprint" not in segments(tmp_path)[0].read_bytes()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_without_a_json_form_are_unknown(tmp_path, number):
    with Store.open(tmp_path) as store:
        store.put(ask(params={"top_p": number}), Reply("t", cost_usd=number, latency_s=number))
    with Store.open(tmp_path) as store:
        found = store.get(ask(params={"top_p": number}).key())
        assert found == Reply("t", from_store=True)
    json.loads(segments(tmp_path)[0].read_text(), parse_constant=pytest.fail)


def test_an_answer_never_put_is_absent(tmp_path):
    with Store.open(tmp_path) as store:
        filled(tmp_path, "a")
        for key in (ask("b").key(), "", "00", "no key at all", "g" * 64):
            assert store.get(key) is None
            assert key not in store
        assert store.warnings == []


# The key


CHANGED: dict[str, Any] = {
    "model": "n",
    "messages": (Message("system", "How many?"),),
    "params": {"temperature": 0.5},
    "api_base": "http://localhost:1/v1",
    "strategy": "pot",
    "step": 1,
    "repeat": 2,
    "generation": "b",
}


@pytest.mark.parametrize("name", [field.name for field in fields(Request) if field.compare])
def test_every_compared_field_of_a_request_is_in_its_key(name):
    changed = replace(ask(), **{name: CHANGED[name]})
    assert changed != ask()
    assert changed.key() != ask().key()


@pytest.mark.parametrize("changed", [Message("user", "How much?"), Message("system", "How many?")])
def test_every_part_of_a_message_is_in_the_key(changed):
    assert {field.name for field in fields(Message)} == {"role", "content"}
    assert ask(messages=(changed,)).key() != ask().key()


def test_the_case_id_is_not_in_the_key():
    assert [field.name for field in fields(Request) if not field.compare] == ["case_id"]
    assert ask(case_id="another").key() == ask().key()
    assert re.fullmatch("[0-9a-f]{64}", ask().key())


# The files


def test_a_line_has_the_documented_format_and_no_prompt(tmp_path):
    filled(tmp_path, "a secret recipe")
    (path,) = segments(tmp_path)
    assert re.fullmatch(rf"\d{{8}}T\d{{6}}\.\d{{6}}Z-{os.getpid()}-[0-9a-f]{{8}}\.jsonl", path.name)
    line = path.read_text()
    assert line.startswith(f'{{"schema": 1, "key": "{ask("a secret recipe").key()}", "check": "')
    data = json.loads(line)
    check = data.pop("check")
    assert check == hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    assert list(data) == ["schema", "key", "request", "reply", "written"]
    assert data["request"]["messages"] == [
        {
            "role": "user",
            "sha256": hashlib.sha256(b"a secret recipe").hexdigest(),
            "characters": 15,
        }
    ]
    # A generation is written only if there is one.
    assert {*data["request"], "generation"} == {field.name for field in fields(Request)}
    assert "recipe" not in line.replace("to a secret recipe", "")


def test_the_files_contain_no_key_and_no_credential(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "from-the-environment")
    params = {
        "extra_body": {"api_key": "one-1", "deep": [{"Authorization": "two-2"}], "seed": 7},
        "extra_headers": {"x": "three-3"},
        "note": "Bearer four-4",
        "hook": "https://me:five-5@host/p?sig=six-6",
        "user": "from-the-environment",
        "auth_token": "seven-7",
        "tag": "sk-eight8",
        "max_tokens": 512,
    }
    hidden = ["one-1", "two-2", "three-3", "four-4", "five-5", "six-6", "seven-7", "eight8"]
    hidden += ["from-the-environment", "nine-9", "ten-10", "eleven"]
    with Store.open(tmp_path) as store:
        store.put(ask(params=params, api_base="https://me:nine-9@host/v1?key=ten-10"), Reply("t"))
        store.put(ask(api_base="me:eleven@host/v1"), Reply("t"))
        store.put_resolution({"key": "k https://me:nine-9@host", "sent": params})
        assert store.get_resolution("k https://me:nine-9@host") is not None
    content = segments(tmp_path)[0].read_text()
    assert [text for text in hidden if text in content] == []
    request = json.loads(content.splitlines()[0])["request"]
    key = hashlib.sha256(b'"key=ten-10"').hexdigest()[:12]
    assert request["api_base"] == f"https://host/v1?sha256:{key}"
    body = {"api_key": "***", "deep": [{"Authorization": "***"}], "seed": 7}
    assert request["params"]["extra_body"] == body
    assert request["params"]["max_tokens"] == 512


def test_the_segment_is_created_with_the_first_answer(tmp_path):
    with Store.open(tmp_path / "new" / "store") as store:
        assert segments(tmp_path / "new" / "store") == []
        store.put(ask("a"), Reply("1"))
        store.put(ask("b"), Reply("2"))
        assert len(segments(tmp_path / "new" / "store")) == 1
    filled(tmp_path / "new" / "store", "c")
    assert len(segments(tmp_path / "new" / "store")) == 2


def test_only_lines_of_segments_are_read(tmp_path):
    requests = filled(tmp_path, "a")
    (tmp_path / "segments" / "notes.txt").write_text("garbage\n")
    (tmp_path / "segments" / "folder.jsonl").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "segments" / "pipe.jsonl")
    with Store.open(tmp_path) as store:
        assert text_of(store, requests[0]) == "to a"
        assert store.warnings == []


# Errors


def test_a_store_without_a_writable_folder_stores_nothing(tmp_path):
    filled(tmp_path, "a")
    with Store.open(None, [tmp_path]) as store:
        with pytest.raises(StoreError, match="no writable folder"):
            store.put(ask("b"), Reply("t"))
        assert text_of(store, ask("a")) == "to a"
    assert len(segments(tmp_path)) == 1


def test_a_closed_store_stores_nothing(tmp_path):
    with Store.open(tmp_path) as store:
        pass
    with pytest.raises(StoreError, match="closed"):
        store.put(ask(), Reply("t"))
    assert issubclass(StoreError, TableBenchError)


def test_a_reply_above_the_limit_is_refused(tmp_path):
    with Store.open(tmp_path) as store:
        with pytest.raises(StoreError, match="limit"):
            store.put(ask("a"), Reply("x" * (16 << 20)))
        store.put(ask("b"), Reply("x" * (15 << 20)))
        assert store.get(ask("a").key()) is None
    with Store.open(tmp_path) as store:
        found = store.get(ask("b").key())
        assert found is not None
        assert found.text == "x" * (15 << 20)
        assert store.warnings == []


def test_a_missing_read_only_folder_is_named_and_not_created(tmp_path):
    with pytest.raises(SettingsError, match=r"--bench-store-readonly: .*absent does not exist"):
        Store.open(tmp_path / "mine", [tmp_path / "absent"])
    assert not (tmp_path / "absent").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"--bench-store-readonly: .*file is not a folder"):
        Store.open(None, [tmp_path / "file"])


def test_a_missing_first_folder_without_writing_is_named_and_not_created(tmp_path):
    with pytest.raises(SettingsError, match=r"--bench-store: .*absent does not exist"):
        Store.open(tmp_path / "absent", write=False)
    assert not (tmp_path / "absent").exists()
    filled(tmp_path / "kept", "a")
    with Store.open(tmp_path / "kept", write=False) as store:
        assert text_of(store, ask("a")) == "to a"
        with pytest.raises(StoreError, match="no writable folder"):
            store.put(ask("b"), Reply("t"))
    assert len(segments(tmp_path / "kept")) == 1


def test_a_folder_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"--bench-store: cannot write into .*file.*choose"):
        Store.open(tmp_path / "file" / "store")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "segments").write_text("")
    with pytest.raises(SettingsError, match=r"--bench-store: cannot write into"):
        Store.open(tmp_path / "store")
