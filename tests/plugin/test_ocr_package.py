"""The example package of a model that reads pictures: tables, answers and a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.extend import Image, Message, ModelError, Request, Table
from pytest_tablebench.serializers.picture import to_png
from tests.extensions.ocr.tablebench_ocr import OcrModel, Word, lines_of
from tests.support.extensions import EXTENSIONS, run_extended
from tests.support.toy_bench import SUITE

CLINICS = Table(
    ("Clinic", "Share of residents", "Founded"),
    (
        ("Chapel Hill", "42.5%", "1969"),
        ("Ashby Court", "17.0%", "2023"),
        ("North Gate on the long road along the river", "9.1%", "1988"),
    ),
)


def test_tables_in_pictures_are_read_and_answer_questions() -> None:
    pytest.importorskip("rapidocr")
    model = OcrModel()
    picture = Image("image/png", to_png(CLINICS))
    question = "Question: Which Clinic has the highest value for Share of residents?\nAnswer:"

    def answer(*content: str | Image) -> str:
        return model.complete(Request("ocr/words", (Message("user", content),))).text

    assert answer("Table: ", picture, f"\n\n{question}") == "Chapel Hill"
    assert model.lines(picture) == [CLINICS.header, *CLINICS.rows]

    # A large table is drawn in parts with the same header; they are read as one table.
    rest = Image("image/png", to_png(Table(CLINICS.header, (("Mill Lane", "55.0%", "1901"),))))
    assert answer("Table: ", picture, "\n", rest, f"\n\n{question}") == "Mill Lane"

    broken = Image("image/png", picture.data[:60])
    with pytest.raises(ModelError, match="cannot read a picture") as caught:
        answer("Table: ", broken, question)
    assert caught.value.reason == "bad_request"


def test_the_package_answers_a_run(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    (tmp_path / "test_starter.py").write_text(SUITE.replace("toy", "starter"), "utf-8")
    some = ("--bench-limit=1", "--bench-perturbation=none", "--bench-modality=image")
    plugin = ("-p", "tablebench_ocr", "--model=ocr/words")
    run = run_extended(EXTENSIONS / "ocr", tmp_path, *plugin, *some)
    [record] = run.records
    assert (record["case_id"], record["modality"]) == (
        "starter/fin-01-lookup-1/image/none",
        "image",
    )
    # "What is given as Founded for Lakeshore Creamery?"
    assert (record["outcome"], record["raw"]) == ("right", "1969"), run.output
    assert (run.facts["calls_paid"], run.facts["cost_usd"]) == (1, 0.0)


def word(text: str, left: float, middle: float, width: float) -> Word:
    return Word(text, left, middle - 14, left + width, middle + 14)


HEAD = [word("Name", 8, 20, 50), word("Text", 128, 20, 60), word("Year", 460, 20, 50)]


def test_words_side_by_side_are_a_row() -> None:
    words = [
        *HEAD,
        *(word("tea", 8, 47, 30), word("green", 128, 48, 50), word("1999", 460, 47, 45)),
        *(word("milk", 8, 74, 40), word("white", 128, 74, 50), word("2001", 460, 75, 45)),
    ]
    rows = [("Name", "Text", "Year"), ("tea", "green", "1999"), ("milk", "white", "2001")]
    assert lines_of(reversed(words)) == rows


def test_a_cell_can_have_lines_with_its_neighbours_centred() -> None:
    words = [
        *HEAD,
        *(word("first line", 128, 48, 300), word("second line", 128, 67, 310)),
        *(word("third", 128, 86, 60), word("one", 8, 67, 30), word("1999", 460, 67, 45)),
        *(word("two", 8, 113, 30), word("a", 128, 113, 20), word("2001", 460, 113, 45)),
        # Between two lines.
        *(word("b, and", 128, 140, 200), word("c", 128, 159, 20), word("three", 8, 149.5, 60)),
    ]
    assert lines_of(words) == [
        ("Name", "Text", "Year"),
        ("one", "first line second line third", "1999"),
        ("two", "a", "2001"),
        ("three", "b, and c", ""),
    ]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            [*HEAD, word("tea", 8, 47, 30), word("1999", 465, 47, 45)],
            [("Name", "Text", "Year"), ("tea", "", "1999")],
        ),
        # A word right of its column belongs to the nearest column.
        (
            [*HEAD, word("tea", 8, 47, 30), word("7", 210, 47, 10)],
            [("Name", "Text", "Year"), ("tea", "7", "")],
        ),
        # Boxes of neighbours can overlap slightly.
        (
            [word("Profit", 376, 20, 102), word("Margin", 474, 20, 77), word("7", 376, 47, 20)],
            [("Profit", "Margin"), ("7", "")],
        ),
        (
            [word("Prices of 2023", 100, -20, 300), *HEAD, word("tea", 8, 47, 30)],
            [("Prices of 2023",), ("Name", "Text", "Year"), ("tea", "", "")],
        ),
        ([], []),
        ([word("alone", 8, 20, 50)], [("alone",)]),
    ],
    ids=["empty cell", "nearest column", "overlap", "title", "no word", "one word"],
)
def test_words_are_put_into_columns(words: list[Word], lines: list[tuple[str, ...]]) -> None:
    assert lines_of(words) == lines
