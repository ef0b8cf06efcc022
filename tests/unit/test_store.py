"""The answer store: what is put comes back whole, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError, StoreError, TableBenchError
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.models.store import Store, _layer, _segment

HEAD = '{"schema": 1, "key": "'
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


def ask(text: str = "How many?", **changes: object) -> Request:
    request = Request("m", (Message("user", text),), {"temperature": 0}, case_id="wikitq/nu-1")
    return replace(request, **changes)


def filled(path: Path, *texts: str) -> list[Request]:
    """Put one reply `to <text>` for each text, all into one segment."""
    requests = [ask(text) for text in texts]
    with Store.open(path) as store:
        for request in requests:
            store.put(request, Reply(f"to {request.text}", "stop"))
    return requests


def segments(path: Path) -> list[Path]:
    return sorted((path / "segments").iterdir())


def text_of(store: Store, request: Request) -> str | None:
    reply = store.get(request.key())
    return None if reply is None else reply.text


# What comes back


@settings(max_examples=150)
@given(reply=REPLIES, prompt=ANY_TEXT | NASTY, case_id=ANY_TEXT)
def test_any_reply_comes_back_equal(tmp_path_factory, reply, prompt, case_id):
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


def test_truncated_replies_and_refusals_keep_their_finish_reason(tmp_path):
    with Store.open(tmp_path) as store:
        for reason in ("length", "content_filter", "refusal", None):
            store.put(ask(str(reason)), Reply("no", reason))
        for reason in ("length", "content_filter", "refusal", None):
            found = store.get(ask(str(reason)).key())
            assert found is not None
            assert found.finish_reason == reason


def test_every_field_of_a_reply_is_kept(tmp_path):
    reply = Reply("t", "stop", 11, 7, 0.25, 1.5)
    left = [field.name for field in fields(Reply) if getattr(reply, field.name) == field.default]
    assert left == ["from_store"]  # else this test misses a new field
    with Store.open(tmp_path) as store:
        store.put(ask(), reply)
        assert store.get(ask().key()) == replace(reply, from_store=True)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_know_are_unknown(tmp_path, number):
    with Store.open(tmp_path) as store:
        store.put(ask(params={"top_p": number}), Reply("t", cost_usd=number, latency_s=number))
    with Store.open(tmp_path) as store:
        found = store.get(ask(params={"top_p": number}).key())
        assert found == Reply("t", from_store=True)
    json.loads(segments(tmp_path)[0].read_text(), parse_constant=pytest.fail)


def test_what_was_never_put_is_absent(tmp_path):
    with Store.open(tmp_path) as store:
        filled(tmp_path, "a")
        for key in (ask("b").key(), "", "00", "no key at all", "g" * 64):
            assert store.get(key) is None
            assert key not in store
        assert store.warnings == []


# The key


CHANGED = {
    "model": "n",
    "messages": (Message("system", "How many?"),),
    "params": {"temperature": 0.5},
    "api_base": "http://localhost:1/v1",
    "strategy": "pot",
    "step": 1,
    "repeat": 2,
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


def test_the_case_is_not_in_the_key():
    assert [field.name for field in fields(Request) if not field.compare] == ["case_id"]
    assert ask(case_id="another").key() == ask().key()
    assert re.fullmatch("[0-9a-f]{64}", ask().key())


# The files


def test_a_line_is_as_documented_and_holds_no_prompt(tmp_path):
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
    assert data["request"].keys() == {field.name for field in fields(Request)}
    assert "recipe" not in line.replace("to a secret recipe", "")


def test_no_key_and_no_credential_reaches_the_files(tmp_path, monkeypatch):
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
    assert request["api_base"] == "https://host/v1"
    body = {"api_key": "***", "deep": [{"Authorization": "***"}], "seed": 7}
    assert request["params"]["extra_body"] == body
    assert request["params"]["max_tokens"] == 512


def test_the_segment_is_made_with_the_first_answer(tmp_path):
    with Store.open(tmp_path / "new" / "store") as store:
        assert segments(tmp_path / "new" / "store") == []
        store.put(ask("a"), Reply("1"))
        store.put(ask("b"), Reply("2"))
        assert len(segments(tmp_path / "new" / "store")) == 1
    filled(tmp_path / "new" / "store", "c")
    assert len(segments(tmp_path / "new" / "store")) == 2


def test_nothing_but_lines_of_segments_is_looked_at(tmp_path):
    requests = filled(tmp_path, "a")
    (tmp_path / "segments" / "notes.txt").write_text("garbage\n")
    (tmp_path / "segments" / "folder.jsonl").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "segments" / "pipe.jsonl")
    with Store.open(tmp_path) as store:
        assert text_of(store, requests[0]) == "to a"
        assert store.warnings == []


# Damage


def test_a_segment_cut_anywhere_serves_whole_answers_only(tmp_path):
    requests = filled(tmp_path, "a", "b\ud83d", "c")
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    ends = [match.end() for match in re.finditer(b"\n", content)]
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with Store.open(None, [tmp_path]) as store:
            whole = sum(end <= size for end in ends)
            texts = [text_of(store, request) for request in requests]
            assert texts == [f"to {request.text}" for request in requests[:whole]] + [None] * (
                3 - whole
            )
            torn = size not in (0, *ends)
            assert len(store.warnings) == torn
            if torn:
                start = max([0, *(end for end in ends if end <= size)])
                assert f"{path}, byte {start:,}: the last line is torn" in store.warnings[0]


@pytest.mark.parametrize("mask", [0x01, 0x20, 0x80, 0xFF])
def test_a_changed_byte_never_changes_what_is_served(tmp_path, mask):
    requests = filled(tmp_path, "a", "b", "c")
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    start = content.index(b"\n") + 1
    for at in range(start, content.index(b"\n", start) + 1):
        path.write_bytes(content[:at] + bytes([content[at] ^ mask]) + content[at + 1 :])
        with Store.open(None, [tmp_path]) as store:
            assert text_of(store, requests[0]) == "to a"
            assert text_of(store, requests[1]) in (None, "to b")
            assert text_of(store, requests[2]) in (None, "to c")
            # Where the key became another one, nothing is served under that.
            line = path.read_bytes()[start:]
            changed = line[len(HEAD) : len(HEAD) + 64].decode("latin-1")
            assert text_of(store, requests[1]) is not None or store.get(changed) is None
            assert len(store.warnings) >= (text_of(store, requests[1]) is None)


def test_a_changed_reply_or_key_is_asked_again_with_one_warning(tmp_path):
    (request, other) = filled(tmp_path, "a", "b")
    (path,) = segments(tmp_path)
    content = path.read_text()
    path.write_text(content.replace("to a", "to z").replace(other.key(), "0" * 64))
    with Store.open(tmp_path) as store:
        for _ in range(2):
            assert store.get(request.key()) is None
            assert store.get("0" * 64) is None
            assert store.get(other.key()) is None
        first, second = store.warnings
        assert f"{path}, byte 0: it is damaged: its check does not hold" in first
        assert f"{path}, byte {content.index(chr(10)) + 1:,}: it is damaged" in second
        store.put(request, Reply("new"))
        assert text_of(store, request) == "new"
    with Store.open(tmp_path) as store:
        assert text_of(store, request) == "new"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b"garbage", "not JSON"),
        (bytes(range(11, 256)), "not JSON"),
        (b"\0" * 3_000_000, "not JSON"),
        (b"\0" * 17_000_000, "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"schema": 1, "n": ' + b"9" * 5000 + b"}", "not JSON"),
        (b"[1]", "not a line of an answer store"),
        (b'{"case_id": "x", "raw": "a record"}', "not a line of an answer store"),
        (b'{"schema": 2, "key": "' + b"0" * 64 + b'"}', "upgrade pytest-tablebench"),
        (b'{"schema": 1, "key": "' + b"0" * 63 + b'", "check": "0", "reply": 0}', "its key is not"),
        (
            b'{"schema": 1, "kind": "resolution", "check": "0123456789abcdef", "key": "k"}',
            "damaged",
        ),
    ],
)
def test_a_bad_line_is_left_out_and_named(tmp_path, bad, said):
    requests = filled(tmp_path, "a", "b")
    (path,) = segments(tmp_path)
    first, second, _ = path.read_bytes().split(b"\n")
    path.write_bytes(first + b"\n" + bad + b"\n" + second + b"\n")
    with Store.open(tmp_path) as store:
        assert [text_of(store, request) for request in requests] == ["to a", "to b"]
        (warning,) = store.warnings
        assert said in warning
        assert f"{path}, byte {len(first) + 1:,}: " in warning
        assert warning.isprintable()
        store.refresh()
        assert len(store.warnings) == 1


def test_many_bad_lines_are_few_warnings(tmp_path):
    (request,) = filled(tmp_path, "a")
    (path,) = segments(tmp_path)
    path.write_bytes(b"bad\n" * 1000 + path.read_bytes())
    with Store.open(tmp_path) as store:
        assert text_of(store, request) == "to a"
        assert len(store.warnings) == 4
        assert "further problems" in store.warnings[-1]


FORGED = [{}, None, {"text": 3}, {"text": "t", "prompt_tokens": "9"}, {"text": ["a", 1]}]


def checked(line: bytes, at: int) -> bytes:
    """A forged line: its content is changed, its check is right."""
    data = json.loads(line)
    del data["check"]
    data["reply"] = FORGED[at]
    check = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    items = list(data.items())
    return json.dumps(dict([*items[:2], ("check", check), *items[2:]])).encode() + b"\n"


@pytest.mark.parametrize("at", range(len(FORGED)))
def test_a_reply_of_the_wrong_shape_is_not_served(tmp_path, at):
    (request,) = filled(tmp_path, "a")
    (path,) = segments(tmp_path)
    sound = path.read_bytes()
    path.write_bytes(checked(sound, at))
    with Store.open(tmp_path) as store:
        assert store.get(request.key()) is None
        assert store.get(request.key()) is None
        assert len(store.warnings) == 1
        assert "reply" in store.warnings[0] or "prompt_tokens" in store.warnings[0]
    path.write_bytes(checked(sound, at) + sound)
    with Store.open(tmp_path) as store:
        assert text_of(store, request) == "to a"


def test_a_file_that_was_replaced_under_a_reader_serves_no_other_answer(tmp_path):
    first, second = filled(tmp_path, "a", "b")
    (path,) = segments(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    with Store.open(None, [tmp_path]) as store:
        path.write_bytes(lines[1] + lines[0])  # both of one length
        assert store.get(first.key()) is None
        assert store.get(second.key()) is None
        assert len(store.warnings) == 2


@pytest.mark.parametrize("block", [1, 2, 100, 701, 1 << 20])
def test_lines_are_found_however_the_file_is_read(tmp_path, monkeypatch, block):
    texts = ["a", "b" * 3000, "c" * 50, "d", "e" * 9000, "f", "g" * 200]
    requests = filled(tmp_path, *texts)
    monkeypatch.setattr(_segment, "BLOCK", block)
    monkeypatch.setattr(_segment, "FIRST_READ", 64)
    with Store.open(None, [tmp_path]) as store:
        assert [text_of(store, request) for request in requests] == [f"to {text}" for text in texts]
        assert store.warnings == []
    if block > 3000:
        return  # read in one piece: nothing is long
    monkeypatch.setattr(_segment, "MAX_LINE", 2000)
    with Store.open(None, [tmp_path]) as store:
        served = [text_of(store, request) for request in requests]
        assert served == [None if len(text) > 2000 else f"to {text}" for text in texts]
        assert len(store.warnings) == 2


def test_a_line_that_is_finished_while_the_store_opens_is_taken_in(tmp_path, monkeypatch):
    requests = filled(tmp_path, "a", "b")
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:-10])

    def while_it_is_written(file, position):
        yield from _segment.blocks(file, position)
        path.write_bytes(content)

    monkeypatch.setattr(_layer, "blocks", while_it_is_written)
    with Store.open(None, [tmp_path]) as store:
        assert text_of(store, requests[1]) == "to b"
        assert store.warnings == []


def test_few_files_are_open_at_once(tmp_path):
    requests = [filled(tmp_path, str(number))[0] for number in range(_layer.OPEN_FILES + 10)]
    with Store.open(tmp_path) as store:
        for _ in range(2):
            for request in requests:
                assert text_of(store, request) == f"to {request.text}"
        assert len(store._layers[0]._files) == _layer.OPEN_FILES
    assert store._layers[0]._files == {}


def test_a_segment_that_vanished_is_a_warning(tmp_path):
    (request,) = filled(tmp_path, "a")
    with Store.open(None, [tmp_path]) as store:
        segments(tmp_path)[0].unlink()
        assert store.get(request.key()) is None
        store.refresh()
        assert len(store.warnings) == 1
        assert "No such file" in store.warnings[0]


# Several entries, several layers


def test_of_several_entries_the_first_segment_and_the_first_line_win(tmp_path):
    for text in ("one", "two"):
        with Store.open(tmp_path) as store:
            store.put(ask(), Reply(text))
            store.put(ask(), Reply(f"{text} again"))
            assert text_of(store, ask()) == "one"
    with Store.open(tmp_path) as store:
        assert text_of(store, ask()) == "one"
        assert len(store) == 1
        # A segment that is found later, but was made earlier.
        early = segments(tmp_path)[0].with_name("20000101T000000.000000Z-1-00000000.jsonl")
        with Store.open(tmp_path / "elsewhere") as other:
            other.put(ask(), Reply("zero"))
        early.write_bytes(segments(tmp_path / "elsewhere")[0].read_bytes())
        store.refresh()
        assert text_of(store, ask()) == "zero"


@pytest.mark.parametrize("damaged", [("one",), ("one", "two"), ("two", "three"), ("three", "one")])
def test_where_one_entry_is_damaged_another_is_served(tmp_path, damaged):
    with Store.open(tmp_path) as store:
        for text in ("one", "two", "three"):
            store.put(ask(), Reply(text))
    (path,) = segments(tmp_path)
    content = path.read_text()
    for text in damaged:
        content = content.replace(f'"{text}"', f'"{text.upper()}"')
    path.write_text(content)
    sound = [text for text in ("one", "two", "three") if text not in damaged]
    with Store.open(tmp_path) as store:
        assert text_of(store, ask()) == sound[0]
        assert text_of(store, ask()) == sound[0]
        assert len(store.warnings) == ["one", "two", "three"].index(sound[0])


def test_the_first_layer_that_has_a_key_wins(tmp_path):
    top, middle, bottom = tmp_path / "top", tmp_path / "middle", tmp_path / "bottom"
    for path, texts in ((bottom, "abc"), (middle, "ab"), (top, "a")):
        with Store.open(path) as store:
            for text in texts:
                store.put(ask(text), Reply(f"{path.name} {text}"))
    with Store.open(top, [middle, bottom, middle, top]) as store:
        assert len(store._layers) == 3
        served = [text_of(store, ask(text)) for text in "abcd"]
        assert served == ["top a", "middle b", "bottom c", None]
        assert len(store) == 3
        assert ask("c").key() in store
        store.put(ask("c"), Reply("top c"))
        assert text_of(store, ask("c")) == "top c"
    with Store.open(None, [bottom, top]) as store:
        assert text_of(store, ask("c")) == "bottom c"
        assert len(segments(bottom)) == len(segments(middle)) == 1


def test_below_a_damaged_entry_the_next_layer_is_served(tmp_path):
    for name in ("top", "bottom"):
        filled(tmp_path / name, "a")
    (path,) = segments(tmp_path / "top")
    path.write_text(path.read_text().replace("to a", "to z"))
    with Store.open(tmp_path / "top", [tmp_path / "bottom"]) as store:
        assert text_of(store, ask("a")) == "to a"
        assert len(store.warnings) == 1


def test_a_layer_may_be_a_folder_of_segment_files(tmp_path):
    filled(tmp_path / "store", "a")
    copy = tmp_path / "artifact"
    copy.mkdir()
    segments(tmp_path / "store")[0].rename(copy / "answers.jsonl")
    with Store.open(None, [copy]) as store:
        assert text_of(store, ask("a")) == "to a"
        assert store.warnings == []
    with Store.open(None, [tmp_path / "store"]) as store:
        assert len(store) == 0
        assert "holds no segments" in store.warnings[0]


def test_refresh_takes_in_what_others_wrote(tmp_path):
    with Store.open(tmp_path) as reader, Store.open(tmp_path) as writer:
        for text in "abc":
            writer.put(ask(text), Reply(text))
            assert reader.get(ask(text).key()) is None
            reader.refresh()
            assert text_of(reader, ask(text)) == text
        assert len(reader) == 3
        assert reader.warnings == []


def test_an_unfinished_line_is_waited_for(tmp_path):
    requests = filled(tmp_path, "a", "b")
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    with Store.open(tmp_path) as store:
        assert text_of(store, requests[1]) is None
        path.write_bytes(content)
        store.refresh()
        assert text_of(store, requests[1]) == "to b"


def test_several_threads_may_use_a_store(tmp_path):
    wrong = []

    def work(name: str) -> None:
        for number in range(50):
            request = ask(f"{name} {number}")
            store.put(request, Reply(request.text))
            store.refresh()
            if text_of(store, request) != request.text:
                wrong.append(request.text)

    with Store.open(tmp_path) as store:
        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(store) == 200
    assert len(segments(tmp_path)) == 1


# Resolutions


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@settings(max_examples=50)
@given(key=st.text(st.characters(), min_size=1, max_size=30), value=VALUES)
def test_a_resolution_comes_back(tmp_path_factory, key, value):
    path = tmp_path_factory.mktemp("store")
    with Store.open(path) as store:
        store.put_resolution({"key": key, "sent": value})
        assert store.get_resolution(key) == {"key": key, "sent": value}
        assert len(store) == 0
    with Store.open(path) as store:
        assert store.get_resolution(key) == {"key": key, "sent": value}
        assert store.get_resolution(key + "?") is None
        assert store.warnings == []


def test_the_last_resolution_wins_and_upper_layers_first(tmp_path):
    top, bottom = tmp_path / "top", tmp_path / "bottom"
    with Store.open(top) as first, Store.open(top) as second, Store.open(bottom) as below:
        second.put_resolution({"key": "m", "price": 1})
        first.put_resolution({"key": "m", "price": 2})  # into the earlier segment or the later
        second.put(ask(), Reply("t"))
        below.put_resolution({"key": "m", "price": 3})
        below.put_resolution({"key": "n", "price": 4})
        first.refresh()
        assert first.get_resolution("m") == {"key": "m", "price": 2}
        assert text_of(first, ask()) == "t"
    with Store.open(top, [bottom]) as store:
        found = store.get_resolution("m")
        assert found == {"key": "m", "price": 2}
        found["price"] = 9
        assert store.get_resolution("m") == {"key": "m", "price": 2}
        assert store.get_resolution("n") == {"key": "n", "price": 4}


@pytest.mark.parametrize("resolution", [{}, {"key": ""}, {"key": 3}])
def test_a_resolution_needs_a_key(tmp_path, resolution):
    with Store.open(tmp_path) as store, pytest.raises(StoreError, match='under "key"'):
        store.put_resolution(resolution)


# What is refused


def test_a_store_without_a_writable_folder_takes_nothing(tmp_path):
    filled(tmp_path, "a")
    with Store.open(None, [tmp_path]) as store:
        with pytest.raises(StoreError, match="no writable folder"):
            store.put(ask("b"), Reply("t"))
        assert text_of(store, ask("a")) == "to a"
    assert len(segments(tmp_path)) == 1


def test_a_closed_store_takes_nothing(tmp_path):
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


def test_a_missing_read_only_folder_is_named_and_not_made(tmp_path):
    with pytest.raises(SettingsError, match=r"--bench-store-readonly: .*absent does not exist"):
        Store.open(tmp_path / "mine", [tmp_path / "absent"])
    assert not (tmp_path / "absent").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"--bench-store-readonly: .*file is no folder"):
        Store.open(None, [tmp_path / "file"])


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"--bench-store: cannot write into .*file.*choose"):
        Store.open(tmp_path / "file" / "store")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "segments").write_text("")
    with pytest.raises(SettingsError, match=r"--bench-store: cannot write into"):
        Store.open(tmp_path / "store")
