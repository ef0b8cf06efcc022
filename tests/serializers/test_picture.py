"""Tables as pictures: where cells stand, which characters are drawn, how large tables are shown."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from importlib.util import find_spec
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from pytest_tablebench.errors import TableError
from pytest_tablebench.serializers import pictures, serialize
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.serializers.picture import _fonts, squared, squares
from pytest_tablebench.serializers.picture._draw import column_widths, line_heights, sheet_of
from pytest_tablebench.serializers.picture._fonts import fonts, without_marks
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.table import Table
from tests.support.matrix import draws

FLAT = Table(["Name", "Age"], [["Sophia", 26], ["王小明", None]])
MERGED = Table(
    header=["", "2023", "2024"],
    rows=[["Europe", "", ""], ["France", "1", "2"], ["Paris", "3", "4"]],
    header_rows=[["Region", "Sales", ""]],
    row_headers=1,
    row_levels=[0, 0, 1],
    spans=[Span(1, 0, 2, 1), Span(1, 1, 1, 2)],
    captions=[["Table 1. Sales", "", ""]],
    sections=[0],
    notes=[["Source: invented", "", ""]],
)


def opened(data: bytes) -> Pillow.Image:
    return Pillow.open(io.BytesIO(data))


def shade(table: Table, across: int, down: int) -> int:
    found = opened(serialize(table, "image")).getpixel((across, down))
    assert isinstance(found, int)
    return found


def test_a_flat_table_is_a_box_for_each_cell() -> None:
    boxes = {(b.line, b.column): (b.text, b.kind, b.lines, b.columns) for b in sheet_of(FLAT).boxes}
    assert boxes == {
        (0, 0): ("Name", "head", 1, 1),
        (0, 1): ("Age", "head", 1, 1),
        (1, 0): ("Sophia", "cell", 1, 1),
        (1, 1): ("26", "cell", 1, 1),
        (2, 0): ("王小明", "cell", 1, 1),
        (2, 1): ("", "cell", 1, 1),
    }


def test_structure_is_drawn_merged_filled_and_indented() -> None:
    boxes = {(b.line, b.column): b for b in sheet_of(MERGED).boxes}
    assert [
        (b.kind, b.lines, b.columns)
        for b in (boxes[place] for place in [(0, 0), (1, 0), (1, 1), (3, 0)])
    ] == [
        ("caption", 1, 3),
        ("head", 2, 1),
        ("head", 1, 2),
        ("section", 1, 3),  # runs over the empty cells behind it, as in a spreadsheet
    ]
    assert (2, 0) not in boxes  # the merged cell reaches over it
    assert (boxes[4, 0].kind, boxes[4, 0].indent) == ("label", 0)
    assert (boxes[5, 0].text, boxes[5, 0].indent) == ("Paris", 1)
    assert (boxes[5, 1].kind, boxes[6, 0].kind) == ("cell", "note")


def test_fills_tell_headers_sections_and_labels_from_cells() -> None:
    chosen = fonts(16)
    sheet = sheet_of(MERGED)
    widths = column_widths(sheet, chosen, 20)
    heights = line_heights(sheet, chosen, widths).heights
    tops = [8 + sum(heights[:line]) for line in range(8)]
    right = 8 + sum(widths) - 2
    left = 8 + widths[0] - 2  # at the right edge of a cell no letter stands
    assert shade(MERGED, right, tops[0] + 2) == 255  # the caption has no fill
    assert shade(MERGED, right, tops[1] + 2) == 218
    assert shade(MERGED, right, tops[3] + 2) == 232
    assert shade(MERGED, left, tops[4] + 2) == 244
    assert shade(MERGED, right, tops[4] + 2) == 255


def test_the_same_table_gives_the_same_bytes_and_another_other_ones() -> None:
    first = serialize(FLAT, "image")
    assert first == serialize(Table(["Name", "Age"], FLAT.rows), "image")
    assert first != serialize(FLAT.replace(rows=[["Sophia", 27], ["王小明", None]]), "image")
    assert pictures(FLAT) == (Image("image/png", first),)
    assert pictures(FLAT)[0].digest == hashlib.sha256(first).hexdigest()


def test_the_png_is_what_it_says() -> None:
    data = serialize(FLAT, "image")
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert (depth, colour) == (8, 0)  # shades of grey
    assert opened(data).size == (width, height)
    start = data.index(b"IDAT") + 4
    length = struct.unpack(">I", data[start - 8 : start - 4])[0]
    assert len(zlib.decompress(data[start : start + length])) == height * (width + 1)


@pytest.mark.parametrize(
    "characters",
    ["王小明年收入", "カタナひらがな", "ОльгаÅéß", "Αθήνα", "½≤→€²"],
    ids=["han", "kana", "latin", "greek", "symbols"],
)
def test_characters_are_drawn_and_not_boxes(characters: str) -> None:
    missing = None
    drawn = []
    for character in characters:
        [(font, _)] = fonts(16).runs(character, bold=False)
        drawn.append(bytes(font.getmask(character)))
        missing = bytes(font.getmask("\uffff"))  # what the font shows for what it has not
        assert drawn[-1] != missing
    assert len(set(drawn)) == len(characters)


def test_korean_is_drawn_with_the_extra_and_refused_with_its_name_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "한국어"
    with monkeypatch.context() as without:
        without.setattr(
            _fonts, "find_spec", lambda name: find_spec(name) if name == "matplotlib" else None
        )
        with pytest.raises(TableError, match=r"U\+D55C.*pip install 'pytest-tablebench\[korean\]'"):
            serialize(Table(["a"], [[text]]), "image")
    if find_spec("koreanize_matplotlib") is None:
        pytest.skip("the extra `korean` is not installed")
    drawn = {bytes(next(fonts(16).runs(one, bold=True))[0].getmask(one)) for one in text}
    assert len(drawn) == len(text)
    assert opened(serialize(Table(["a"], [[text]]), "image")).size[0] > 3 * 16


@pytest.mark.parametrize("text", ["ง", "नमस्ते"])
def test_what_no_font_draws_is_said_and_not_shown_as_boxes(text: str) -> None:
    with pytest.raises(TableError, match=rf"^table 'T': has .*U\+{ord(text[0]):04X}.* no font"):
        serialize(Table(["a"], [[text]], title="T"), "image")


def test_hebrew_and_arabic_run_from_right_to_left() -> None:
    def seen(text: str) -> str:
        return "".join(piece for _, piece in fonts(16).runs(text, bold=False))

    assert seen("שלום (12)") == "(12) םולש"
    # From the left: meem as it ends a word, lam inside of it, seen as it begins one.
    assert [ord(letter) for letter in seen("سلم")] == [0xFEE2, 0xFEE0, 0xFEB3]
    assert seen("abc é") == "abc é"
    assert serialize(Table(["ارتفاع"], [["1000 م"], ["الله"]]), "image").startswith(b"\x89PNG")


def test_marks_that_show_nothing_are_left_out() -> None:
    assert without_marks("a\u200bb\u00adc\x81d\ufe0f\te\r\nf") == "abcd e\nf"
    assert without_marks("e\u0301") == "é"


def test_long_texts_wrap_and_rows_grow() -> None:
    chosen = fonts(16)
    assert chosen.wrapped("one two three", chosen.width("one two")) == ["one two", "three"]
    assert chosen.wrapped("年年年年", chosen.width("年年")) == ["年年", "年年"]
    assert "".join(chosen.wrapped("a" * 99, 100)) == "a" * 99
    assert chosen.wrapped("x\n\ny", 100) == ["x", "", "y"]
    plain = opened(serialize(Table(["a"], [["b"]]), "image"))
    tall = opened(serialize(Table(["a"], [["b\nb\nb"]]), "image"))
    assert tall.height == plain.height + 2 * chosen.line


@settings(max_examples=draws(60), deadline=None)
@given(st.text(alphabet="ab 年é\n", max_size=40), st.integers(10, 90))
def test_wrapping_loses_no_letter_and_keeps_to_the_width(text: str, width: int) -> None:
    lines = fonts(12).wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(fonts(12).width(line) <= width or len(line) == 1 for line in lines)


def test_a_table_that_is_too_large_is_shown_in_parts() -> None:
    table = Table(
        [f"column {n}" for n in range(30)], [[f"{r}/{n}" for n in range(30)] for r in range(60)]
    )
    parts = pictures(table)
    sizes = [opened(part.data).size for part in parts]
    assert len(parts) > 1
    assert all(max(size) <= 1536 and min(size) <= 768 for size in sizes)
    whole = opened(serialize(table, "image"))
    assert whole.width > 1536
    assert len({part.digest for part in parts}) == len(parts)


def test_each_part_has_the_headers_again_and_every_row_once() -> None:
    sheet = sheet_of(Table(["k", "v"], [[f"k{n}", f"v{n}"] for n in range(9)]))
    part = sheet.part([0, 4, 5], [0, 1])
    texts = [box.text for box in part.boxes]
    assert texts == ["k", "v", "k3", "v3", "k4", "v4"]
    cut = sheet_of(MERGED).part([0, 1, 2, 5], [0, 2])
    found = {(b.line, b.column): (b.text, b.lines, b.columns) for b in cut.boxes}
    assert found[1, 1] == ("Sales", 1, 1)  # what is left of the merged cell keeps its text
    assert found[1, 0] == ("Region", 2, 1)
    assert found[3, 0] == ("Paris", 1, 1)


@settings(max_examples=draws(40), deadline=None)
@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=40), st.integers(0, 3), st.integers(50, 900)
)
def test_bands_hold_everything_once_behind_what_is_repeated(
    sizes: list[int], first: int, limit: int
) -> None:
    from pytest_tablebench.serializers.picture import _bands

    bands = _bands(sizes, first, limit)
    again = min(first, len(sizes) - 1) if len(sizes) > 1 else 0
    assert all(band[:again] == list(range(again)) for band in bands)
    assert [place for band in bands for place in band[again:]] == list(range(again, len(sizes)))
    assert all(a < b for band in bands for a, b in pairwise(band))


def test_tables_that_nobody_could_read_are_refused() -> None:
    with pytest.raises(TableError, match=r"20001 lines of 1 cells; .* at most 20,000 cells"):
        pictures(Table(["a"], [["b"]] * 20_000))
    with pytest.raises(TableError, match="parts; at most 20 are shown"):
        pictures(Table(["a"], [["b"]] * 1500))
    with pytest.raises(TableError, match="no columns; serializer 'image'"):
        pictures(Table([], []))


def test_short_rows_are_filled_up() -> None:
    ragged = Table(["a", "b"], [["1"], ["2", "3", "4"]])
    assert sheet_of(ragged).columns == 3
    assert serialize(ragged, "image").startswith(b"\x89PNG")


def test_a_picture_may_be_distorted_to_a_square_as_published_scripts_do() -> None:
    wide = Image("image/png", serialize(FLAT, "image"))
    width, height = opened(wide.data).size
    assert width > height
    square = opened(squared(wide).data)
    assert square.size == (width, width)
    # Stretched, with nothing cut off and nothing added: halfway down it shows the same.
    assert square.getpixel((1, width // 2)) == opened(wide.data).getpixel((1, height // 2))
    [drawn] = squares(FLAT)
    assert drawn.data == squared(wide).data


@pytest.mark.parametrize("data", [b"", b"GIF89a", serialize(FLAT, "image")[:60]])
def test_what_is_no_picture_is_refused(data: bytes) -> None:
    with pytest.raises(TableError, match="cannot be read as a picture"):
        squared(Image("image/png", data))


def test_a_square_that_would_fill_the_memory_is_refused() -> None:
    drawn = io.BytesIO()
    Pillow.new("1", (10_001, 1)).save(drawn, "PNG")
    with pytest.raises(TableError, match="10001 pixels a side"):
        squared(Image("image/png", drawn.getvalue()))
