"""The suites of the package: where pytest finds them, and the commands that name them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pytest_tablebench.commands.outputs import check_and_run
from pytest_tablebench.util import programs
from pytest_tablebench.util.programs import located, module_name

ROOT = Path(__file__).parents[2]


def test_the_printed_command_for_a_folder_names_its_suite() -> None:
    check, command = check_and_run(Path("my data"))
    assert check == "check: tablebench check 'my data'"
    words = shlex.split(command.removeprefix("run: "))
    named = "pytest_tablebench.suites.test_own"
    assert words == ["pytest", "--pyargs", named, "--bench-data=my data"]


@pytest.mark.parametrize(
    ("argument", "meant"),
    [
        ("pytest_tablebench.suites", "suites"),
        ("pytest_tablebench.suites.test_own", "suites/test_own.py"),
        (
            "pytest_tablebench.suites.test_own::test_own[a.b-c]",
            "suites/test_own.py::test_own[a.b-c]",
        ),
    ],
)
def test_in_a_checkout_suite_names_are_paths_next_to_the_package(argument: str, meant: str) -> None:
    assert located(argument) == f"{ROOT}/{meant}"


@pytest.mark.parametrize(
    "argument", ["--pyargs", "other.suites", "pytest_tablebench.suites_of_mine"]
)
def test_other_arguments_are_unchanged(argument: str) -> None:
    assert located(argument) == argument


def test_in_an_installed_package_suite_names_are_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest_tablebench/suites").mkdir(parents=True)
    monkeypatch.setattr(programs, "_PACKAGE", tmp_path / "pytest_tablebench")
    assert located("pytest_tablebench.suites") == "pytest_tablebench.suites"


def test_only_suites_of_the_package_have_a_module_name() -> None:
    assert module_name(ROOT / "suites/test_own.py") == "pytest_tablebench.suites.test_own"
    assert module_name(ROOT / "suites/notes.txt") is None
    assert module_name(ROOT / "tests/test_own.py") is None


def test_the_suggested_command_for_a_data_folder_runs_only_that_folder(
    pytester: pytest.Pytester,
) -> None:
    shop = pytester.path / "shop"
    shop.mkdir()
    (shop / "prices.csv").write_text("product,price\ntea,3\n", encoding="utf-8")
    (shop / "questions.csv").write_text(
        "table,question,answer\nprices.csv,What does tea cost?,3\n", encoding="utf-8"
    )
    plain = str(pytester.makepyfile(test_plain="def test_plain(): pass"))
    small = ["--bench-serializer=csv", "--bench-perturbation=none", "--bench-store=none"]
    lines = run(pytester, plain, "--bench-data=shop", *small).outlines
    [place] = [n for n, line in enumerate(lines) if line.startswith("no case was asked: ")]
    words = shlex.split(lines[place + 1])
    assert words[:3] == ["pytest", "--pyargs", "pytest_tablebench.suites.test_own"]
    lines = run(pytester, *words[1:], "-rN").outlines
    assert "tablebench: 1 case; grid 1 serializer x 1 perturbation" in lines
    # Without a path the folder's plain test runs, and of the suites only the one for own folders.
    lines = run(pytester, "--bench-data=shop", *small, "--collect-only", "-q").outlines
    assert [line for line in lines if "::" in line] == [
        "test_plain.py::test_plain",
        "test_own.py::test_own[shop-2-csv-none]",
    ]


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def test_the_suggested_command_without_a_suite_runs_as_printed(
    pytester: pytest.Pytester,
) -> None:
    plain = str(pytester.makepyfile(test_plain="def test_plain(): pass"))
    # No case of this perturbation is collected unless the option names it.
    small = ["--bench-limit=4", "--bench-serializer=csv", "--bench-perturbation=synonym_names"]
    result = run(pytester, plain, "--model", "tablebench/lexical", *small)
    assert result.ret == 0
    lines = result.outlines
    [place] = [n for n, line in enumerate(lines) if line.startswith("no case was asked: ")]
    words = shlex.split(lines[place + 1])
    assert words[:3] == ["pytest", "--pyargs", "pytest_tablebench.suites"]
    assert set(words[3:]) == {"--bench-model=tablebench/lexical", *small}
    lines = run(pytester, *words[1:], "--bench-dataset=starter_zh", "-rN", "-v").outlines
    again = next(line for line in lines if line.startswith("run it again: "))
    # A case of that run is wrong, and the printed command repeats it.
    words = shlex.split(again.removeprefix("run it again: ").partition(" (all")[0])
    assert "1 failed" in run(pytester, *words[1:]).outlines[-1]


def test_the_command_that_repeats_a_case_keeps_the_settings_file(
    pytester: pytest.Pytester,
) -> None:
    settings = (
        '[tool.pytest.ini_options]\nbench_shots = "2"\nbench_gate = "starter.performance >= 0.99"\n'
    )
    pytester.makepyprojecttoml(settings)
    named = ("--pyargs", "pytest_tablebench.suites.test_starter")
    lines = run(pytester, *named, "--bench-limit=4", "--bench-store=none", "-rN", "-v").outlines
    again = next(line for line in lines if line.startswith("run it again: "))
    words = shlex.split(again.removeprefix("run it again: ").partition(" (all")[0])
    result = run(pytester, *words[1:])
    lines = result.outlines
    assert "1 failed" in lines[-1]
    assert f"rootdir: {pytester.path}" in lines
    assert any("shots 2" in line for line in lines)
    assert any("starter.performance >= 0.99" in line for line in lines)
    assert result.ret != 0


ONE_CASE = (
    *("--bench-dataset=starter", "--bench-limit=1"),
    *("--bench-serializer=csv", "--bench-perturbation=none"),
)
MARKED = """
import pytest

