"""Tables from the boxes of words, made up as rapidocr returns them."""

from __future__ import annotations

from pytest_tablebench.models.ocr._grid import OcrGrid, Word, grid_of


def word(text: str, left: float, middle: float, width: float) -> Word:
    return Word(text, left, middle - 14, left + width, middle + 14)


HEAD = [word("Name", 8, 20, 50), word("Text", 128, 20, 60), word("Year", 460, 20, 50)]


def test_words_side_by_side_are_a_row() -> None:
    words = [
        *HEAD,
        *(word("tea", 8, 47, 30), word("green", 128, 48, 50), word("1999", 460, 47, 45)),
        *(word("milk", 8, 74, 40), word("white", 128, 74, 50), word("2001", 460, 75, 45)),
    ]
    rows = (("Name", "Text", "Year"), ("tea", "green", "1999"), ("milk", "white", "2001"))
    assert grid_of(reversed(words)) == OcrGrid((), rows)


def test_a_cell_can_have_lines_with_its_neighbours_centred() -> None:
    words = [
        *HEAD,
        *(word("first line", 128, 48, 300), word("second line", 128, 67, 310)),
        *(word("third", 128, 86, 60), word("one", 8, 67, 30), word("1999", 460, 67, 45)),
        *(word("two", 8, 113, 30), word("a", 128, 113, 20), word("2001", 460, 113, 45)),
        # Between two lines.
        *(word("b, and", 128, 140, 200), word("c", 128, 159, 20), word("three", 8, 149.5, 60)),
    ]
    assert grid_of(words).rows == (
        ("Name", "Text", "Year"),
        ("one", "first line second line third", "1999"),
        ("two", "a", "2001"),
        ("three", "b, and c", ""),
    )


def test_an_empty_cell_leaves_its_column() -> None:
    rows = grid_of([*HEAD, word("tea", 8, 47, 30), word("1999", 465, 47, 45)]).rows
    assert rows[1] == ("tea", "", "1999")
    # A word right of its column belongs to the nearest column.
    rows = grid_of([*HEAD, word("tea", 8, 47, 30), word("7", 210, 47, 10)]).rows
    assert rows[1] == ("tea", "7", "")


def test_boxes_of_neighbours_can_overlap_slightly() -> None:
    words = [word("Net profit", 376, 20, 102), word("Margin", 474, 20, 77), word("7", 376, 47, 20)]
    assert grid_of(words).rows == (("Net profit", "Margin"), ("7", ""))


def test_a_title_above_the_table_is_no_row() -> None:
    found = grid_of([word("Prices of 2023", 100, -20, 300), *HEAD, word("tea", 8, 47, 30)])
    assert found == OcrGrid(("Prices of 2023",), (("Name", "Text", "Year"), ("tea", "", "")))


def test_a_picture_without_words_has_no_table() -> None:
    assert grid_of([]) == OcrGrid((), ())
    assert grid_of([word("alone", 8, 20, 50)]) == OcrGrid((), (("alone",),))
