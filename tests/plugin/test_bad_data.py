"""Runs over datasets whose files are missing, foreign or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import upstream
from tests.support.toy_bench import Bench

PULLS = {
    "wikitq": "tablebench pull wikitq --bench-data",
    "tabfact": "tablebench pull tabfact --bench-data",
}


class Upstream(Bench):
    """A folder with a suite over both datasets, and a model that always answers `Gull`."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester, self.path = pytester, pytester.path
        self.folders = self.path / "data"
        self.folders.mkdir()
        self.suite(upstream.SUITE)
        self.model = self.script({"default": "Gull"}, name="gull.jsonl")

    def wikitq(self, **files: object) -> Path:
        return upstream.wikitq(self.folders / "wikitq", **files)  # type: ignore[arg-type]

    def run(self, *arguments: str, results: str = "run") -> pytest.RunResult:
        options = (f"--model={self.model}", "--bench-data=data", "--bench-shots=1")
        return super().run(*options, *arguments, results=results)

    def problems(self, dataset: str) -> list[str]:
        rows: list[str] = self.facts()["datasets"][dataset]["problems"]
        return rows


@pytest.fixture
def place(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Upstream:
    monkeypatch.setenv("COLUMNS", "400")
    return Upstream(pytester)


# Missing data


def test_a_missing_dataset_is_skipped_and_its_pull_command_named(place: Upstream) -> None:
    place.wikitq()
    result = place.run()
    assert result.parseoutcomes() == {"passed": 1, "failed": 1, "skipped": 1}
    [line] = [line for line in result.outlines if line.startswith("tabfact: skipped")]
    assert PULLS["tabfact"] in line
    assert str(place.folders / "tabfact") in line
    assert {record["dataset"] for record in place.records()} == {"wikitq"}


def test_without_data_no_case_runs_and_no_run_folder_is_made(place: Upstream) -> None:
    result = place.run("-rs")
    assert result.parseoutcomes() == {"skipped": 2}
    for dataset, command in PULLS.items():
        [line] = [line for line in result.outlines if line.startswith(f"{dataset}: skipped")]
        assert command in line
    assert result.ret == 0
    assert not (place.path / "run").exists()


def test_a_missing_dataset_named_by_the_option_is_an_error(place: Upstream) -> None:
    result = place.run("--bench-dataset", "wikitq")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    output = result.stdout.str()
    assert f"test_wikitq: no data in {place.folders / 'wikitq'}" in output
    assert PULLS["wikitq"] in output
    assert "Traceback" not in output
    assert not (place.path / "run" / "records.jsonl").exists()


# Foreign or damaged data


def test_a_dataset_that_lacks_a_file_is_an_error(place: Upstream) -> None:
    name = "data/random-split-1-train.tsv"
    (place.wikitq() / name).unlink()
    upstream.tabfact(place.folders / "tabfact")
    result = place.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    [line] = [line for line in result.outlines if "test_wikitq: " in line and "lacks" in line]
    assert f"lacks {name} " in line
    assert "it is half copied, or another dataset's folder" in line
    assert PULLS["wikitq"] in line
    assert "Traceback" not in result.stdout.str()


def test_a_dataset_without_a_usable_row_is_an_error(place: Upstream) -> None:
    place.wikitq(test=["q-1\tWhich?\tcsv/1-csv/1.csv"])
    result = place.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*'wikitq': no usable example*row 2, field 'row': has 3 fields*"])


# Bad rows


BAD = [
    "q-2\tWhich?\tcsv/1-csv/1.csv",
    "\tWhich?\tcsv/1-csv/1.csv\tGull",
    "q-1\tWhich?\tcsv/1-csv/1.csv\tGull",
    "q-7\tWhich?\tcsv/\x1b[31mred.csv\tGull",
    "q-3\tWhich?\tcsv/1-csv/99.csv\tGull",
    "q-4\tWhich?\t../../etc/passwd\tGull",
    "q-5\tWhich?\tcsv/9-csv/latin.csv\tGull",
    "q-6\tWhich?\tcsv/9-csv/none.csv\tGull",
]


def test_bad_rows_are_reported_and_the_other_rows_run(place: Upstream) -> None:
    first, last = upstream.WIKITQ_TEST
    place.wikitq(
        test=[first, *BAD, last],
        tables={"csv/9-csv/latin.tsv": b"A\n\xe4\n", "csv/9-csv/none.tsv": ""},
    )
    result = place.run("--bench-dataset", "wikitq")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1, "deselected": 1}
    assert [record["example_id"] for record in place.records()] == ["q-1", "q-2"]
    problems = place.problems("wikitq")
    assert len(problems) == len(BAD)
    for number, problem in zip(
        sorted(range(3, 3 + len(BAD))), sorted(problems, key=_row), strict=True
    ):
        assert problem.startswith(f"data/pristine-unseen-tables.tsv, row {number}, field '")
    output = result.stdout.str()
    assert f"wikitq: {len(BAD)} bad rows left out:" in output
    assert "  ... and 3 more (all of them in run.json)" in output
    assert "\x1b" not in output
    for problem in problems[:5]:
        assert problem.replace("\x1b", r"\x1b") in output


def _row(problem: str) -> int:
    return int(problem.split(", row ")[1].split(",")[0])


def test_bad_rows_of_the_demonstration_pool_are_recorded(place: Upstream) -> None:
    # The pool is opened by the first case that shows a demonstration.
    place.wikitq(train=[*upstream.WIKITQ_TRAIN, "t-3\tWhich?\tcsv/1-csv/99.csv\tOld"])
    place.run("--bench-dataset", "wikitq")
    [problem] = place.problems("wikitq")
    assert problem.startswith("data/random-split-1-train.tsv, row 4, field 'context': ")


# Odd tables


def test_a_table_that_some_formats_cannot_show_has_no_answer_in_these(place: Upstream) -> None:
    # spec torr.md section 5: a row longer than its header stops json (IndexError) and df
    # (ValueError); the other five write ragged rows as they are.
    place.wikitq(
        test=["q-1\tWhich?\tcsv/9-csv/ragged.csv\tGull"],
        tables={"csv/9-csv/ragged.tsv": "Ship\tYear\nGull\t1901\textra\n"},
    )
    formats = "html,csv,json,markdown,indexed_row_major,df,concat"
    result = place.run("--bench-dataset=wikitq", f"--bench-serializer={formats}")
    by_format = {record["serializer"]: record for record in place.records()}
    assert set(by_format) == set(formats.split(","))
    lost = {name for name, record in by_format.items() if record["outcome"] == "no_answer"}
    assert lost == {"json", "df"}
    for name, record in by_format.items():
        if name in lost:
            assert (record["reason"], record["score"]) == ("unusable_table", None)
        else:
            assert (record["outcome"], record["score"]) == ("right", 1.0)
    assert result.parseoutcomes() == {
        "passed": 5,
        "errors": 2,
        "deselected": 1,
    }
    assert "no answer by reason: unusable_table 2" in result.stdout.str()
    assert "csv/9-csv/ragged.tsv" in result.stdout.str()
