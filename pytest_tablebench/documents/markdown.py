"""A document as GitHub's Markdown, in which no text of other origin becomes structure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import TERMINAL, flat, pieces, safe_address
from pytest_tablebench.util.markdown import code
from pytest_tablebench.util.names import counted, printable

COMMENT_LIMIT = 65_536
"""Largest size of a comment (GitHub's error: "body is too long")."""

STEP_SUMMARY_LIMIT = 1024 * 1024
"""Largest size in bytes of a step's summary; GitHub does not show a larger one
(docs.github.com, "Workflow commands for GitHub Actions", step isolation and limits)."""

ICONS = {"holds": "✅", "fails": "❌", "undecided": "❔"}

CUTS = {
    COMMENT_LIMIT: "_Cut here: GitHub takes 65,536 characters of a comment._",
    STEP_SUMMARY_LIMIT: "_Cut here: GitHub shows 1 MiB of a summary. The whole summary is in the "
    "run folder._",
}

_LONGEST = 2000
"""The most characters of a sentence."""

_STRUCTURE = re.compile(
    r"[\\`*_\[\]<>&|~#@]|(?<=www)\.|:(?=//|:)|(?<=:):|^(\s*)[-+=:]|^(\s*\d+)[.)]", re.I
)
"""Characters that can become structure, a link or a mention."""


def markdown_text(blocks: Iterable[doc.Block], *, limit: int | None = COMMENT_LIMIT) -> str:
    """Return blocks as Markdown of at most `limit` bytes; None for a file of any size.

    A note replaces the blocks that do not fit.
    """
    cut = "" if limit is None else CUTS[limit]
    text, room = "", (sys.maxsize if limit is None else limit) - len(cut) - 2
    for lines in map(_block_lines, blocks):
        part = "\n".join(lines) + "\n"
        size = len(part.encode("utf-8")) + 1
        if size > room:
            return f"{text}\n{cut}\n" if text else f"{cut}\n"
        if lines:
            text += f"\n{part}" if text else part
            room -= size
    return text


def _block_lines(block: doc.Block) -> list[str]:
    match block:
        case doc.Heading(text, level):
            return [f"{'#' * level} {_inline(text)}"]
        case doc.Paragraph(text, tone) if text and tone != "legend":
            return [f"{'⚠️ ' if tone == 'warning' else ''}{_inline(text)}"]
        case doc.Sentences(items):
            return [line for item in items for line in (_inline(item), "")][:-1]
        case doc.Verbatim(text):
            return ["<pre>", *(escaped_text(line, None) for line in text.splitlines()), "</pre>"]
        case doc.Verdict(text, state, reasons):
            lines = [f"{ICONS[state]} **{_inline(text).strip()}**"]
            return (
                [*lines, "", *(f"- {_inline(reason)}" for reason in reasons)] if reasons else lines
            )
        case doc.Listing(items, most):
            lines = [f"- {_inline(item)}" for item in items[:most]]
            return [*lines, f"- {block.remainder}"] if block.remainder else lines
        case doc.TableBlock():
            return list(_table(block))
        case doc.Fold(title, inner):
            lines = [line for part in inner for line in ("", *_block_lines(part))]
            return [f"<details><summary>{_inline(title)}</summary>", *lines, "", "</details>"]
    return []


def _inline(text: doc.Text) -> str:
    return "".join(map(_piece, pieces(text)))


def _piece(piece: doc.Piece) -> str:
    if isinstance(piece, doc.Choice):
        return _piece(piece.text)
    if isinstance(piece, doc.Code):
        return code(piece.text, piece.most)
    if isinstance(piece, doc.StateWord):
        return f"{ICONS[piece.state]} {escaped_text(piece.text)}"
    if isinstance(piece, doc.Link) and (address := safe_address(piece)) and address[0] != "#":
        return f"[{escaped_text(piece.text)}]({address})"
    text = TERMINAL.plain(piece)
    if isinstance(piece, doc.Figure):
        return text.replace("*", "&#42;")
    return escaped_text(text)


def escaped_text(text: str, most: int | None = _LONGEST) -> str:
    """Return a sentence whose characters of structure are numeric references.

    A word joiner follows `@` and `#`, so that GitHub makes no mention of a user or issue.
    """
    return _STRUCTURE.sub(
        lambda match: "".join(
            c if c.isalnum() or c.isspace() else f"&#{ord(c)};{'&#8288;' if c in '@#' else ''}"
            for c in match[0]
        ),
        printable(text, most),
    )


def _table(table: doc.TableBlock) -> Iterator[str]:
    columns, rows = flat(table)
    if not rows:
        return
    yield _table_line(escaped_text(column.title) for column in columns)
    yield _table_line("---" if column.kind == "text" else "---:" for column in columns)
    for row, cells in zip(table.rows, rows, strict=False):
        first, *others = map(_inline, cells)
        yield _table_line([f"**{first.strip()}**" if row.rank == "whole" else first, *others])
    if len(table.rows) > table.most:
        yield ""
        yield f"and {counted(len(table.rows) - table.most, 'row')} more"


def _table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
