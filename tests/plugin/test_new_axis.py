"""A new axis is one row of the table: a run with a copy of the table that has a row more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from pytest_tablebench.config import axes
from tests.support.page_files import block
from tests.support.toy_bench import read_lines

ROW = '    Axis("mood", "moods", "y", changes_the_question=False),\n'

START = """
import importlib.util, sys
from pathlib import Path

name = "pytest_tablebench.config.axes"
spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("more_axes.py"))
sys.modules[name] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

from pytest_tablebench.config.settings import Settings
Settings.moods = ("calm", "hasty")
"""

RUN = """
import start, sys, pytest
sys.exit(pytest.main(sys.argv[1:]))
"""

COMPARE = """
import start, sys
from pytest_tablebench.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("axis")
    table = Path(axes.__file__).read_text(encoding="utf-8")
    repeat = '    Axis("repeat"'
    assert table.count(repeat) == 1
    (folder / "more_axes.py").write_text(table.replace(repeat, ROW + repeat), encoding="utf-8")
    for name, text in (("start", START), ("run", RUN), ("compare", COMPARE)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    run = "run.py --pyargs pytest_tablebench.suites -q -p no:cacheprovider --bench-dataset=starter"
    options = "--bench-limit=4 --bench-serializer=csv,html --bench-perturbation=none"
    words = [*run.split(), *options.split(), f"--bench-results={folder / 'run'}"]
    words += ["--bench-store=none", "--bench-gate-point"]
    words += ["--bench-gate=starter[hasty].pass_rate >= 0.01"]
    words += ["--bench-gate=starter[mood=calm][csv].pass_rate >= 0.01"]
    result = call(folder, *words)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
    (folder / "run.txt").write_text(result.stdout, encoding="utf-8")
    return folder


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


def test_the_files_and_the_terminal_have_it(folder: Path) -> None:
    records = read_lines(folder / "run" / "records.jsonl")
    assert len(records) == 16  # four examples, two serializers, two moods
    assert {record["mood"] for record in records} == {"calm", "hasty"}
    assert all(record["case_id"].endswith(f"/none/{record['mood']}") for record in records)
    run = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    assert run["grid"]["moods"] == run["mood"] == ["calm", "hasty"]
    assert [(gate["state"], gate["n_examples"]) for gate in run["gates"]] == [("holds", 4)] * 2
    summary = json.loads((folder / "run" / "summary.json").read_text(encoding="utf-8"))
    starter = summary["benchmarks"]["starter"]
    assert list(starter["moods"]["settings"]) == ["calm", "hasty"]
    assert list(starter["datasets"]["starter"]["moods"]) == ["calm", "hasty"]
    text = (folder / "run.txt").read_text(encoding="utf-8")
    assert "grid 2 serializers x 1 perturbation x 2 moods" in text
    assert "the cheapest mood that is not worse" in text


def test_a_comparison_pairs_and_divides_by_it(folder: Path) -> None:
    words = ("compare.py", "compare", "run", "run", "--json", "compared.json")
    result = call(folder, *words)
    assert result.returncode == 0, result.stderr
    compared = json.loads((folder / "compared.json").read_text(encoding="utf-8"))
    scopes = {(scope["kind"], scope["name"]): scope["n_cases"] for scope in compared["scopes"]}
    assert (scopes["mood", "calm"], scopes["mood", "hasty"]) == (8, 8)
    assert {entry["mood"] for entry in compared["configurations"]} == {"calm", "hasty"}


def test_the_page_filters_by_it(folder: Path) -> None:
    text = (folder / "run" / "report.html").read_text(encoding="utf-8")
    soup = BeautifulSoup(text, "html.parser")
    assert block(soup, "index")["names"]["mood"] == ["calm", "hasty"]
    heading = soup.find(id="cases")
    assert isinstance(heading, Tag)
    filters = {axis["name"]: axis for axis in json.loads(str(heading["data-axes"]))}
    assert (filters["mood"]["label"], filters["mood"]["letter"]) == ("Mood", "y")
