"""Faults that any command can meet end it in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.results.corrections import read_corrections
from pytest_tablebench.util.entries import parsed_json

DEEP = "[" * 50_000


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("people.audit_gold", ["audit", "run"]),
        ("rejudge.merge_parts", ["merge", "run", "-o", "new"]),
        ("watch.watch_model", ["watch", "--show"]),
    ],
)
def test_ctrl_c_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], function, words
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"pytest_tablebench.commands.{function}", interrupted)
    assert main(words) == 2
    assert capsys.readouterr().err == "tablebench: interrupted; run the same command again\n"


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 50_000])
def test_json_that_is_nested_too_deeply_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parsed_json(text)


def test_deep_brackets_in_corrections_are_one_answer(tmp_path: Path) -> None:
    file = tmp_path / "corrections.csv"
    file.write_text(f"dataset,example,digest,verdict,answers\nd,e,x,wrong,{DEEP}\n", "utf-8")
    [correction] = read_corrections(file).by_example.values()
    assert correction.answers == (DEEP,)


def test_a_table_that_is_a_link_to_itself_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "questions.csv").write_text("table,question,answer\nloop.csv,What?,3\n", "utf-8")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    assert main(["check", str(tmp_path)]) == 1
    assert "loop.csv" in capsys.readouterr().out
