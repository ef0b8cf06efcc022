"""Texts of models, datasets and users in GitHub's Markdown."""

from __future__ import annotations

from pytest_tablebench.util.names import printable


def code(text: str, limit: int = 120) -> str:
    """Return text of a model, dataset or user as inline code of GitHub's Markdown.

    Every character but letters, digits and spaces becomes a numeric reference, which cannot
    become structure, and inside `<code>` GitHub makes no link of `@name`, `#1`, or a commit.
    Control and bidirectional characters become escapes. So no line can begin a workflow command,
    even if a job prints the summary.
    """
    label = printable(text, limit)
    escaped = "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in label)
    return f"<code>{escaped}</code>" if escaped.strip() else "<code>&#32;</code>"
