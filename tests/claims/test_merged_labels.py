"""Labels of the parts of a run after a merge, and comparisons of runs with different judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.cli import main
from pytest_tablebench.results.labels import (
    Label,
    read_labels,
    read_sample,
    write_labels,
    write_sample,
)
from pytest_tablebench.results.record import Record, case_key
from pytest_tablebench.results.run import load_run
from tests.support.run_folders import record, write_run


def _records(numbers: range) -> list[Record]:
    judged: dict[str, Any] = {"threshold": 0.5, "parts": {"gpt_eval": 1.0}, "part": "gpt_eval"}
    return [
        record(f"e{number}", "html", "none", (1.0, f"reply {number}"), **judged)
        for number in numbers
    ]


def _part(path: Path, number: int) -> tuple[Path, list[Label]]:
    """Write part `number` of 2, with 15 cases that ann calls wrong and right in turn."""
    records = _records(range(15 * number - 15, 15 * number))
    split: dict[str, Any] = {
        "shard": f"{number}/2",
        "shards": {"toy": [15, 15]},
        "judge": "a/judge",
    }
    run = write_run(path / f"part{number}", records, **split)
    labels = [
        Label(case_key(item), float(place % 2), "ann", answer=item.answer_mark)
        for place, item in enumerate(records)
    ]
    write_labels(run, labels)
    return run, labels


def test_merge_keeps_the_labels_of_all_parts(tmp_path: Path) -> None:
    (first, labels), (second, others) = _part(tmp_path, 1), _part(tmp_path, 2)
    sample = {(labels[0].case_id, labels[0].answer): 2.0}
    write_sample(first, sample)
    code = main(["merge", str(first), str(second), "-o", str(tmp_path / "whole"), "--no-page"])
    assert code == 0
    merged = read_labels(tmp_path / "whole")
    assert sorted(merged, key=str) == sorted([*labels, *others], key=str)
    assert read_sample(tmp_path / "whole") == sample
    figure = summary_of(load_run(tmp_path / "whole"))["judged"]["datasets"]["toy"]
    # The judge calls all right, people 14 of 30: seven of each part.
    assert (figure["naive"], figure["n_labels"]) == (1.0, 30)
    assert figure["value"] == pytest.approx(14 / 30)
    again = main(["merge", str(tmp_path / "whole"), "-o", str(tmp_path / "again"), "--no-page"])
    assert (again, read_labels(tmp_path / "again")) == (0, merged)


def test_runs_without_labels_are_merged_into_one_without_the_file(tmp_path: Path) -> None:
    runs = [_part(tmp_path, number)[0] for number in (1, 2)]
    for run in runs:
        (run / "labels.jsonl").unlink()
    main(["merge", *map(str, runs), "-o", str(tmp_path / "whole"), "--no-page"])
    assert (tmp_path / "whole" / "records.jsonl").exists()
    assert not list((tmp_path / "whole").glob("label*"))


def test_contradicting_labels_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, labels), (second, _) = _part(tmp_path, 1), _part(tmp_path, 2)
    case_id, answer = labels[1].case_id, labels[1].answer
    write_labels(second, [Label(case_id, 1.0, "bob", answer=answer), labels[1]])
    command = ["merge", str(first), str(second), "--no-page", "-o", str(tmp_path / "whole")]
    assert main(command) == 0  # the same label twice, and another person's
    assert len(read_labels(tmp_path / "whole")) == 16
    write_labels(second, [Label(case_id, 0.25, "ann", answer=answer)])
    assert main([*command[:-1], str(tmp_path / "refused")]) == 2
    error = capsys.readouterr().err
    assert f"1 label with different values in two runs: ann on {case_id}: 1 in {first}" in error
    assert f"0.25 in {second}" in error
    assert not (tmp_path / "refused").exists()


def test_merge_rejudge_and_report_compare_different_judges_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [str(_part(tmp_path, number)[0]) for number in (1, 2)]
    old = str(write_run(tmp_path / "old", _records(range(30)), judge="b/judge"))
    whole = str(tmp_path / "whole")
    gate = [f"--bench-baseline={old}", "--bench-gate=toy.no_answer <= baseline + 0.2"]
    commands = (
        ["merge", *parts, "-o", whole, "--no-page", *gate],
        ["rejudge", whole, *gate],
        ["report", old, whole, "--page", str(tmp_path / "both.html")],
    )
    for command in commands:
        assert main(command) == 2
        assert "judge: b/judge against a/judge" in capsys.readouterr().err
        assert main([*command, "--different-judges"]) == 0
        capsys.readouterr()
    assert main(["report", old, whole, "--different-judges"]) == 2
    assert "--different-judges needs --page" in capsys.readouterr().err
