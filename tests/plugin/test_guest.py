"""Runs without cases: the plugin shows, loads and writes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("litellm", "pandas", "numpy", "spacy", "scipy", "tenacity", "openpyxl", "bs4")
DATASETS = ("pytest_tablebench.datasets._base", "pytest_tablebench.datasets.pull._pull")
"""Every run knows the names of the benchmarks; only runs with cases load their datasets."""
ROOMS = (
    *("audit", "claims", "documents", "executors", "generate", "metrics", "models", "papers"),
    *("reports", "results", "sandbox", "serializers", "store", "strategies", "tables"),
)
UNUSED = HEAVY + DATASETS + tuple(f"pytest_tablebench.{room}" for room in ROOMS)
SPY = f"""
import json, os, sys
from pathlib import Path

started = []
sys.addaudithook(
    lambda event, found: started.append(str(found[1])) if event == "subprocess.Popen" else None
)

def pytest_unconfigure(config):
    name = os.environ.get("PYTEST_XDIST_WORKER", "main")
    loaded = [name for name in {UNUSED!r} if name in sys.modules]
    loaded += [command for command in started if "tablebench" in command]
    Path(os.environ["SPY_FOLDER"], f"{{name}}.json").write_text(json.dumps(loaded))
"""
FOREIGN = """
def test_good():
    pass

def test_bad():
    assert 1 == 2
"""

CONFIGURED = """
[pytest]
bench_model = openai/test-model
bench_api_base = http://127.0.0.1:9/v1
bench_gate = elsewhere.pass_rate >= 0.5
bench_dataset = elsewhere
bench_threshold = elsewhere=0.5
bench_results = runs
bench_stop_when_decided = passes
bench_snapshot = true
"""
"""Ini keys that must not touch a run of other tests."""


@pytest.fixture
def visit(tmp_path, monkeypatch):
    """Return a function that runs pytest over a file without cases.

    It fails if the run writes files, or loads our datasets, heavy libraries or an engine.
    """
    home, project, spied = tmp_path / "home", tmp_path / "project", tmp_path / "spied"
    for folder in (home, project, spied):
        folder.mkdir()
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home))
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        if name == "PYTEST_ADDOPTS":  # which disables plugins
            continue
        monkeypatch.delenv(name)  # these tests may run in a worker
    monkeypatch.setenv("SPY_FOLDER", str(spied))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPATH", str(spied))
    (spied / "spy_plugin.py").write_text(SPY)
    (project / "test_foreign.py").write_text(FOREIGN)
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "configured.ini").write_text(CONFIGURED)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-pspy_plugin", "-pno:cacheprovider", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=project,
            timeout=120,
        )
        assert left_behind(project) == ["configured.ini", "pytest.ini", "test_foreign.py"]
        assert left_behind(home) == []
        loaded = {path.stem: json.loads(path.read_text()) for path in spied.glob("*.json")}
        assert loaded.get("main") == []
        assert not any(loaded.values())
        run.processes = sorted(loaded)  # type: ignore[attr-defined]
        return done

    return run


def left_behind(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


BOTH = "1 failed, 1 passed"


@pytest.mark.parametrize(
    ("options", "code", "output"),
    [
        (["-c", "configured.ini", "-W", "error"], 1, BOTH),
        (["-n1", "-W", "error"], 1, BOTH),
        (["--collect-only", "-q"], 0, "test_foreign.py::test_good\ntest_foreign.py::test_bad\n"),
        (["-k", "nothing"], 5, "2 deselected"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_run_without_our_tests_shows_nothing_of_ours(visit, options, code, output):
    done = visit(*options)
    lines = (done.stdout + done.stderr).splitlines()
    ours = [line for line in lines if "tablebench" in line and not line.startswith("plugins: ")]
    assert ours == []
    assert "wrong" not in done.stdout
    assert done.returncode == code
    assert output in done.stdout
    assert visit.processes == (["gw0", "main"] if "-n1" in options else ["main"])


def test_the_plugin_imports_only_pytest_and_the_standard_library():
    code = (
        "import sys, pytest, pluggy; before = set(sys.modules);"
        "import pytest_tablebench.plugin;"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - sys.stdlib_module_names - {'pytest_tablebench'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


OTHER_OWNER = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--model", help="the car model", default="T")

@pytest.fixture
def car(request):
    return request.config.getoption("--model")
"""


