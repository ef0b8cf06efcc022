"""Commands load the parts that extensions and a conftest.py register."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from tests.support.own_folders import write_folder

SERIALIZER = """
def pytest_tablebench_register_serializer(register):
    register({name!r}, lambda table: str(table.header))
"""
USES = {
    "tablebench.toml": '[defaults]\nserializers = ["{name}"]\n',
    "prices.csv": "product,price\ntea,2\n",
    "questions.csv": "table,question,answer\nprices.csv,What does tea cost?,2\n",
}


def write_using(folder: Path, name: str) -> Path:
    return write_folder(folder, {file: text.replace("{name}", name) for file, text in USES.items()})


def test_commands_load_the_conftest_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_using(tmp_path / "mine", "first_cells")
    assert main(["check", "mine"]) != 0
    assert "first_cells" in capsys.readouterr().out
    (tmp_path / "conftest.py").write_text(SERIALIZER.format(name="first_cells"), encoding="utf-8")
    assert main(["check", "mine"]) == 0
    assert main(["list"]) == 0
    assert " first_cells" in capsys.readouterr().out


def test_commands_load_installed_extensions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = tmp_path / "packages"
    info = packages / "shouting-1.0.dist-info"
    info.mkdir(parents=True)
    (packages / "shouting_plugin.py").write_text(SERIALIZER.format(name="shout"), encoding="utf-8")
    metadata = "Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n"
    (info / "METADATA").write_text(f"{metadata}Requires-Dist: pytest_tablebench>=0.1\n", "utf-8")
    (info / "entry_points.txt").write_text("[pytest11]\nshouting = shouting_plugin\n", "utf-8")
    monkeypatch.syspath_prepend(str(packages))
    monkeypatch.chdir(tmp_path)
    write_using(tmp_path / "mine", "shout")
    assert main(["check", "mine"]) == 0


@pytest.mark.parametrize("text", ["import no_such_module\n", "raise SystemExit(3)\n"])
def test_a_conftest_that_cannot_be_loaded_is_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conftest.py").write_text(text + SERIALIZER.format(name="x"), encoding="utf-8")
    assert main(["list"]) == 0
    assert "conftest.py: cannot be loaded" in capsys.readouterr().err


def test_a_conftest_without_our_hooks_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conftest.py").write_text("raise RuntimeError('was run')\n", encoding="utf-8")
    assert main(["list"]) == 0
    assert capsys.readouterr().err == ""
