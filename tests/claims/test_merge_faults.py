"""Damaged run folders among the parts of a merge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.results import read_facts
from tests.support.run_parts import TWO, cases, halves


def _no_run(folder: Path) -> None:
    (folder / "run.json").unlink()


def _write(name: str, content: str) -> Callable[[Path], None]:
    return lambda folder: _put(folder / name, content)


def _put(path: Path, content: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)


def _run(**facts: Any) -> Callable[[Path], None]:
    return lambda folder: _put(
        folder / "run.json", json.dumps({**read_facts(folder).entries, **facts})
    )


def _line(**fields: Any) -> Callable[[Path], None]:
    line = json.loads(cases({"e2": TWO["e2"]})[0].to_line())
    return lambda folder: _put(folder / "records.jsonl", json.dumps({**line, **fields}) + "\n")


@pytest.mark.parametrize(
    ("harm", "named"),
    [
        (_no_run, "not a run folder"),
        (_write("run.json", "[" * 100_000), "run.json cannot be read"),
        (_run(schema=99), "schema 99"),
        (_run(shard="../2"), "has the part '../2'"),
        (_run(merged_from=[{"shard": "1/2"}, {"shard": "1/3"}]), "parts of different runs"),
        (_run(shards={"toy": "x"}), "shards is {'toy': 'x'}, not"),
        (_run(merged_from=7), "merged_from is 7, not a list"),
        (_write("records.jsonl", "{}\n\x00\n"), "records.jsonl: no record can be read"),
        (_line(case_id=["x"]), "records.jsonl: no record can be read"),
        (_line(score=7), "has the score 7, not from 0 to 1"),
        (_line(dataset=[1]), "records.jsonl: record 1"),
        (_line(schema=99), "schema 99"),
        (_write("media/" + "a" * 64 + ".png", "other"), "its digest differs from its name"),
    ],
    ids=range(13),
)
def test_a_broken_folder_is_named(
    tmp_path: Path, harm: Callable[[Path], None], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = halves(tmp_path)
    harm(second)
    assert main(["merge", str(first), str(second), "--out", str(tmp_path / "out")]) == 2
    output = capsys.readouterr().err
    assert named in output
    assert str(second) in output
    assert output.count("\n") == 1
    assert not (tmp_path / "out" / "run.json").exists()