@pytest.mark.parametrize("when", ["plugin", "conftest"])
def test_model_stays_the_option_of_another_plugin(bench, when):
    # Installed plugins are loaded after those of `-p` and before conftest files.
    extra = []
    if when == "plugin":
        (bench.path / "cars.py").write_text(OTHER_OWNER)
        bench.pytester.syspathinsert()
        extra = ["-p", "cars"]
    else:
        bench.adapt(add=OTHER_OWNER)
    bench.suite("def test_car(car):\n    assert car == 'Beetle'\n", name="test_car.py")
    result = bench.run(*extra, "--model=Beetle", "--bench-model=echo/any", "--bench-limit=1")
    result.assert_outcomes(passed=2)
    assert bench.record()["model"] == "echo/any"


def test_the_value_after_model_is_not_a_path(bench):
    # The conftest that adds an option is found by testpaths, as no path is given.
    tests = bench.path / "checks"
    tests.mkdir()
    (bench.path / "test_suite.py").rename(tests / "test_suite.py")
    option = "def pytest_addoption(parser):\n    parser.addoption('--own')\n"
    (tests / "conftest.py").write_text(option)
    bench.pytester.makeini("[pytest]\ntestpaths = checks\n")
    result = bench.run("--model", "echo/any", "--own=x", "--bench-limit=1")
    result.assert_outcomes(passed=1)
    assert bench.record()["model"] == "echo/any"


def test_model_and_bench_model_are_the_same_option(bench):
    bench.run("--bench-model=echo/one", "--model=echo/two", "--bench-limit=1")
    assert sorted(path.name for path in (bench.path / "run").iterdir()) == ["echo-one", "echo-two"]


def test_fixtures_of_the_same_name_in_a_test_file_are_used(bench):
    source = (
        "import pytest\n\n@pytest.fixture\ndef case():\n    return 1\n\n"
        "@pytest.fixture\ndef answer():\n    return 42\n\n"
        "def test_it(case, answer):\n    assert (case, answer) == (1, 42)\n\n"
        "@pytest.mark.parametrize('case', [3])\ndef test_other(case):\n    assert case == 3\n"
    )
    bench.suite(source)
    result = bench.pytester.runpytest_inprocess()
    result.assert_outcomes(passed=2)
    assert "tablebench:" not in result.stdout.str()
    assert not (bench.path / "tablebench-results").exists()


@pytest.fixture
def no_engine(monkeypatch):
    """Fail if an engine starts."""

    def start(*_):
        raise AssertionError("an engine was started")

    monkeypatch.setattr("pytest_tablebench.session._kept_run.Engine", start)


@pytest.mark.parametrize(
    ("how", "selection"),
    [
        ("ini", ["test_foreign.py"]),
        ("ini", ["--collect-only"]),
        ("option", ["-k", "foreign"]),
        ("option", ["-k", "nothing"]),
    ],
)
def test_without_a_selected_case_no_engine_is_started(bench, no_engine, how, selection):
    bench.suite("def test_foreign():\n    pass\n", name="test_foreign.py")
    if how == "ini":
        bench.pytester.makeini("[pytest]\nbench_model = openai/test-model\n")
    options = ["--model=openai/test-model"] if how == "option" else []
    result = bench.pytester.runpytest_inprocess(*options, *selection)
    assert "INTERNALERROR" not in result.stdout.str()
    assert result.ret == (5 if "nothing" in selection else 0)
    shown = how == "option" or "--collect-only" in selection  # there our cases are seen
    assert ("tablebench: model" in result.stdout.str()) == shown
    assert not (bench.path / "tablebench-results").exists()
