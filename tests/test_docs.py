"""The documentation builds without a warning, is complete, and its examples run."""

from __future__ import annotations

import html
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

import pytest_tablebench
from pytest_tablebench.commands.parser import make_parser
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.metrics import METRICS
from pytest_tablebench.results import Record
from tests.support.scripts import load_script

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
FLAGS = {option.flag for option in OPTIONS} | {"--model"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "ignore", "-m", "sphinx", "-q", "-W", "--keep-going"]
    doctrees = folder.with_name("doctrees")
    done = subprocess.run(
        [*command, "-d", str(doctrees), "-b", "html", str(DOCS), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_metric_has_an_example() -> None:
    page = (DOCS / "metrics.md").read_text("utf-8")
    sections = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE))
    assert set(sections) == set(METRICS)
    assert {name for name, text in sections.items() if f'("{name}", ' not in text} == set()


def test_parts_made_from_the_code_are_current() -> None:
    reference = load_script(DOCS / "reference.py", "reference")
    texts = {page.name: page.read_text("utf-8") for page in PAGES}
    stale = [name for name, text in texts.items() if reference.written(text) != text]
    assert stale == [], "run `make reference`"
    calls = re.findall(r"^<!-- ([\w-]+).*: begin -->$", "\n".join(texts.values()), re.MULTILINE)
    assert set(calls) == set(reference.PARTS)


def test_no_page_needs_sphinx_to_be_read() -> None:
    """GitHub shows directives as code; only the contents and the API's signatures are some."""
    directives = {
        (page.name, name)
        for page in PAGES
        for name in re.findall(r"^`{3,}\{([\w-]+)\}", page.read_text("utf-8"), re.MULTILINE)
    }
    assert directives == {("index.md", "toctree"), ("api.md", "eval-rst")}


def test_the_site_has_every_public_name(site: Path) -> None:
    api = html.unescape(re.sub(r"<[^>]+>", "", (site / "api.html").read_text("utf-8")))
    assert {name for name in pytest_tablebench.__all__ if name not in api} == set()
    files = (DOCS / "run-folder.md").read_text("utf-8")
    assert {field.name for field in fields(Record) if field.name not in files} == set()


def test_every_page_is_listed_for_models_and_in_the_contents(site: Path) -> None:
    listed = set(re.findall(r"\]\((.+)\.html\)", (site / "llms.txt").read_text("utf-8")))
    assert listed == {page.stem for page in PAGES}
    contents = (DOCS / "index.md").read_text("utf-8").splitlines()
    assert {page.stem for page in PAGES} - {"index"} <= set(contents)


def _console() -> Iterator[tuple[str, str]]:
    """Yield the commands that pages show, each with the name of its page."""
    for page in [*PAGES, ROOT / "README.md"]:
        for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("$ "):
                    yield page.name, line[2:]


@pytest.mark.parametrize(("page", "command"), sorted(set(_console())))
def test_each_command_on_a_page_exists(page: str, command: str) -> None:
    words = shlex.split(command)
    if words[0] == "tablebench" and words[1] != "--help":
        make_parser().parse_args(words[1:])  # raises SystemExit if it is wrong
    given = {word.partition("=")[0] for word in words if word.startswith("--bench-")}
    assert "pytest" not in words[:3] or given <= FLAGS, (page, given - FLAGS)


WORKFLOWS = sorted((DOCS.parent / ".github").rglob("*.y*ml"))
_AFTER_A_SPACE = re.compile(
    rf"(?<![\w-])(?:{'|'.join(o.flag for o in OPTIONS if o.path or o.key == 'bench_dataset')}) +"
    r"(?!(?:is|to|and|or|with|leaves|compares)\b)[\w.~/\"'$]"
)


def test_values_of_options_follow_an_equals_sign() -> None:
    """After a space pytest may read a value as a path of tests with a configuration file."""
    texts = [path.read_text("utf-8") for path in (DOCS.parent / "README.md", *PAGES, *WORKFLOWS)]
    assert [match for text in texts for match in _AFTER_A_SPACE.findall(text)] == []


def _examples() -> list[Path]:
    return [page for page in PAGES if "```python" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", _examples(), ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page: Path) -> None:
    document = Sybil(parsers=[PythonCodeBlockParser(), SkipParser()], path=str(DOCS)).parse(page)
    ran = 0
    for example in document.examples():
        example.evaluate()
        ran += 1
    assert ran
