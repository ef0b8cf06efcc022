"""Find words that make our English hard to read: `python -m tests.support.prose PATH...`.

Reads docstrings, comments and messages of Python files and the text of Markdown files. A word list
cannot tell whether a sentence is clear; it only finds the habits that a reader stumbles over.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HABITS = {
    r"\b(whoever|nobody|somebody|anybody|everybody)\b": "name the subject",
    r"(?<!one )(?<!maintainer )(?<!user )(?<!users )(?<!person )"
    r"(?<!people )(?<!team )(?<!teams )(?<!reader )(?<!readers )\bwho\b": "name the process",
    r"\b(came|comes?|coming|became) of\b": "the outcome, the result",
    r"\bsuch (a one|ones?)\b": "name the thing",
    r"\bone's own\b": "your own",
    r"\b(stands?|stood)\b": "is, equals, is written",
    r"\b(lies|lay|lying)\b": "is",
    r"\btold\b": "sent, reported, passed, received",
    r"\bheeds?\b": "uses, reads",
    r"\bmend(s|ed|ing)?\b": "fix, repair",
    r"\bsees? to it\b": "ensure",
    r"\bin vain\b": "without effect",
    r"\b(held|hold|holds) against\b": "compare with, check against",
    r"\bread past\b": "skip",
    r"\b(goes|went|go|going) on\b": "continue",
    r"\b(he|him|his|she)\b": "a program is 'it'; a user is 'the user' or 'you'",
    r"\b(those|that) of (a|an|the|one|each|its|all|another|others?)\b": "repeat the noun",
    r"\bwhere (nothing|none|no one|there is none|it is none)\b": "if no ...; without ...",
    r"\bbeside\b": "with, next to, in addition to",
    r"\b(dearest|dearer|hitherto|wherefrom|thereby|whereof|how-manieth)\b": "use an everyday word",
    r"\bof (ours|theirs)\b": "our, their",
    r"\bhas to do with\b": "concerns, uses",
    r"\bof which there\b": "name the thing",
}
"""Pattern -> what to write instead."""

QUOTED: frozenset[str] = frozenset(
    {
        "pytest_tablebench/datasets/realhitbench/_prompts.py",
        "pytest_tablebench/datasets/torr/tablebench.py",
        "pytest_tablebench/datasets/torr/turl_cta.py",
        "pytest_tablebench/metrics/_rouge_package.py",
        "pytest_tablebench/metrics/_treb.py",
        "pytest_tablebench/metrics/_typed_words.py",
        "pytest_tablebench/models/lexical/rules.py",
        "pytest_tablebench/papers/analyses/contrasts.py",
        "pytest_tablebench/strategies/_icot.py",
        "pytest_tablebench/strategies/_programs.py",
        "pytest_tablebench/strategies/_treethinker.py",
        "tests/support/realhit_files.py",
    }
)
"""Files, from the project's root, whose strings are quoted: prompts of papers, data."""

PATTERNS = {re.compile(pattern, re.IGNORECASE): advice for pattern, advice in HABITS.items()}


class Habit(NamedTuple):
    """One occurrence of a habit."""

    path: Path
    line: int
    words: str
    advice: str


def habits(path: Path) -> Iterator[Habit]:
    """Yield each habit in a Python or Markdown file, in the order of its lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        passages = _python_passages(text, quoted=path.as_posix().endswith(tuple(QUOTED)))
    else:
        passages = _markdown_passages(text)
    for first_line, passage in passages:
        for pattern, advice in PATTERNS.items():
            for match in pattern.finditer(passage):
                line = first_line + passage.count("\n", 0, match.start())
                yield Habit(path, line, match.group(), advice)


def _python_passages(text: str, *, quoted: bool) -> Iterator[tuple[int, str]]:
    """Yield comments, docstrings and messages, each with the number of its first line.

    Of a file of quoted strings only the comments.
    """
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in () if quoted else ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, re.sub(r"`[^`\n]*`", lambda code: " " * len(code[0]), node.value)


def _markdown_passages(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text with its code left blank."""
    prose = re.sub(
        r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]*`|\]\([^)\n]*\)",
        lambda code: re.sub(r"[^\n]", " ", code[0]),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    yield 1, prose


def files(places: list[Path]) -> list[Path]:
    """Return the Python and Markdown files in these places, sorted, without generated reports."""
    inside = (
        path
        for place in places
        for path in (place.rglob("*") if place.is_dir() else [place])
        if path.suffix in {".py", ".md"}
    )
    return sorted(path for path in inside if not {"_build", "example"} & set(path.parts))


def main(arguments: list[str]) -> int:
    """Print each habit with its place; return 1 if there is any."""
    places = [Path(argument) for argument in arguments]
    listed = [habit for path in files(places) for habit in habits(path)]
    for habit in listed:
        sys.stdout.write(f"{habit.path}:{habit.line}: {habit.words!r}: {habit.advice}\n")
    sys.stdout.write(f"{len(listed)} in {len(files(places))} files\n")
    return bool(listed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
