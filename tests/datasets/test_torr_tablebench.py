"""TableBench: the corrected score, and reading the three versions of its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import score, score_answer
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import text_key
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.torr.tablebench import TableBench, split_lottery
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.tables.table import Table
from tests.support.tablebench_files import (
    DP,
    PLAIN,
    V2,
    many,
    numbers,
    opened,
    record,
    with_formatter,
    with_instruction,
    written,
)

# Score


def test_the_reference_drops_signs_points_and_percent_signs() -> None:
    for reply, gold in (("35", "3.5%"), ("-106", "10.6"), ("the 3,5", "35")):
        result = score_answer("tablebench_nr", reply, [gold], compat="reference")
        assert result.value == 1.0
        assert set(result.parts) == {"rouge1", "rouge2", "rougeL", "rougeLsum"}
        assert score_answer("tablebench_nr", reply, [gold]).value == 0.0


def test_words_and_numbers_have_the_same_parts() -> None:
    numbers, words = (score_answer("tablebench_fc", "12", [gold]) for gold in ("12", "twelve men"))
    assert set(numbers.parts) == set(words.parts)
    assert (numbers.parts["numeric"], words.parts["numeric"]) == (1.0, 0.0)


def test_the_best_of_several_references_counts() -> None:
    assert score("tablebench", "12", ["13", "12"]).value == 1.0
    assert score("tablebench", "red house", ["12", "red house"]).value == 1.0
    assert score("tablebench", "12", ["12", "red house"]).value == 1.0
    assert score("tablebench", "14", ["12", "red house"]).value == 0.0


@given(st.decimals(-(10**9), 10**9, allow_nan=False, places=3), st.booleans())
def test_a_number_equals_itself_in_every_spelling(value: Any, percent: bool) -> None:
    sign = "%" if percent else ""
    gold = f"{value}{sign}"
    for reply in (f"{value:,}{sign}", f"{value}000{sign}", f"Final Answer: {value}{sign}"):
        assert score_answer("tablebench_da", reply, [gold]).value == 1.0
    assert score_answer("tablebench_da", f"{value + 1}{sign}", [gold]).value == 0.0
    assert score_answer("tablebench_da", gold + "%", [gold]).value == 0.0


@pytest.mark.parametrize(
    ("reply", "gold", "expected"),
    [
        ("10.6", "10.6", 1.0),
        ("Final Answer: 10.60", "10.6", 1.0),  # the prompt asks for that marker
        ("10.6.", "10.6", 1.0),
        ("106", "10.6", 0.0),  # the decimal point counts
        ("-10.6", "10.6", 0.0),  # so does the sign
        ("−0.75%", "-0.75%", 1.0),
        ("0.75%", "-0.75%", 0.0),
        ("18.9 %", "18.90%", 1.0),
        ("18.9", "18.90%", 0.0),  # and the percent sign
        ("35", "3.5%", 0.0),
        ("2,755,233.4", "2755233.40", 1.0),
        ("1952, 1953", "1952, 1953", 1.0),
        ("1952,1953", "1952, 1953", 1.0),
        ("1953, 1952", "1952, 1953", 0.0),
        ("1952", "1952, 1953", 0.0),
        ("1952, 1953, 1954", "1952, 1953", 0.0),
        ("1,952", "1, 952", 0.0),  # one number
        ("204988, 12%", "204988, 12.0%", 1.0),
        ("about 12", "12", 0.0),
        ("", "12", 0.0),
        # Text with numbers is compared by words: two of three tokens on each side are shared.
        ("increasing trend, 13", "Increasing trend, 14", 2 / 3),
        ("The Spain.", "spain", 1.0),
        ("three", "three", 1.0),
        ("3", "three", 0.0),
        ("8ab", "8Ab", 1.0),
        # A different number shares no word with the number in the text: three of four words match.
        ("Weak negative correlation, 0.25", "Weak negative correlation, -0.25", 3 / 4),
        ("Poland and Danzig, 627", "Poland and Danzig, 62.7", 3 / 4),
        ("poland and danzig, 62.70", "Poland and Danzig, 62.7", 1.0),
        ("85 million", "8.5 million", 1 / 2),
        ("-$8.50 million", "$-8.5 million", 1.0),
        ("$15", "$1.5", 0.0),
        ("$5", "-$5", 0.0),
        ("$1,234.50", "$1234.5", 1.0),
        ("14:5.61", "1:45.61", 0.0),
        ("1:45.610", "1:45.61", 1.0),
        ("15kg", "1.5kg", 0.0),
        ("25% of men", "25 of men", 2 / 3),
        ("25 % of men", "25.0% of men", 1.0),
        # A hyphen is no sign inside a season or a name.
        ("2004/05 season", "2004-05 season", 1.0),
        ("200405 season", "2004-05 season", 2 / 5),  # one of two and of three words
        ("f-16", "F16", 1.0),
        ("U-20 (-20)", "U-20 (-20)", 1.0),
        ("U-20 (20)", "U-20 (-20)", 1 / 2),
        ("_1.50_ km", "1.5 km", 1.0),
        ("3.5\\% growth", "3.5% growth", 1.0),
        ("3.5\\% growth", "3.5 growth", 1 / 2),
        ("\u20118.5 million", "-8.5 million", 1.0),
        ("\u20138.5 million", "8.5 million", 1 / 2),
        # Nor is a hyphen between two numbers.
        ("5% - 10% growth", "5%-10% growth", 1.0),
        ("20\u00b0-30\u00b0", "20\u00b0\u201330\u00b0", 1.0),
        ("5\u20ac-10\u20ac", "5\u20ac\u201310\u20ac", 1.0),
    ],
)
def test_numbers_are_compared_as_numbers_and_words_as_words(
    reply: str, gold: str, expected: float
) -> None:
    assert score_answer("tablebench_nr", reply, [gold]).value == pytest.approx(expected)
    assert score_answer("tablebench_da", reply, [gold]).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("reply", "gold", "expected"),
    [
        ("A", "A", 1.0),
        ("Final Answer: a.", "A", 1.0),
        ("B", "A", 0.0),
        ("", "A", 0.0),
        ("the", "A", 0.0),
        ("北京", "北京", 1.0),
        ("上海", "北京", 0.0),
        ("–", "–", 1.0),
        ("-", "–", 0.0),
    ],
)
def test_an_answer_without_words_for_rouge_is_right_or_wrong(
    reply: str, gold: str, expected: float
) -> None:
    assert score_answer("tablebench_fc", reply, [gold]).value == expected
    # With a second reference too; "house" is one of its two words.
    assert score("tablebench", gold, [gold, "red house"]).value == 1.0
    assert score("tablebench", "house", [gold, "red house"]).value == pytest.approx(2 / 3)


VALUES = st.decimals(-(10**9), 10**9, allow_nan=False, places=3)
BESIDE = st.sampled_from(["{} men", "{}%, oslo", "r ({})", "about {}.", "{}kg", "x={}; y", "€{}"])


@given(VALUES, VALUES, BESIDE)
def test_in_text_only_equal_numbers_are_equal(one: Any, other: Any, text: str) -> None:
    gold = text.format(one)
    assert score_answer("tablebench_da", text.format(f"{one:,}00"), [gold]).value == 1.0
    result = score_answer("tablebench_da", text.format(other), [gold])
    assert (result.value == 1.0) == (one == other)


# Files


def test_the_datasets_have_names_kinds_and_a_common_folder() -> None:
    registry = builtin_registry().datasets
    kinds = {
        "tablebench_da": "DataAnalysis",
        "tablebench_fc": "FactChecking",
        "tablebench_nr": "NumericalReasoning",
    }
    for name, qtype in kinds.items():
        found = registry[name]
        assert isinstance(found, TableBench)
        assert (found.qtype, found.folder, found.benchmark) == (qtype, "tablebench", "torr")
        assert (found.shots, found.limit, found.threshold) == (5, 100, 0.8)


@pytest.mark.parametrize(
    ("key", "make", "formatter", "words"),
    [
        ("plain", record, None, "our own words"),
        ("dp", with_instruction, "Write it like this, 4. ", "field instruction"),
        ("v2", with_formatter, "The form (UN) of 4.", "with answer_formatter"),
    ],
)
def test_each_version_of_the_files_is_read(
    tmp_path: Path, key: str, make: Any, formatter: str | None, words: str
) -> None:
    source = opened(written(tmp_path, **{key: many(make)}))
    example = next(
        found
        for found in [source.example(name) for name in source.example_ids(None)]
        + [source.pool[index] for index in range(len(source.pool))]
        if found.id == "q4"
    )
    shown = example.inputs["answer_formatter"]
    if formatter is None:
        assert "Final Answer: " in shown
    else:
        assert shown == formatter
    assert list(example.inputs) == ["table", "question", "answer_formatter"]
    # Cells keep their types; null becomes None.
    table = example.inputs["table"]
    assert table == Table(["ship", "men"], [["gull", 12], ["tern", None], ["skua", 7.5]])
    assert [type(cells[1]) for cells in table.rows] == [int, type(None), float]
    assert (example.question, example.references, example.target) == (
        "How many men has ship 4?", ("4",), "4",
    )  # fmt: skip
    assert not source.problems
    assert list(source.facts.files) == [{"plain": PLAIN, "dp": DP, "v2": V2}[key]]
    [note] = source.facts.notes
    assert words in note


def test_pool_and_questions_are_drawn_at_random(tmp_path: Path) -> None:
    splits = split_lottery(30)
    assert set(splits) == {"train", "validation", "test"}
    wanted = tuple(
        [number for number, split in enumerate(splits, start=1) if split == name]
        for name in ("test", "train")
    )
    # Rows of other kinds are not drawn from.
    mixed = [
        row
        for number in range(1, 31)
        for row in (record(number), record(900 + number, "Visualization", table=7))
    ]
    assert numbers(opened(written(tmp_path, plain=mixed))) == wanted
    # Each kind is drawn separately.
    both = [record(n, kind) for n in range(1, 31) for kind in ("DataAnalysis", "FactChecking")]
    folder = written(tmp_path / "both", plain=both)
    assert numbers(opened(folder)) == numbers(opened(folder, "tablebench_da")) == wanted


def test_a_bad_row_changes_no_other_rows_split(tmp_path: Path) -> None:
    rows: list[Any] = many(record)
    splits = split_lottery(30)
    bad = splits.index("test") + 1
    rows[bad - 1] = record(bad, answer=...)
    tests, pool = numbers(opened(written(tmp_path, plain=rows)))
    assert tests == [n for n, split in enumerate(splits, 1) if split == "test" and n != bad]
    assert pool == [n for n, split in enumerate(splits, 1) if split == "train"]


def test_only_rows_of_direct_prompting_are_read_if_rows_have_types(tmp_path: Path) -> None:
    rows = [
        row
        for number in range(1, 31)
        for row in (with_instruction(number, "TCoT"), with_instruction(number, "DP"))
    ]
    source = opened(written(tmp_path, dp=rows))
    assert numbers(source) == numbers(opened(written(tmp_path / "1", plain=many(record))))
    assert not source.problems
    assert len(source.facts.notes) == 1


def test_another_type_replaces_missing_direct_prompting_with_a_note(tmp_path: Path) -> None:
    source = opened(written(tmp_path, v2=many(with_formatter, kind="TCoT")))
    assert numbers(source) == numbers(opened(written(tmp_path / "1", plain=many(record))))
    assert any("TCoT is used instead" in note for note in source.facts.notes)


def test_of_equal_versions_the_one_with_a_formatter_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path, plain=many(record), v2=many(with_formatter, kind="TCoT"))
    assert list(opened(folder).facts.files) == [V2]
    written(tmp_path, dp=many(with_instruction))
    assert list(opened(folder).facts.files) == [V2]
    (folder / V2).unlink()
    source = opened(folder)
    assert list(source.facts.files) == [DP]
    assert f"left aside: {PLAIN} (30 rows)" in source.facts.notes[0]


def test_a_partial_version_is_not_preferred_to_a_complete_one(tmp_path: Path) -> None:
    folder = written(tmp_path, plain=many(record), dp=many(with_instruction, 29))
    assert list(opened(folder).facts.files) == [PLAIN]
    # Completeness is decided for each kind.
    written(tmp_path, dp=many(with_instruction, 2, qtype="DataAnalysis"))
    assert list(opened(folder, "tablebench_da").facts.files) == [DP]


def test_the_same_questions_under_other_instructions_are_not_read(tmp_path: Path) -> None:
    folder = written(tmp_path, dp=many(with_instruction, 5))
    text = "".join(json.dumps(row) + "\n" for row in many(with_instruction, 30, kind="PoT"))
    (folder / "TableBench_PoT.jsonl").write_text(text, encoding="utf-8")
    source = opened(folder)
    assert list(source.facts.files) == [DP]
    assert "PoT" not in " ".join(source.facts.notes)


def test_an_id_of_two_rows_gives_two_examples(tmp_path: Path) -> None:
    rows = many(record)
    tests = [n for n, split in enumerate(split_lottery(30), 1) if split == "test"]
    first, second = tests[0], tests[1]
    rows[second - 1] |= {"id": f"q{first}", "qsubtype": "Multi-hop FactChecking"}
    source = opened(written(tmp_path, plain=rows))
    ids = source.example_ids(None)
    assert list(ids[:2]) == [f"q{first}", f"q{first}-2"]
    assert len(set(ids)) == len(ids) == len(tests)
    assert source.example(f"q{first}-2").references == (str(second),)
    assert not source.problems
    assert any(f"q{first}" in note and "more than one row" in note for note in source.facts.notes)


def test_unusual_tables_and_names_are_kept(tmp_path: Path) -> None:
    odd = {"columns": ["a", "a", ""], "data": [["x\ny", True, 1e9], [None, "\u2028", -3, "more"]]}
    rows = many(record, table=odd, qsubtype="Multi-hop NumericalReasoing")
    source = opened(written(tmp_path, plain=rows))
    table = source.example(source.example_ids(1)[0]).inputs["table"]
    assert table.header == ("a", "a", "")
    assert table.rows == (("x\ny", True, 1e9), (None, "\u2028", -3, "more"))
    assert not source.problems


def test_line_separators_inside_rows_do_not_end_them(tmp_path: Path) -> None:
    folder = written(tmp_path, plain=[])
    lines = [
        json.dumps(record(n, question="a\u2028b\u0085c"), ensure_ascii=False) for n in range(30)
    ]
    (folder / PLAIN).write_text("\r\n".join(lines) + "\r\n\r\n", encoding="utf-8-sig")
    source = opened(folder)
    assert not source.problems
    assert source.example(source.example_ids(1)[0]).question == "a\u2028b\u0085c"


def test_pool_keys_equal_those_of_the_loaded_items(tmp_path: Path) -> None:
    source = opened(written(tmp_path, plain=many(record)))
    assert len(source.pool) > 1
    for index in range(len(source.pool)):
        assert source.pool.key(index) == text_key(source.pool[index])


def test_every_qsubtype_has_an_answer_format(tmp_path: Path) -> None:
    def form(qsubtype: str) -> str:
        source = opened(written(tmp_path, plain=many(record, qsubtype=qsubtype)))
        return str(source.example(source.example_ids(1)[0]).inputs["answer_formatter"])

    for qsubtype, words in {
        "MatchBased": "item, item",
        "Multi-hop NumericalReasoing": "item, item",
        "never heard of": "item, item",
        "CorrelationAnalysis": "Weak negative correlation",
        "TrendForecasting": "No clear trend",
        "ImpactAnalysis": "No clear impact",
        "CausalAnalysis": "conclusion first",
        "DescriptiveAnalysis": "main columns",
        "AnomalyDetection": "No anomalies are detected in the table.",
    }.items():
        assert "Final Answer: " in form(qsubtype)
        assert words in form(qsubtype)


# Prompts


def rendered(folder: Path, example_id: str, **settings: Any) -> str:
    run = Runner(Settings(data=folder, **settings), builtin_registry())
    prompt = run.renderer.task(Case("tablebench_fc", example_id, "csv", "none", "m", "id")).prompt
    assert isinstance(prompt, str)
    return prompt


def test_the_whole_prompt_equals_the_published_one(tmp_path: Path) -> None:
    rows = many(with_formatter)
    source = opened(written(tmp_path / "tablebench", v2=rows))
    example_id = source.example_ids(1)[0]
    number = int(example_id[1:])
    text = rendered(tmp_path, example_id)
    table = "ship,men\ngull,12\ntern,\nskua,7.5"
    asked = f"Table: {table} \nQuestion: How many men has ship {number}?\nFinal Answer: "
    assert text.endswith(asked)
    before = text.removesuffix(asked)
    shown = {
        f"Table: {table} \nQuestion: How many men has ship {n}?\nFinal Answer: {n}\n\n"
        for n in numbers(source)[1]
    }
    used = sorted((one for one in shown if one in before), key=before.index)
    assert len(used) == 5
    instruction = before[: before.index(used[0])]
    assert before == instruction + "".join(used)
    # The prompt has only the answer format of its question.
    assert f"The form (UN) of {number}." in instruction
    assert text.count("The form (UN)") == 1
    lowered = instruction.lower()
    assert lowered.index("table analyst") < lowered.index("the form (un)")
    assert lowered.index("the form (un)") < lowered.index("only the final answer")
    assert "output of the last" in lowered


def test_charts_are_a_separate_dataset_outside_of_torr(tmp_path: Path) -> None:
    row = {
        "id": "c1", "qtype": "Visualization", "qsubtype": "ChartGeneration", "chart_type": "hbar",
        "question": "Draw it.", "answer": "y_references = [[1, 2]]",
        "table": {"columns": ["a", "b"], "data": [["x", "1"], ["y, z", "2"]]},
    }  # fmt: skip
    rows = [row, {**row, "id": "c2", "chart_type": None}]
    folder = tmp_path / "tablebench"
    folder.mkdir()
    (folder / "TableBench.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    dataset = builtin_registry().datasets["tablebench_viz"]
    found = dataset.open(folder)
    assert found.example_ids(None) == ["c1"]
    assert "field 'chart_type'" in str(found.problems[0])
    example = found.example("c1")
    assert example.context["chart_type"] == "hbar"
    assert example.context["table"].read("table.csv") == b'a,b\nx,1\n"y, z",2\n'
    assert dataset.benchmark not in builtin_registry().benchmarks
