"""TReB: the registry of subtasks, upstream's files, and tables of every kind."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench import serialize
from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.treb import _samples, _tables
from pytest_tablebench.datasets.treb._samples import sample_of
from pytest_tablebench.datasets.treb._tables import SampleTable, tables_of
from pytest_tablebench.datasets.treb.treb import DATASETS, TReB, datasets_in
from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.tables.table import Table
from tests.support.treb_files import HARBOURS, UNNAMED, sample, write_samples, write_treb

NAMES = {dataset.name: dataset for dataset in DATASETS}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data")
    write_treb(place)
    return place


def examples(dataset: TReB, folder: Path, compat: Compat = "fixed") -> list[Example]:
    source = dataset.open(folder, compat=compat)
    assert list(source.problems) == []
    return [source.example(name) for name in source.example_ids(None)]


# The registry (spec: treb.md section 1)


def test_each_skill_has_the_papers_number_of_subtasks() -> None:
    counts: dict[str, int] = {}
    for subtask in _samples.known_subtasks():
        counts[subtask.skill] = counts.get(subtask.skill, 0) + 1
    assert counts == {"NLU": 6, "TU": 6, "TBO": 2, "TCO": 2, "DA": 4, "ADA": 6}
    assert list(_samples.skills()) == list(counts)
    assert "treb_table_domain_specific_operations" in NAMES
    assert "treb_multi_step_fact_checking" in NAMES


def test_modes_titles_and_scores_equal_the_published_configuration() -> None:
    known = {subtask.name: subtask for subtask in _samples.known_subtasks()}
    programs = {name for name, one in known.items() if one.modes == ("tcot", "pot", "icot")}
    assert {name for name in programs if known[name].skill != "ADA"} == {
        "Table_Retrieval",
        "Table_Fact_Checking",
        "Table_Query",
        "Table_Selection",
        "Table_General_Operations",
        "Table_Domain-specific_Operations",
        "Table_Outlier_Detection",
        "Table_Correlation_Analysis",
        "Table_Hypothesis_Testing",
        "Table_Distribution_Testing",
    }
    assert {name for name, one in known.items() if one.titles} == {
        "Table_Retrieval",
        "Table_Summary",
        "Table_Fact_Checking",
        "Table_Plausibility_Verification",
        "Table_Domain-specific_Operations",
    }
    scores = {name: one.scores for name, one in known.items()}
    assert scores.pop("Instruction_Following") == ("follow",)
    assert set(scores.values()) == {("em", "em_letters", "bleu", "rougeL", "llm_score")}
    for one in known.values():
        assert {one.main, one.judged} <= {*one.scores} & {*one.thresholds}


def test_an_unlisted_subtask_has_the_defaults_and_the_skill_of_its_family() -> None:
    unnamed, other = _samples.subtask_of(UNNAMED), _samples.subtask_of("Table_Guessing")
    assert (unnamed.is_listed, unnamed.skill, unnamed.modes) == (
        False,
        "ADA",
        ("tcot", "pot", "icot"),
    )
    assert (other.is_listed, other.skill, other.main) == (False, "other", "rougeL")


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("treb_instruction_following", {"direct", "tcot", "treethinker"}),
        ("treb_table_summary", {"direct", "tcot", "treethinker"}),
        ("treb_table_query", {"direct", "tcot", "pot", "icot[max_exec=2]", "treethinker"}),
    ],
)
def test_a_subtask_has_the_modes_of_the_benchmark(name: str, modes: set[str]) -> None:
    strategies = ("direct", "tcot", "pot", "icot[max_exec=2]", "treethinker")
    assert {mode for mode in strategies if NAMES[name].refuses(mode) is None} == modes


# The files (section 2)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "treb_instruction_following"])
def test_every_subtask_is_read_in_both_languages(data: Path, name: str) -> None:
    dataset = NAMES[name]
    found = examples(dataset, data / "treb")
    assert [one.id for one in found] == [
        "Chinese|harbours|3|made_3",
        "English|harbours|1|made_1",
        "English|harbours|2|made_2",
    ]
    chinese, flat, headed = found
    assert [one.tags["language"] for one in found] == ["zh", "en", "en"]
    assert {one.tags["skill"] for one in found} == {dataset.subtask.skill}
    assert [one.references for one in found] == [("30",)] * 3
    if not dataset.subtask.has_tables:
        assert all(list(one.inputs) == ["question"] for one in found)
        assert {(one.tags["tables"], one.tags["read_from"]) for one in found} == {("0", "none")}
        assert dataset.prompt(flat, serialize_markdown).source == flat.question
        return
    assert flat.inputs["table"] == Table.from_csv(HARBOURS, title="Harbours of Scotland")
    assert chinese.inputs["table"].header == ("港口", "船只", "水深")
    assert headed.inputs["table"].header == ("", "2023", "2024")
    assert headed.inputs["table"].header_rows == (("Port", "Boats", "Boats"),)
    titled = "\nHarbours of Scotland" if dataset.subtask.titles else ""
    shown = "|Harbour|Boats|Depth|"
    prompt = dataset.prompt(flat, serialize_markdown)
    assert prompt.source.startswith(f"How many boats lie in Oban? (1){titled}\n{shown}")


def serialize_markdown(table: Table) -> str:
    return str(serialize(table, "markdown"))


def test_instructions_are_not_copied_and_each_answer_keeps_its_rule(data: Path) -> None:
    dataset = NAMES["treb_instruction_following"]
    source = dataset.open(data / "treb")
    found = [source.example(name) for name in source.example_ids(None)]
    assert {one.tags["language"] for one in found} == {"en", "zh"}
    from pytest_tablebench import score
    from pytest_tablebench.metrics._instructions import RULES

    assert {one.context["rule"] for one in found} == set(RULES)
    for one in found:
        kept = score("treb_instruction", one.target, [], **one.context)
        assert (one.id, kept.value) == (one.id, 1.0)
        assert score("treb_instruction", "no", [], **one.context).value == 0
    assert "the project's own instructions" in source.facts.notes[0]


def test_an_unlisted_subtask_is_named_by_the_data(data: Path) -> None:
    (unnamed,) = datasets_in(data)
    assert unnamed.name == "treb_multi_step_guessing"
    assert len(examples(unnamed, data / "treb")) == 3
    assert unnamed.open(data / "treb").facts.notes == (
        f"{UNNAMED} is not a known subtask; it is asked and scored by the defaults",
    )


def test_several_subtasks_in_one_file_are_separated_by_id(tmp_path: Path) -> None:
    folder = tmp_path / "treb"
    rows = [sample("Table_Query"), sample("Table_Guessing"), sample("Table_Query", 2), "no sample"]
    write_samples(folder / "valid.jsonl", rows)
    assert [one.id for one in examples(NAMES["treb_table_query"], folder)] == [
        "harbours|1|made_1",
        "harbours|2|made_2",
    ]
    assert [one.name for one in datasets_in(tmp_path)] == ["treb_table_guessing", "treb_valid"]


def test_without_data_one_line_names_the_command_that_fetches_it(tmp_path: Path) -> None:
    said = {}
    for name, dataset in NAMES.items():
        with pytest.raises(DataMissing) as caught:
            dataset.open(tmp_path / "data" / "treb")
        said[name] = str(caught.value)
    (line,) = set(said.values())
    assert line.endswith(f"get it with: tablebench pull treb --bench-data={tmp_path / 'data'}")


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "not valid JSON"), ('{"id": 1}', "must contain a list of samples, not a dict")],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "Table_Query.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        NAMES["treb_table_query"].open(tmp_path)


def test_rows_that_are_no_samples_are_reported_with_file_and_row(tmp_path: Path) -> None:
    rows = [
        7,
        sample("Table_Query", question=" "),
        sample("Table_Query", answer=None),
        sample("Table_Query", Table_markdown=[3]),
        sample("Table_Query"),
        sample("Table_Query"),
    ]
    write_samples(tmp_path / "Table_Query.json", rows)
    source = NAMES["treb_table_query"].open(tmp_path)
    assert source.example_ids(None) == ["harbours|1|made_1"]
    assert [(problem.row, problem.field) for problem in source.problems] == [
        (1, "row"),
        (2, "question"),
        (3, "answer"),
        (4, "Table_markdown"),
        (6, "id"),
    ]


def test_a_sample_without_an_id_is_named(tmp_path: Path) -> None:
    write_samples(tmp_path / "Table_Query.json", [sample("Table_Query", id=...)])
    source = NAMES["treb_table_query"].open(tmp_path)
    assert source.example_ids(None) == ["row 1"]
    with pytest.raises(DataError, match=r"Table_Query.json, row 1, field 'id': is missing"):
        source.example("row 1")


# Tables (section 2)


def read(tmp_path: Path, compat: Compat = "fixed", **fields: Any) -> list[SampleTable]:
    (tmp_path / "csv").mkdir(exist_ok=True)
    (tmp_path / "csv" / "harbours.csv").write_text(HARBOURS, encoding="utf-8")
    opened = Opened(tmp_path, compat, "TReB")
    row = sample("Table_Query", **fields)
    return tables_of(sample_of(row, tmp_path / "Table_Query.json", opened, 1))


def rows_of(found: SampleTable) -> Sequence[Sequence[str]]:
    assert found.table is not None
    return [found.table.header, *found.table.rows]


@pytest.mark.parametrize(
    ("header", "faults", "names"),
    [
        ([], (), ("Harbour", "Boats", "Depth")),
        ([0], (), ("0", "1", "2")),
        ([3], (), ("Oban", "30", "7")),
        ([4], ("columnslable",), ("Harbour", "Boats", "Depth")),
        ([-1], ("columnslable",), ("Harbour", "Boats", "Depth")),
        (["two"], ("columnslable",), ("Harbour", "Boats", "Depth")),
        ([True], ("columnslable",), ("Harbour", "Boats", "Depth")),
    ],
)
def test_an_invalid_number_of_header_lines_is_read_as_one(
    tmp_path: Path, header: list[object], faults: tuple[str, ...], names: tuple[str, ...]
) -> None:
    (found,) = read(tmp_path, columnslable=header)
    assert found.table is not None
    assert (found.table.header, found.faults, found.source) == (names, faults, "csv")


@pytest.mark.parametrize("path", ["../secret.csv", "/etc/hostname", "csv/../../secret.csv"])
def test_files_outside_the_folder_are_not_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    inside = tmp_path / "treb"
    inside.mkdir()
    (found,) = read(inside, file_path=[path])
    assert (found.source, found.faults) == ("markdown", ("file_path",))
    assert rows_of(found)[1] == ("Wick", "12", "4.5")


def test_a_large_table_in_an_archive_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "CSV.zip", "w") as archive:
        archive.writestr("CSV/ports.csv", "Port,Boats\nWick,12\n")
    (whole,) = read(tmp_path, file_path=["ports.csv"])
    monkeypatch.setattr(_tables, "MOST_BYTES", 10)
    (refused,) = read(tmp_path, file_path=["ports.csv"])
    assert (whole.source, whole.faults) == ("csv", ())
    assert (refused.source, refused.faults) == ("markdown", ("file_path",))


def test_escaped_bars_are_text_except_in_the_mode_reference(tmp_path: Path) -> None:
    markdown = "| Sign | Means |\n|---|:---:|\n| a \\| b | or |\n| a | alone |"
    fields: dict[str, Any] = {"file_path": [], "Table_markdown": [markdown], "Table_html": []}
    (fixed,) = read(tmp_path, **fields)
    assert list(rows_of(fixed)) == [("Sign", "Means"), ("a | b", "or"), ("a", "alone")]
    (reference,) = read(tmp_path, "reference", **fields)
    assert reference == SampleTable(None, "none", ("markdown",), markdown)


def test_of_several_tables_reference_reads_the_first_and_fixed_all(
    tmp_path: Path,
) -> None:
    fields: dict[str, Any] = {
        "file_path": ["csv/harbours.csv"],
        "Table_markdown": ["", "|Ship|\n|-|\n|Ann|", ""],
        "Table_html": ["", "", "<table><tr><th>Crew</th></tr><tr><td>9</td></tr></table>"],
        "title": ["Harbours", "Ships"],
    }
    found = read(tmp_path, **fields)
    assert [one.source for one in found] == ["csv", "markdown", "html"]
    assert [one.source for one in read(tmp_path, "reference", **fields)] == ["csv"]
    write_samples(tmp_path / "Table_Query.json", [sample("Table_Query", **fields)])
    dataset = NAMES["treb_table_query"]
    (example,) = examples(dataset, tmp_path)
    assert [name for name in example.inputs if name != "question"] == [
        "table 1",
        "table 2",
        "table 3",
    ]
    shown = dataset.prompt(example, lambda table: f"<{'/'.join(table.header)}>").source
    assert shown.split("\n")[1:] == [
        "Table 1: Harbours",
        "<Harbour/Boats/Depth>",
        "Table 2: Ships",
        "<Ship>",
        "Table 3:",
        "<Crew>",
    ]
    (first,) = examples(dataset, tmp_path, "reference")
    assert dataset.prompt(first, lambda table: "<one>").source.split("\n")[1:] == ["<one>"]


def test_the_mode_reference_shows_a_table_as_upstream_does(data: Path) -> None:
    source = NAMES["treb_table_query"].open(data / "treb", compat="reference")
    table = source.example("English|harbours|1|made_1").inputs["table"]
    assert source.as_given(table, "markdown") == sample("Table_Query")["Table_markdown"][0]
    assert source.as_given(table, "html") == sample("Table_Query")["Table_html"][0]
    assert source.as_given(table, "csv") is None
    assert source.as_given(Table(["a"], []), "html") is None
    assert "upstream's own" in source.facts.notes[0]
    plain = NAMES["treb_table_query"].open(data / "treb")
    assert plain.as_given(table, "markdown") is None


def test_a_table_that_cannot_be_read_is_shown_unchanged(tmp_path: Path) -> None:
    write_samples(
        tmp_path / "Table_Query.json",
        [sample("Table_Query", file_path=["gone.csv"], Table_markdown=["no bars"], Table_html=[])],
    )
    (example,) = examples(NAMES["treb_table_query"], tmp_path)
    assert example.inputs["table"] == "no bars"
    assert (example.tags["tables"], example.tags["fault"]) == ("0", "markdown")
