"""Option values after a space, which pytest also uses to find its settings file."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.support.toy_bench import Bench

UNDECIDED = 11
"""The exit code of a gate over three examples; without the gate it would be 1."""

GATED = """
[tool.pytest.ini_options]
bench_gate = ["toy.pass_rate >= 0.9"]
bench_model = "echo/any"
bench_serializer = "html"
bench_perturbation = "none"
bench_store = "none"
bench_results = "run"
"""


@pytest.fixture
def gated(bench: Bench) -> Bench:
    """A project whose settings file has a gate that its model fails."""
    (bench.path / "pyproject.toml").write_text(GATED, encoding="utf-8")
    return bench


def command_of(result: pytest.RunResult) -> list[str]:
    """Return the command that the error prints."""
    [line] = [line for line in result.errlines if line.startswith("  pytest ")]
    return shlex.split(line)[1:]


@pytest.mark.parametrize(
    "flag", ["data", "results", "store", "store-readonly", "baseline", "dataset"]
)
def test_a_value_after_a_space_that_loses_the_settings_file_is_refused(
    gated: Bench, tmp_path_factory: pytest.TempPathFactory, flag: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    result = gated.pytester.runpytest_inprocess(f"--bench-{flag}", str(outside), "-q")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line.startswith("ERROR: ")]
    assert line.startswith(f"ERROR: --bench-{flag}: write the value after an equals sign.")
    assert f"would not read {gated.path / 'pyproject.toml'}" in line
    assert command_of(result) == [f"--bench-{flag}={outside}", "-q"]
    assert not (gated.path / "run").exists()


def test_the_printed_command_keeps_the_gate(gated: Bench, tmp_path_factory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    refused = gated.pytester.runpytest_inprocess("-n1", "--bench-data", str(outside))
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert gated.pytester.runpytest_inprocess(*command_of(refused)[1:]).ret == UNDECIDED


def test_a_value_after_a_space_in_addopts_is_refused(
    gated: Bench, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--bench-data {outside}")
    # In a separate process, because it loads all installed plugins.
    result = gated.pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"would not read {gated.path / 'pyproject.toml'}" in result.stderr.str()


@pytest.mark.parametrize(
    "words",
    [("--bench-data", "tables"), ("--bench-data=..",)],
    ids=["a folder inside the project", "an equals sign"],
)
def test_values_that_keep_the_settings_file_are_accepted(
    gated: Bench, words: tuple[str, ...]
) -> None:
    (gated.path / "tables").mkdir()
    assert gated.pytester.runpytest_inprocess(*words).ret == UNDECIDED


def test_the_suites_of_the_package_do_not_move_the_root_folder(gated: Bench) -> None:
    (gated.path / "inside").mkdir()
    suites = ("--pyargs", "pytest_tablebench.suites", "--model", "tablebench/lexical")
    planned = gated.pytester.runpytest_inprocess(*suites, "--bench-data", "inside", "--bench-plan")
    assert "equals sign" not in planned.stderr.str()
    # The gate of the settings file is read: its dataset is unknown to the suites.
    assert "unknown scope 'toy'" in planned.stderr.str()


def test_the_refusal_names_the_settings_file_that_pytest_would_read(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    result = bench.pytester.runpytest_inprocess("--model=echo/any", "--bench-data", str(outside))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"would read {outside / 'pytest.ini'}" in result.stderr.str()


def test_snapshots_of_another_folder_are_refused(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = str(tmp_path_factory.mktemp("outside"))
    options = ["--model=echo/any", "--bench-serializer=html", "--bench-perturbation=none"]
    options += ["--bench-results=run", "--bench-store=none", "--bench-data", outside]
    assert bench.pytester.runpytest_inprocess(*options).ret == pytest.ExitCode.TESTS_FAILED
    result = bench.pytester.runpytest_inprocess(*options, "--bench-snapshot")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "would look for snapshots in " in result.stderr.str()


def test_a_key_in_the_command_is_not_printed(
    gated: Bench, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-marked-4711aaaa")
    outside = str(tmp_path_factory.mktemp("outside"))
    options = ["--bench-param=x=sk-marked-4711aaaa", "--bench-data", outside]
    result = gated.pytester.runpytest_inprocess(*options)
    assert command_of(result) == ["***", f"--bench-data={outside}"]
    assert "sk-marked" not in result.stderr.str()


def test_options_of_pytest_are_accepted_after_a_space(gated: Bench) -> None:
    (gated.path / "sub").mkdir()
    (gated.path / "sub" / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    result = gated.pytester.runpytest_inprocess("--model=echo/any", "--rootdir", "sub")
    assert "write the value after an equals sign" not in result.stderr.str()
    assert Path(gated.path / "run").exists()
