"""Reports for the authors of a dataset: safe Markdown, JSON lines, and files of others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_tablebench.audit.export import ISSUE_LIMIT, MARK, SCHEMA, table_excerpt, write_reports
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.corrections import Correction, Corrections, Verdict
from tests.support.suspects import suspect, table


def correction(number: int, verdict: Verdict, **changes: str) -> Correction:
    answers = ("42",) if verdict in ("wrong", "several") else ()
    values = {"dataset": "wikitq", "digest": f"{number:020x}", "evidence": "a reason"} | changes
    return Correction(
        values["dataset"],
        f"nu-{number}",
        values["digest"],
        verdict,
        answers,
        values["evidence"],
        "Ada",
    )


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_without_corrections_the_most_suspicious_are_exported(tmp_path: Path) -> None:
    suspects = [suspect(number, suspicion=number / 10) for number in range(5)]
    exported = write_reports(tmp_path / "out", suspects, top=2)
    assert [path.name for path in exported.paths] == ["wikitq.md", "wikitq.jsonl"]
    assert exported.examples == 2
    rows = lines(tmp_path / "out" / "wikitq.jsonl")
    assert [row["example"] for row in rows] == ["nu-4", "nu-3"]
    assert rows[0] == {
        "schema": SCHEMA,
        "dataset": "wikitq",
        "example": "nu-4",
        "digest": f"{4:020x}",
        "question": "How many points had team 4 in 1992?",
        "gold": ["17"],
        "suspicion": 0.4,
        "verdict": None,
        "answers": [],
        "reason": "",
        "evidence": [
            {
                "kind": "agreement",
                "text": "Three of four models agree on 42.",
                "answer": "42",
                "weight": 2.2,
            },
            {
                "kind": "program",
                "text": "A program over the table gives 42.",
                "answer": "42",
                "weight": 1.1,
            },
            {
                "kind": "unit",
                "text": "No factor between the answers.",
                "answer": None,
                "weight": -0.4,
            },
        ],
        "models": [
            {
                "answer": "42",
                "cases": 3,
                "voters": ["model-a", "model-b (pot)", "model-c"],
                "is_gold": False,
            },
            {"answer": "17", "cases": 1, "voters": ["model-d"], "is_gold": True},
        ],
        "cells": [[0, 2, 2]],
    }
    text = (tmp_path / "out" / "wikitq.md").read_text("utf-8")
    assert text.startswith(MARK)
    assert "No person has checked" in text
    assert "**<code>r2c2</code>**" in text


def test_with_corrections_only_faults_are_exported(tmp_path: Path) -> None:
    suspects = [suspect(number) for number in range(7)]
    verdicts: list[Verdict] = ["right", "wrong", "several", "unclear", "broken"]
    made = [correction(number, verdict) for number, verdict in enumerate(verdicts)]
    made += [correction(5, "wrong", digest="other"), correction(9, "broken", dataset="elsewhere")]
    exported = write_reports(tmp_path, suspects, Corrections.of(made))
    rows = lines(tmp_path / "wikitq.jsonl")
    assert [(row["example"], row["verdict"]) for row in rows] == [
        ("nu-1", "wrong"),
        ("nu-2", "several"),
        ("nu-3", "unclear"),
        ("nu-4", "broken"),
    ]
    assert exported.notes == (
        "1 verdict left out, for another version of the example, such as wikitq/nu-5",
        "1 verdict left out, for an example that these runs do not have, such as elsewhere/nu-9",
    )
    text = (tmp_path / "wikitq.md").read_text("utf-8")
    assert "Ada" not in text + (tmp_path / "wikitq.jsonl").read_text("utf-8")
    assert "- Right: <code>42</code>" in text
    assert "<code>a reason</code>" in text
    with pytest.raises(SettingsError, match="nothing to export: no verdict other than right"):
        write_reports(tmp_path, suspects, Corrections.of([correction(0, "right")]))


def test_hostile_texts_cannot_leave_their_code(tmp_path: Path) -> None:
    hostile = (
        "@octocat #123 org/repo#4 `x` ```\n| a | b |\n</code><img src=x onerror=alert(1)> "
        "https://evil.example [a](javascript:x) ![i](http://x/y.png) <!-- --> \u202e ::error::x"
    )
    bad = {"title": hostile, "header": [hostile, "b"], "rows": [[hostile, None], [1.5]]}
    item = suspect(
        dataset=hostile,
        example_id=hostile,
        question=hostile,
        gold=(hostile,),
        tables=(bad,),
        evidence=(Evidence("agreement", hostile, hostile, float("inf")),),
        groups=(AnswerGroup(hostile, 1, (hostile,), is_gold=False),),
        cells=((0, 0, 0), (0, 1, 1), (0, 99, 99), (7, 0, 0)),
    )
    made = Correction(hostile, hostile, item.digest, "wrong", (hostile,), hostile)
    exported = write_reports(tmp_path, [item], Corrections.of([made]))
    text = next(path for path in exported.paths if path.suffix == ".md").read_text("utf-8")
    outside = re.sub(r"<code>(?:\w|\s|&#\d+;)*</code>", "", text.replace(MARK, ""))
    assert not re.search(r"[@`<>\[\]]|https?:|octocat|evil|\u202e", outside)
    assert not re.search(r"(?<!^)#\d", outside)
    widths = {line.count("|") for line in outside.splitlines() if line.startswith("|")}
    assert widths == {4, 5}  # the excerpt, and the two tables of four columns


@pytest.mark.parametrize("name", ["../../up", "/etc/x", "a/b", "..", "", "C:\\x", "nul\0", ".git"])
def test_files_stay_inside_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "deep" / "out"
    exported = write_reports(folder, [suspect(dataset=name)])
    assert {path.resolve().parent for path in exported.paths} == {folder.resolve()}
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert files == set(exported.paths)
    assert len(files) == 2


def test_datasets_whose_names_differ_in_case_have_files_of_their_own(tmp_path: Path) -> None:
    exported = write_reports(tmp_path, [suspect(dataset="A"), suspect(dataset="a")])
    assert len({path.name.lower() for path in exported.paths}) == 4


@pytest.mark.parametrize("name", ["wikitq.md", "wikitq.jsonl"])
def test_only_files_of_an_export_are_replaced(tmp_path: Path, name: str) -> None:
    write_reports(tmp_path, [suspect(0)])
    write_reports(tmp_path, [suspect(1)])  # replaces its earlier files
    (tmp_path / name).write_text("notes of mine\n", encoding="utf-8")
    before = {path: path.read_text("utf-8") for path in tmp_path.iterdir()}
    with pytest.raises(SettingsError, match=f"{name} was not written by this command"):
        write_reports(tmp_path, [suspect(2)])
    assert {path: path.read_text("utf-8") for path in tmp_path.iterdir()} == before
    write_reports(tmp_path, [suspect(2)], force=True)
    assert "nu-2" in (tmp_path / "wikitq.jsonl").read_text("utf-8")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text(MARK, encoding="utf-8")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "wikitq.md").symlink_to(target)
    with pytest.raises(SettingsError, match="was not written"):
        write_reports(folder, [suspect()])
    write_reports(folder, [suspect()], force=True)
    assert target.read_text("utf-8") == MARK


def test_a_report_too_long_for_an_issue_is_noted(tmp_path: Path) -> None:
    exported = write_reports(tmp_path, [suspect(n) for n in range(60)], top=60)
    assert len((tmp_path / "wikitq.md").read_text("utf-8")) > ISSUE_LIMIT
    assert "attach the file" in exported.notes[0]


def test_the_excerpt_shows_rows_around_marks() -> None:
    shown = table_excerpt(table(100, 20), [(50, 18), (-1, 0)])
    rows = [line.split(" | ")[0].strip("| ") for line in shown.splitlines()[2:]]
    assert rows == ["row", "---:", "…", "49", "50", "51", "52", "53", "…"]
    assert "**<code>r50c18</code>**" in shown
    assert "**<code>Year</code>**" in shown
    assert "(100 rows, 20 columns, 12 of them shown)" in shown
    assert table_excerpt({"title": None, "header": [], "rows": []}, [(3, 3)])