@pytest.mark.tablebench("starter")
def test_here(case, answer):
    pass
"""


def collected(pytester: pytest.Pytester, *arguments: str) -> list[str]:
    lines = run(pytester, "--collect-only", "-q", *arguments).outlines
    return [line for line in lines if "::" in line]


def test_the_suites_run_in_a_folder_without_tests_that_use_a_dataset(
    pytester: pytest.Pytester,
) -> None:
    named = collected(pytester, "--pyargs", "pytest_tablebench.suites", *ONE_CASE)
    assert named == ["test_starter.py::test_starter[fin-01-lookup-1-csv-none]"]
    assert collected(pytester, *ONE_CASE) == named
    pytester.makepyfile(test_plain="def test_plain(): pass")
    assert collected(pytester, *ONE_CASE) == ["test_plain.py::test_plain", *named]


@pytest.mark.parametrize(
    ("files", "arguments"),
    [
        ({"test_here.py": MARKED}, [*ONE_CASE]),
        ({"test_here.py": MARKED}, [*ONE_CASE, "-k", "other"]),
        ({"test_here.py": "import no_such_module"}, [*ONE_CASE]),
        ({"test_here.py": "def test_here(case): pass"}, [*ONE_CASE]),
        ({"test_here.py": ""}, [*ONE_CASE, "test_here.py"]),
        ({"pytest.ini": "[pytest]\ntestpaths = tests\n"}, [*ONE_CASE]),
        ({"pytest.ini": "[pytest]\naddopts = --bench-dataset=starter\n"}, []),
    ],
    ids=["marked", "deselected", "import-error", "no-marker", "path", "testpaths", "no-option"],
)
def test_the_suites_do_not_run_where_other_tests_are_meant(
    pytester: pytest.Pytester, files: dict[str, str], arguments: list[str]
) -> None:
    for name, text in files.items():
        (pytester.path / name).write_text(text, encoding="utf-8")
    assert not [line for line in collected(pytester, *arguments) if "test_starter" in line]
