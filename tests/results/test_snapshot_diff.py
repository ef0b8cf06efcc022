"""Stored answers as text, and the changes of answers."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.snapshots import (
    MAX_TEXTS,
    Change,
    Entry,
    Kind,
    Verdict,
    change_of,
    changes_data,
    compare,
    excerpt,
    read_changes,
    write_changes,
)
from tests.support.present import present

ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""All code points: control characters and lone surrogates as well."""


# The format of a stored answer


@given(ANY_TEXT)
@example("")
@example("\n")
@example("a\n\n# name: b\n  c\n# ---\n")
@example("a\r\nb\rc\x00d\ud800e\ud83d\ude00")
@example("\\x41 \\\\ \\u0041 \x00")
@example("|\n|\nright 1.0\n|")
def test_every_text_is_read_back(text):
    for entry in (Entry("right", 1.0, text), Entry("wrong", 0.1 + 0.2, text)):
        assert Entry.decode(entry.encode()) == entry


@given(ANY_TEXT)
def test_a_stored_text_is_printable(text):
    kept = Entry("wrong", 0.0, text).encode()
    kept.encode("utf-8")
    assert kept.splitlines()[0].startswith("wrong 0.0")
    assert all(line.startswith("|") for line in kept.split("\n")[1:])
    assert not set(kept) & set("\r\x00\x1b\x0b\x0c\x85\u2028\u2029\u202e\u200f")


def test_plain_text_is_stored_unchanged():
    kept = Entry("right", 1.0, "$\\frac{1}{2}$\n\n\tdone").encode()
    assert kept == "right 1.0\n|$\\frac{1}{2}$\n|\n|\tdone"


def test_hidden_characters_are_stored_as_escapes():
    kept = Entry("wrong", 0.25, "a\\b\r\n\x1b[31m\u202e").encode()
    assert kept == "wrong 0.25 escaped\n|a\\\\b\\x0d\n|\\x1b[31m\\u202e"


def test_a_missing_score_is_stored_as_missing():
    entry = Entry("wrong", None, "x")
    assert entry.encode() == "wrong none\n|x"
    assert Entry.decode("wrong none\n|x") == entry


def test_five_million_characters_are_read_back():
    entry = Entry("wrong", 0.0, "x\r\n" * 50_000 + "word " * 1_000_000)
    assert len(entry.text) > 5_000_000
    assert Entry.decode(entry.encode()) == entry


@pytest.mark.parametrize(
    "data",
    [
        "",
        "right 1.0",
        "right\n|x",
        "maybe 1.0\n|x",
        "right 1.0\nx",
        "right 1.0\n|x\ny",
        "right 1.0 hidden\n|x",
        "right 1..0\n|x",
    ],
)
def test_any_other_text_is_no_stored_answer(data):
    with pytest.raises(ValueError, match=r".+"):
        Entry.decode(data)


# Differences


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (None, Entry("right", 1.0, "a"), "new"),
        (Entry("right", 1.0, "a"), Entry("right", 1.0, "a"), "same"),
        (Entry("right", 1.0, "a"), Entry("right", 0.9, "a"), "same"),
        (Entry("right", 1.0, "a"), Entry("right", 1.0, "b"), "reworded"),
        (Entry("right", 1.0, "a"), Entry("right", 1.0, "a "), "reworded"),
        (Entry("right", 1.0, "a"), Entry("wrong", 0.0, "b"), "flipped"),
        (Entry("wrong", 0.4, "a"), Entry("right", 0.4, "a"), "flipped"),
    ],
)
def test_a_change_has_a_kind(old, new, kind):
    assert compare(old, new) == kind


@given(st.text("ab"), st.text("ab"), st.integers(1, 5), st.integers(0, 3))
def test_an_excerpt_starts_before_the_first_difference(old, new, limit, before):
    shown = excerpt(old, new, limit, before)
    same = next((n for n, pair in enumerate(zip(old, new, strict=False)) if len(set(pair)) > 1), -1)
    same = min(len(old), len(new)) if same < 0 else same
    start = max(0, same - before) if max(len(old), len(new)) > limit else 0
    assert shown == (old[start : start + limit], new[start : start + limit])


def test_an_excerpt_of_a_long_text_contains_the_difference():
    excerpts = excerpt("x" * 5_000_000 + "old", "x" * 5_000_000 + "new", 100)
    assert excerpts == ("x" * 60 + "old", "x" * 60 + "new")


# The file in the run folder


def change(case_id: str, kind: Kind = "reworded") -> Change:
    new: Verdict = "wrong" if kind == "flipped" else "right"
    answers = Entry("right", 1.0, "a"), Entry(new, 0.5, "b\ud800")
    return change_of(case_id, "f.ambr", f"t[{case_id}]", *answers)


def test_the_file_of_changes_is_written_and_read_back(tmp_path):
    data = changes_data(
        {"same": 3, "reworded": 2, "flipped": 1},
        [change("b"), change("c", "flipped"), change("a")],
        updated=True,
        files={"f.ambr": {"stored": 6, "unused": None}},
        problems=["so"],
    )
    write_changes(tmp_path, data)
    assert [path.name for path in tmp_path.iterdir()] == ["snapshots.json"]
    changes = present(read_changes(tmp_path))
    assert changes["schema"] == 1
    assert changes["updated"] is True
    assert changes["counts"] == {"same": 3, "reworded": 2, "flipped": 1, "new": 0, "no_answer": 0}
    assert [entry["case_id"] for entry in changes["changes"]] == ["c", "a", "b"]
    assert changes["changes"][0] == {
        "case_id": "c",
        "kind": "flipped",
        "file": "f.ambr",
        "name": "t[c]",
        "old": {"verdict": "right", "score": 1.0, "text": "a"},
        "new": {"verdict": "wrong", "score": 0.5, "text": "b\ud800"},
    }
    assert changes["files"] == {"f.ambr": {"stored": 6, "unused": None}}
    assert changes["problems"] == ["so"]


def test_the_number_of_texts_in_the_file_is_bounded():
    changes = [change(f"{number:05}") for number in range(MAX_TEXTS + 2)]
    data = changes_data({}, changes, updated=False, files={}, problems=[])
    assert len(data["changes"]) == MAX_TEXTS + 2
    assert sum("text" in entry["old"] for entry in data["changes"]) == MAX_TEXTS
    assert "text" not in data["changes"][-1]["new"]


def test_a_damaged_file_of_changes_is_refused(tmp_path):
    assert read_changes(tmp_path) is None
    path = tmp_path / "snapshots.json"
    path.write_text(json.dumps({"schema": 2}))
    with pytest.raises(SettingsError, match=r"schema 2.*upgrade"):
        read_changes(tmp_path)
    for damaged in ("{", "[]", "{}", '{"schema": "1"}'):
        path.write_text(damaged)
        with pytest.raises(SettingsError, match=r"snapshots\.json"):
            read_changes(tmp_path)
