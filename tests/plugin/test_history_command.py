"""`tablebench history` over real runs, on disk and on a branch, and its page."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from pytest_tablebench.cli import main
from tests.support.runs import run_inside

MODEL = "tablebench/lexical"
CHANGE = "parameter temperature: 0 to 0.5"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run, the same run with another temperature, and a torn folder."""
    folder = tmp_path_factory.mktemp("history")
    run_inside(folder / "one", None, count=3, model=MODEL, key=None)
    shutil.copytree(folder / "one", folder / "two")
    for day, name in enumerate(("one", "two"), 1):
        path = folder / name / "run" / "run.json"
        facts = json.loads(path.read_text("utf-8"))
        facts["start"] = f"2026-03-0{day}T08:00:00+00:00"
        facts["by_dataset"]["starter"]["params"]["temperature"] = {"one": 0, "two": 0.5}[name]
        path.write_text(json.dumps(facts), "utf-8")
    (folder / "torn").mkdir()
    (folder / "torn" / "run.json").write_text("{", encoding="utf-8")
    (folder / "torn" / "summary.json").write_text("{}", encoding="utf-8")
    return folder


def scope(run: Path) -> dict[str, float]:
    summary = json.loads((run / "run" / "summary.json").read_text("utf-8"))
    return dict(summary["benchmarks"]["starter"]["datasets"]["starter"])


def test_the_table_has_each_run_and_what_changed(
    runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "pages" / "history.html"
    assert main(["history", str(runs), "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    at = lines.index("Changed between runs")
    assert lines[at + 2].split(maxsplit=2) == ["1", "2026-03-02", CHANGE]
    first, second = lines[lines.index("Figures") + 2 :][:2]
    score = f"{scope(runs / 'one')['performance']:.3f}"
    assert first.split()[:4] == ["2026-03-01", "08:00", MODEL, score]
    assert (second.split()[0], second.split()[-1]) == ("2026-03-02", "1")
    assert f"  {runs / 'torn'}: run.json cannot be read: it is torn or damaged" in lines
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    assert len(soup.select("#section-1 ~ .plots figure svg")) == 3
    assert CHANGE in soup.text
    assert "torn: run.json cannot be read: it is torn or damaged" in soup.text
    assert not soup.select("script[src], link, img")


def test_json_has_runs_panels_and_problems(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = [str(runs / name) for name in ("two", "one", "torn")]
    assert main(["history", *places, "--json=-"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [run["start"][:10] for run in content["runs"]] == ["2026-03-01", "2026-03-02"]
    [panel] = content["panels"]
    points = panel["lines"][0]["points"]
    assert [point["run"] for point in points] == [0, 1]
    for point, name in zip(points, ("one", "two"), strict=True):
        assert point["figures"]["pass_rate"]["value"] == scope(runs / name)["pass_rate"]
    assert points[1]["changes"][0]["kind"] == "parameter"
    assert len(content["problems"]) == 1


def test_without_any_run_one_line_says_why(
    runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["history", str(runs / "torn"), str(tmp_path)]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "torn: run.json cannot be read: it is torn or damaged" in printed
    assert f"{tmp_path}: contains no run folder" in printed


# A branch of a repository


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def repository(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose branch `runs` has the folders; its working tree has none."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "begin")
    git(tmp_path, "checkout", "--quiet", "-b", "runs")
    shutil.copytree(runs, tmp_path / "kept" / "nightly runs")
    (tmp_path / "kept" / "link").symlink_to("nightly runs/one/run")
    (tmp_path / "kept" / "half").mkdir()
    (tmp_path / "kept" / "half" / "summary.json").write_text("{}", encoding="utf-8")
    git(tmp_path, "add", "--force", "kept")
    git(tmp_path, "commit", "--quiet", "-m", "runs")
    git(tmp_path, "checkout", "--quiet", "main")
    shutil.rmtree(tmp_path / "kept", ignore_errors=True)  # git keeps no empty folders
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("place", ["git:runs", "git:runs:kept", "git:runs:kept/nightly runs/"])
def test_runs_on_a_branch_are_those_on_disk(
    repository: Path, runs: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for source in (place, str(runs)):
        assert main(["history", source, "--json=-"]) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0]["panels"] == outputs[1]["panels"]
    assert [run["place"] for run in outputs[0]["runs"]] == [
        f"git:runs:kept/nightly runs/{name}/run" for name in ("one", "two")
    ]
    faults = ["git:runs:kept/nightly runs/torn: run.json cannot be read: it is torn or damaged"]
    if "nightly" not in place:
        faults.insert(0, "git:runs:kept/half: no run.json, so it is not shown")
    assert outputs[0]["problems"] == faults


def test_a_branch_of_origin_and_faults_of_places(
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A clone has the branch `runs` only as `origin/runs`."""
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "--quiet", str(repository), "copy")
    monkeypatch.chdir(clone / "copy")
    places = [
        "git:runs:kept/nightly runs",
        "git:nowhere",
        "git:runs:no",
        "git:-x",
        "git:",
        "git:main",
    ]
    assert main(["history", *places, "--json=-"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert len(content["runs"]) == 2
    assert content["problems"][1:] == [
        "git:nowhere: the repository here has no such branch",
        "git: the branch has no folder no",
        "git:-x: name a branch, as in git:main:runs",
        "git:: name a branch, as in git:main:runs",
        "git:main: contains no run folder",
    ]


def test_outside_a_repository_git_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert main(["history", "git:main"]) == 2
    assert "not a git repository" in capsys.readouterr().err
