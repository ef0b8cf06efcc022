"""Whether a store may have answers, seen without opening it."""

from __future__ import annotations

from pathlib import Path

from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.store import Store, may_have_answers


def test_facts_about_models_are_no_answers(tmp_path: Path) -> None:
    assert not may_have_answers(None)
    assert may_have_answers(None, [tmp_path])
    assert not may_have_answers(tmp_path / "absent")
    with Store.open(tmp_path) as store:
        store.put_resolution({"key": "m", "facts": {"provider": "openai"}})
    assert not may_have_answers(tmp_path)
    with Store.open(tmp_path) as store:
        store.put(Request("m", (Message("user", "How many?"),)), Reply("36"))
    assert may_have_answers(tmp_path)


def test_a_damaged_line_counts_as_an_answer(tmp_path: Path) -> None:
    (tmp_path / "segments").mkdir()
    (tmp_path / "segments/a.jsonl").write_text("{")
    assert may_have_answers(tmp_path)
