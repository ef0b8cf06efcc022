"""The models in pytest's configuration, found as pytest finds its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.config.project_file import ProjectModel, project_models

TOML = '[tool.pytest.ini_options]\nbench_model = ["a", "b/c"]\naddopts = "-q --bench-judge=j"\n'
INI = "[{section}]\nbench_model =\n    a\n    # a comment\n    b/c\naddopts = -q --bench-judge j\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", INI.format(section="pytest")),
        (".pytest.ini", INI.format(section="pytest")),
        ("tox.ini", INI.format(section="pytest")),
        ("setup.cfg", INI.format(section="tool:pytest")),
        ("pyproject.toml", TOML),
        ("pyproject.toml", TOML.replace(".ini_options", "")),
        ("pytest.toml", TOML.replace("tool.pytest.ini_options", "pytest")),
    ],
)
def test_models_of_each_file_of_pytest(tmp_path: Path, name: str, text: str) -> None:
    below = tmp_path / "some" / "tests"
    below.mkdir(parents=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert project_models(below) == [
        ProjectModel("a", name, "bench_model"),
        ProjectModel("b/c", name, "bench_model"),
        ProjectModel("j", name, "addopts"),
    ]


def test_the_first_file_counts_as_in_pytest(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("", encoding="utf-8")  # counts even without a section
    (tmp_path / "pyproject.toml").write_text(TOML, encoding="utf-8")
    assert project_models(tmp_path) == []
    (tmp_path / "pytest.ini").unlink()
    (tmp_path / "setup.cfg").write_text("[flake8]\n", encoding="utf-8")
    assert [model.name for model in project_models(tmp_path)] == ["a", "b/c", "j"]


@pytest.mark.parametrize("text", ["", "[tool", "\x00", "[tool.pytest]\nbench_model = 3\n"])
def test_a_file_that_says_nothing_names_no_model(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    (tmp_path / "tox.ini").write_text("no section\n[", encoding="utf-8")
    assert project_models(tmp_path) == []
