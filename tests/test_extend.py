"""The public names for other packages, and examples that use only these."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_tablebench
from pytest_tablebench import extend

ROOT = Path(__file__).resolve().parents[1]

PROMISED = [
    "AnswerForm",
    "AnswerPlace",
    "Ask",
    "BadRowError",
    "Benchmark",
    "Compat",
    "Content",
    "Conversation",
    "DataError",
    "DataMissing",
    "Dataset",
    "Example",
    "ExamplePool",
    "Execute",
    "Execution",
    "File",
    "FileDataset",
    "Image",
    "Judgement",
    "LexicalModel",
    "Licence",
    "METRICS",
    "Message",
    "ModelError",
    "NotJudgedError",
    "Opened",
    "Pool",
    "PoolFiles",
    "Problem",
    "PromptParts",
    "Provider",
    "Render",
    "Reply",
    "ReplyForm",
    "Request",
    "RowSource",
    "Score",
    "Settings",
    "Source",
    "SourceFacts",
    "Span",
    "Strategy",
    "Stratum",
    "Table",
    "TableQuestions",
    "TOOLS",
    "Task",
    "Tool",
    "ToolTables",
    "Tools",
    "Upstream",
    "may_be_unclear",
    "read_score",
    "table_question",
    "text_field",
]
"""Names that other packages import. A name is removed only after a release with a warning."""

PAGES = [
    page
    for page in sorted((ROOT / "docs").glob("*.md"))
    if page.name != "fidelity.md"  # shows single functions that are not public
]


def test_every_public_name_exists() -> None:
    assert sorted(extend.__all__) == sorted(PROMISED)
    assert [name for name in PROMISED if not hasattr(extend, name)] == []


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import from this package."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pytest_tablebench"):
            for alias in node.names:
                yield str(node.module), alias.name


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "extensions").glob("*/*.py")), ids=lambda path: path.stem
)
def test_an_example_package_imports_public_names_only(path: Path) -> None:
    names = list(imports(path.read_text(encoding="utf-8")))
    assert names
    assert {module for module, _ in names} <= {"pytest_tablebench", "pytest_tablebench.extend"}
    assert {name for module, name in names if module.endswith("extend")} <= set(extend.__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_imports_public_names_only(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for module, name in imports(code):
            homes = {"pytest_tablebench": pytest_tablebench, "pytest_tablebench.extend": extend}
            assert module in homes, f"{module}.{name}"
            assert name in homes[module].__all__
