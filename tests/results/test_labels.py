"""Labels by people: files, imports, samples."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.cli import main
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.folder import RunFolder
from pytest_tablebench.results.judged_cases import judged_cases
from pytest_tablebench.results.labelled_cases import (
    label_cases,
    labelled_cases,
    mark_bin,
    propose_sample,
)
from pytest_tablebench.results.labels import LABELS, Label, read_labels
from pytest_tablebench.results.record import Record, answer_mark
from pytest_tablebench.results.run import load_run
from tests.support.page_files import block


def judged(example: int, mark: float | None, serializer: str = "html", **more: Any) -> Record:
    parts = {} if mark is None else {"gpt_eval": mark}
    fields: dict[str, Any] = {"raw": f"reply {example}", "part": "gpt_eval", **more}
    return Record(
        f"d/e{example}/{serializer}/none", "m", "b", "d", f"e{example}", serializer, "none",
        strategy="direct", modality="text", outcome="scored", score=mark or 0.0, parts=parts,
        **fields,
    )  # fmt: skip


def write_run(path: Path, records: list[Record], **facts: Any) -> Path:
    folder = RunFolder(path)
    for record in records:
        folder.append(record.to_line())
    folder.write_run({"model": "m", "judge": "openai/gpt-4o", "status": "complete", **facts})
    folder.close()
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    records = [judged(number, number % 2 / 1.0) for number in range(40)]
    return write_run(tmp_path / "run", [*records, judged(90, None, part=None)])


def csv_file(run: Path, *rows: str, header: str = "case_id,label,who,when") -> str:
    path = run.parent / "labels.csv"
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return str(path)


def test_an_import_is_idempotent_and_follows_the_answer(run: Path, capsys: Any) -> None:
    file = csv_file(run, "d/e1/html/none,right,ann,monday", "d/e2/html/none,0.25,bob,")
    for added in (2, 0):
        assert main(["labels", str(run), file]) == 0
        assert f"{added} labels added" in capsys.readouterr().out
    first, second = read_labels(run)
    assert (first.label, first.person, first.date) == (1.0, "ann", "monday")
    assert first.answer == answer_mark("reply 1")
    assert second.label == 0.25
    changed = [judged(1, 1.0, raw="another"), judged(2, 0.0)]
    cases = labelled_cases(changed, [first, second])
    assert (cases.n_labels, cases.n_others) == (1, 1)


@pytest.mark.parametrize("flag", ["unclear", "decided_by_people"])
def test_labels_that_decide_unclear_replies_are_not_of_other_answers(flag: str) -> None:
    reply = judged(3, None, part="correct", raw="3 or 4", flags=(flag,))
    label = Label("d/e3/html/none", 1.0, "ann", "", answer=answer_mark("3 or 4"))
    cases = labelled_cases([judged(1, 1.0), reply], [label])
    assert (cases.n_labels, cases.n_others) == (0, 0)


BAD = {
    "d/e77/html/none,1,ann,": "row 2: the run has no judged case 'd/e77/html/none'",
    "d/e90/html/none,1,ann,": "no judged case",
    "d/e1/html/none,1.5,ann,": "row 2: the label '1.5' is not a number from 0 to 1",
    "d/e1/html/none,nan,ann,": "is not a number from 0 to 1",
    "d/e1/html/none,good,ann,": "is not a number from 0 to 1",
    "d/e1/html/none,1,,": "row 2: the column who is empty",
    "d/e1/html/none,1": "row 2: has 2 cells, not 4",
    "d/e1/html/none,,ann,": "contains no labels",
}


@pytest.mark.parametrize("row", BAD)
def test_a_bad_row_is_one_line_and_nothing_is_written(run: Path, row: str, capsys: Any) -> None:
    good = "d/e3/html/none,1,ann,"
    rows = [row] if "contains no labels" in BAD[row] else [row, good]
    assert main(["labels", str(run), csv_file(run, *rows)]) == 2
    error = capsys.readouterr().err
    assert BAD[row] in error
    assert error.count("\n") == 1
    assert not (run / LABELS).exists()


def test_contradictions_are_refused_unless_replaced(run: Path, capsys: Any) -> None:
    case = "d/e1/html/none"
    twice = csv_file(run, f"{case},1,ann,", f"{case},0,ann,")
    assert main(["labels", str(run), twice]) == 2
    assert "row 3: a second label of ann" in capsys.readouterr().err
    assert main(["labels", str(run), csv_file(run, f"{case},1,ann,", f"{case},0,bob,")]) == 0
    other = csv_file(run, f"{case},0,ann,")
    assert main(["labels", str(run), other]) == 2
    assert "row 2: the label 0 of ann" in capsys.readouterr().err
    assert [label.label for label in read_labels(run)] == [1, 0]
    assert main(["labels", str(run), other, "--replace"]) == 0
    assert {label.person: label.label for label in read_labels(run)} == {"ann": 0, "bob": 0}


@pytest.mark.parametrize("text", ["", "case,label,who\n"])
def test_a_file_without_its_header_is_refused(run: Path, text: str, capsys: Any) -> None:
    file = run.parent / "empty.csv"
    file.write_text(text, encoding="utf-8")
    assert main(["labels", str(run), str(file)]) == 2
    assert "empty.csv: " in capsys.readouterr().err


def test_a_run_without_judged_scores_has_nothing_to_label(tmp_path: Path, capsys: Any) -> None:
    run = write_run(tmp_path / "run", [judged(1, None, part=None)])
    assert main(["labels", str(run)]) == 2
    assert "nothing to label" in capsys.readouterr().err


def test_a_proposed_sample_is_written_with_its_weights(run: Path, capsys: Any) -> None:
    out = run.parent / "to_label.csv"
    command = ["labels", str(run), "--label-sample", "10", "--out", str(out)]
    assert main(command) == 0
    # Worst case: t(8) * sqrt(.25 / 39 + .25 / 10): 2.306 * .1772.
    assert "about 0.409 on each side (at worst, without labels)" in capsys.readouterr().out
    header, *rows = out.read_text("utf-8").splitlines()
    assert header == "case_id,label,who,when"
    assert len(rows) == len({row.split(",")[0] for row in rows}) == 10
    assert main(command) == 2  # the file exists
    filled = csv_file(run, *(row.replace(",,,", ",1,ann,") for row in rows))
    assert main(["labels", str(run), filled]) == 0
    assert {label.weight for label in read_labels(run)} == {1.0}
    assert labelled_cases(load_run(run).records, read_labels(run)).is_sampled


def test_labels_are_shown_with_the_corrected_mean(run: Path, capsys: Any) -> None:
    # The judge calls odd examples right; people agree but for example 1.
    rows = [f"d/e{n}/html/none,{n % 2 if n != 1 else 0},ann," for n in range(30)]
    assert main(["labels", str(run), csv_file(run, *rows)]) == 0
    out = capsys.readouterr().out
    shown = [line.split() for line in out.splitlines()]
    assert ["d", "14", "1", "0", "15"] in shown
    assert "96.7 % equal verdicts" in out
    assert ["all", "+0.033"] in [row[:2] for row in shown]
    target = run.parent / "figures.json"
    assert main(["labels", str(run), "--json", str(target)]) == 0
    figure = json.loads(target.read_text())["judged"]["datasets"]["d"]
    assert figure["naive"] == pytest.approx(0.5)
    assert figure["ci95"][0] < figure["value"] < 0.5 < figure["ci95"][1]
    assert summary_of(load_run(run))["judged"]["n_labels"] == 30


@given(
    marks=st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), min_size=1, max_size=40),
    times=st.integers(1, 3),
    size=st.integers(1, 60),
    seed=st.integers(0, 3),
)
def test_a_sample_has_each_case_once_and_an_example_of_each_stratum_first(
    marks: list[float], times: int, size: int, seed: int
) -> None:
    records = [
        judged(example, mark, f"s{time}")
        for example, mark in enumerate(marks)
        for time in range(times)
    ]
    sample = propose_sample(judged_cases(records), size, seed=seed)
    assert len(sample) == min(size, len(records))
    assert len({case.case_id for case, _ in sample}) == len(sample)
    counts = Counter(case.example_id for case, _ in sample)
    for stratum in {mark_bin(mark) for mark in marks}:
        members = [f"e{n}" for n, mark in enumerate(marks) if mark_bin(mark) == stratum]
        drawn = [counts[name] for name in members]
        assert max(drawn) - min(drawn) <= 1
    assert sample == propose_sample(judged_cases(records), size, seed=seed)


def test_labelled_examples_are_not_proposed_again() -> None:
    records = [judged(n, 1.0, s) for n in range(4) for s in ("html", "csv")]
    label = Label("d/e0/html/none", 1.0, "ann", answer=answer_mark("reply 0"))
    sample = propose_sample(labelled_cases(records, [label]).cases, 8)
    assert {case.example_id for case, _ in sample} == {"e1", "e2", "e3"}


def test_a_page_gets_the_reply_and_references_of_a_case(run: Path) -> None:
    [case] = label_cases(load_run(run), ["d/e5/html/none"])
    assert (case.dataset, case.reply, case.judge_mark, case.tables) == ("d", "reply 5", 1.0, ())


@pytest.mark.parametrize("sample", [[], ["--label-sample=10"]])
def test_a_page_hides_the_marks(run: Path, sample: list[str], capsys: Any) -> None:
    page = run.parent / "labels.html"
    out = f"--out={run.parent / 'to_label.csv'}"
    assert main(["labels", str(run), *sample, out, f"--page={page}"]) == 0
    assert f"page: {page}" in capsys.readouterr().out
    blind = block(BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser"), "index")
    assert len(blind["columns"]["id"]) == (10 if sample else 40)
    assert "judge_mark" not in page.read_text(encoding="utf-8")


def test_labels_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / LABELS).write_text('{"schema": 99}\n', encoding="utf-8")
    with pytest.raises(SettingsError, match=r"labels\.jsonl has schema 99"):
        read_labels(tmp_path)
