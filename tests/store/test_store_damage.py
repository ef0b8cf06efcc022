"""The answer store with damaged files serves no wrong answer and names the damage."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil

import pytest

from pytest_tablebench.models import Reply
from pytest_tablebench.store import Store, _layer
from tests.support.matrix import reduced
from tests.support.stores import ask, filled, segments, text_of

HEAD = '{"schema": 1, "key": "'


def test_a_truncated_segment_serves_only_whole_answers(tmp_path):
    requests = filled(tmp_path, "a", "b\ud83d")
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    ends = [match.end() for match in re.finditer(b"\n", content)]
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with Store.open(None, [tmp_path]) as store:
            whole = sum(end <= size for end in ends)
            texts = [text_of(store, request) for request in requests]
            assert texts == [f"to {request.text}" for request in requests[:whole]] + [None] * (
                2 - whole
            )
            torn = size not in (0, *ends)
            assert len(store.warnings) == torn
            if torn:
                start = max([0, *(end for end in ends if end <= size)])
                assert f"{path}, byte {start:,}: the last line is torn" in store.warnings[0]


@pytest.mark.parametrize("mask", reduced([0x01, 0x20, 0x80, 0xFF], 0x01, 0x80))
def test_a_changed_byte_never_changes_a_served_answer(tmp_path, mask):
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
            # If the byte changes the key, nothing is served under the new key.
            line = path.read_bytes()[start:]
            changed = line[len(HEAD) : len(HEAD) + 64].decode("latin-1")
            assert text_of(store, requests[1]) is not None or store.get(changed) is None
            assert len(store.warnings) >= (text_of(store, requests[1]) is None)


def test_a_changed_reply_or_key_is_missing_with_one_warning(tmp_path):
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
        assert f"{path}, byte 0: it is damaged: its checksum differs" in first
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


def test_many_bad_lines_give_few_warnings(tmp_path):
    (request,) = filled(tmp_path, "a")
    (path,) = segments(tmp_path)
    path.write_bytes(b"bad\n" * 1000 + path.read_bytes())
    with Store.open(tmp_path) as store:
        assert text_of(store, request) == "to a"
        assert len(store.warnings) == 4
        assert "further problems" in store.warnings[-1]


FORGED = [
    {},
    None,
    {"text": 3},
    {"text": ["a", 1]},
    {"text": "t", "prompt_tokens": "9", "completion_tokens": 10**400, "cost_usd": -1},
]


def checked(line: bytes, at: int) -> bytes:
    """Return a forged line, whose content is changed and whose checksum is right."""
    data = json.loads(line)
    del data["check"]
    data["reply"] = FORGED[at]
    check = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    items = list(data.items())
    return json.dumps(dict([*items[:2], ("check", check), *items[2:]])).encode() + b"\n"


@pytest.mark.parametrize("at", range(4))
def test_a_reply_of_the_wrong_shape_is_not_served(tmp_path, at):
    (request,) = filled(tmp_path, "a")
    (path,) = segments(tmp_path)
    sound = path.read_bytes()
    path.write_bytes(checked(sound, at))
    with Store.open(tmp_path) as store:
        assert store.get(request.key()) is None
        assert store.get(request.key()) is None
        assert len(store.warnings) == 1
        assert "reply" in store.warnings[0]
    path.write_bytes(checked(sound, at) + sound)
    with Store.open(tmp_path) as store:
        assert text_of(store, request) == "to a"


def test_an_answer_with_damaged_numbers_is_served(tmp_path):
    (request,) = filled(tmp_path, "a")
    (path,) = segments(tmp_path)
    path.write_bytes(checked(path.read_bytes(), 4))
    with Store.open(tmp_path) as store:
        assert store.get(request.key()) == Reply("t", from_store=True)
        assert store.warnings == []


def test_a_file_replaced_during_reading_serves_no_wrong_answer(tmp_path):
    first, second = filled(tmp_path, "a", "b")
    (path,) = segments(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    with Store.open(None, [tmp_path]) as store:
        path.write_bytes(lines[1] + lines[0])  # both have the same length
        assert store.get(first.key()) is None
        assert store.get(second.key()) is None
        assert len(store.warnings) == 2


@pytest.mark.parametrize("block", [1, 2, 100, 701, 1 << 20])
def test_lines_are_found_with_any_block_size(tmp_path, monkeypatch, block):
    texts = ["a", "b" * 3000, "c" * 50, "d", "e" * 9000, "f", "g" * 200]
    requests = filled(tmp_path, *texts)
    monkeypatch.setattr(_layer, "BLOCK", block)
    monkeypatch.setattr(_layer, "FIRST_READ", 64)
    with Store.open(None, [tmp_path]) as store:
        assert [text_of(store, request) for request in requests] == [f"to {text}" for text in texts]
        assert store.warnings == []
    if block > 3000:
        return  # read in one block, so no line is longer
    monkeypatch.setattr(_layer, "MAX_LINE", 2000)
    with Store.open(None, [tmp_path]) as store:
        served = [text_of(store, request) for request in requests]
        assert served == [None if len(text) > 2000 else f"to {text}" for text in texts]
        assert len(store.warnings) == 2


def test_a_line_completed_while_the_store_opens_is_read(tmp_path, monkeypatch):
    requests = filled(tmp_path, "a", "b")
    (path,) = segments(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    blocks = _layer.blocks

    def while_it_is_written(file, position):
        yield from blocks(file, position)
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


@pytest.mark.parametrize("whole", [False, True], ids=["segment", "store"])
@pytest.mark.parametrize("asked", [False, True])
def test_a_removed_segment_gives_one_warning(tmp_path, whole, asked):
    folder = tmp_path / "answers"
    (request,) = filled(folder, "a")
    (path,) = segments(folder)
    with Store.open(None, [folder]) as store:
        if whole:
            shutil.rmtree(folder)
        else:
            path.unlink()
        assert not asked or store.get(request.key()) is None
        store.refresh()
        [said] = store.warnings
        assert said.startswith(f"answer store: {path}: was removed while it was in use")


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be removed there")
@pytest.mark.parametrize("replaced", [False, True])
def test_a_writer_whose_segment_was_removed_warns_and_starts_another(tmp_path, replaced):
    first, second = (ask(text) for text in "ab")
    with Store.open(tmp_path) as store:
        store.put(first, Reply("1"))
        (path,) = segments(tmp_path)
        content = path.read_bytes()
        path.unlink()
        if replaced:
            path.write_bytes(content)
        store.put(second, Reply("2"))
        [said] = store.warnings
        assert f"{path}: was {'replaced' if replaced else 'removed'} while it was in use" in said
    with Store.open(tmp_path) as store:
        assert text_of(store, second) == "2"
        assert text_of(store, first) == ("1" if replaced else None)


@pytest.mark.parametrize("ends", [b"\r\n", b"\n"])
def test_other_line_endings_are_read(tmp_path, ends):
    requests = filled(tmp_path, "a", "b")
    with Store.open(tmp_path) as store:
        store.put_resolution({"key": "k", "facts": 1})
    for path in segments(tmp_path):
        path.write_bytes(path.read_bytes().replace(b"\n", ends))
    with Store.open(tmp_path) as store:
        assert [text_of(store, request) for request in requests] == ["to a", "to b"]
        assert store.get_resolution("k") == {"key": "k", "facts": 1}
        assert store.warnings == []
