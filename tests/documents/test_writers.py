"""A document in a terminal, as Markdown and as a page; hostile text in every field of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import table_of
from pytest_tablebench.documents.html import save_document
from pytest_tablebench.documents.markdown import COMMENT_LIMIT, markdown_text
from pytest_tablebench.documents.terminal import terminal_lines

TABLE = table_of(
    ("dataset", doc.Column("score", "estimate", scale=(0.0, 1.0)), "cases"),
    [
        doc.TableRow(("shop", Estimate(0.5, 0.25, 0.75), doc.Figure(1200, "count")), "whole"),
        doc.TableRow(("html", Estimate(), None), "part"),
    ],
)

TEXTS = st.text(max_size=40).map(lambda text: f"{text}x") | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "| a | b |",
        "@someone #1 https://evil.example www.evil.example",
        "[link](javascript:alert(1)) ![x](https://evil.example)",
        "**bold** `code` _a_ ~~b~~",
        "\x1b[31mred\u202e",
        "\n::error::now",
        "# title\n\n- item",
        "{{ 7*7 }}",
    ]
)


def every_block(text: str) -> list[doc.Block]:
    """Return a block of each kind with the text in every field that takes one."""
    parts = (text, doc.Code(text), doc.Link(text, text), doc.StateWord(text, "fails", text))
    table = table_of(
        (text, doc.Column(text, "text"), doc.Column(text, "estimate"), text),
        [(parts, text, Estimate(0.5, 0.25, 0.75), doc.Figure(1.0, unit=" s"))],
    )
    return [
        doc.Heading(parts),
        doc.Heading(text, 3),
        doc.Paragraph(parts, "warning"),
        doc.Verbatim(f"{text}\n  {text}"),
        doc.Verdict(text, "fails", [text, parts]),
        doc.Listing([text, parts]),
        table,
        doc.Fold(text, [table, doc.Paragraph(text)]),
    ]


def test_a_table_in_the_terminal_has_value_and_interval() -> None:
    assert terminal_lines([TABLE]) == [
        "dataset  score   95 % interval  cases",
        "shop     0.500  0.250 to 0.750  1,200",
        "  html       -               -",
    ]


def test_a_table_without_titles_has_no_line_of_titles() -> None:
    columns = [doc.Column(kind="text"), doc.Column(kind="text")]
    assert terminal_lines([table_of(columns, [("calls", "5")])]) == ["calls  5"]


def test_the_last_columns_that_do_not_fit_are_left_out() -> None:
    assert terminal_lines([doc.TableBlock(TABLE.columns, TABLE.rows, fewest=2)], width=20) == [
        "dataset  score",
        "shop     0.500",
        "  html       -",
    ]


def test_a_table_of_long_texts_is_one_block_for_each_row() -> None:
    columns = [doc.Column(name, "text") for name in ("case", "before", "after")]
    wide = table_of(columns, [("a/b", "x" * 60, "y" * 60)])
    assert terminal_lines([wide], width=80) == [
        "a/b",
        f"  before: {'x' * 60}",
        f"  after: {'y' * 60}",
    ]


def test_empty_lines_part_blocks_but_not_sentences() -> None:
    blocks: list[doc.Block] = [
        doc.Paragraph("first"),
        doc.Paragraph("second"),
        doc.Paragraph("of the page only", "legend"),
        doc.Listing(["item"]),
        doc.Heading("part", 3),
        doc.Paragraph("third"),
        doc.Fold("more", [doc.Paragraph("inside")]),
    ]
    lines = ["first", "second", "  item", "", "part", "third", "", "more", "  inside"]
    assert terminal_lines(blocks) == lines


def test_a_table_as_markdown() -> None:
    assert markdown_text([TABLE]).splitlines() == [
        "| dataset | score | 95 % interval | cases |",
        "| --- | ---: | ---: | ---: |",
        "| **shop** | 0.500 | 0.250 to 0.750 | 1,200 |",
        "| html | - | - |  |",
    ]


def test_markdown_is_cut_at_a_block_within_the_limit() -> None:
    text = markdown_text([doc.Paragraph("x" * 1000)] * 100)
    assert len(text.encode()) <= COMMENT_LIMIT
    assert text.endswith("of a comment._\n")
    assert text.count("x" * 1000) == 65  # 65 * 1,002 + 53 is below 65,536


def test_the_page_has_marks_with_texts_and_anchors(tmp_path: Path) -> None:
    blocks: list[doc.Block] = [doc.Heading("Scores", name="scores"), TABLE]
    save_document(doc.Document("Title", blocks, "lead"), tmp_path / "page.html")
    page = BeautifulSoup((tmp_path / "page.html").read_text("utf-8"), "html.parser")
    [mark] = page.select("svg.range")
    assert mark["aria-label"] == "0.500, 95 % interval 0.250 to 0.750"
    assert [circle["cx"] for circle in mark.select("circle")] == ["60.0"]  # 2 + 116 / 2
    assert [heading.text for heading in page.select("h2#scores")] == ["Scores"]
    assert [row.get("class") for row in page.select("tbody tr")] == [["whole"], ["part"]]


@given(TEXTS)
def test_no_text_is_a_control_character_in_the_terminal(text: str) -> None:
    lines = terminal_lines(every_block(text))
    assert all(line.isprintable() for line in lines)
    assert not any(re.match(r"\s*::|.*##\[", line) for line in lines)


@given(TEXTS)
def test_no_text_is_structure_in_markdown(text: str) -> None:
    """A harmless word in place of the text gives the same tags."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

    def tags(content: str) -> list[str]:
        page = BeautifulSoup(parser.render(markdown_text(every_block(content))), "html.parser")
        return [tag.name for tag in page.find_all(True)]

    # An address that is none of the web is text; that of `word` is a file beside the page.
    assert [tag for tag in tags(text) if tag != "a"] == [tag for tag in tags("word") if tag != "a"]
    markdown = re.sub(r"\]\([^)]*\)", "", markdown_text(every_block(text)))
    # GitHub makes links of these wherever they are.
    assert not re.search(r"@\w|(?<!&)#\d|://|www\.", markdown)


@settings(max_examples=40)
@given(TEXTS)
def test_no_text_is_markup_on_a_page(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    out = tmp_path_factory.mktemp("page") / "page.html"
    save_document(doc.Document(text, every_block(text), text), out)
    page = BeautifulSoup(out.read_text("utf-8"), "html.parser")
    assert not page.find_all(["script", "img", "iframe"])
    for link in page.find_all("a"):
        assert not re.match(r"(?i)\s*(javascript|data|vbscript):", str(link["href"]))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", out.read_text("utf-8"))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://ci.example/run/1?a=b&c=d", "https://ci.example/run/1?a=b&c=d"),
        ("out/report (1).html", "out/report%20%281%29.html"),
        ('https://x/"onclick="a', "https://x/%22onclick=%22a"),
        *((address, "") for address in ("javascript:alert(1)", "data:text/html,x", "#part")),
        ("JavaScript://%0aalert(1)", ""),
    ],
)
def test_only_addresses_of_files_and_websites_become_links(address: str, shown: str) -> None:
    text = markdown_text([doc.Paragraph(doc.Link("Full report", address))])
    assert text == (f"[Full report]({shown})\n" if shown else "Full report\n")
