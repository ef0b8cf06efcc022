"""`tablebench doctor`: a line for each part, and exit code 1 if no run is possible."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.commands.doctor import key_variables, litellm_finding
from pytest_tablebench.models.model_table import TESTED

PARTS = [
    "python",
    "pytest",
    "litellm",
    "keys",
    "store",
    "retirement",
    "data",
    "sandbox",
    "pictures",
    "local",
    "network",
]


@pytest.fixture
def folders(tmp_path):
    return ["--bench-data", str(tmp_path / "data"), "--bench-store", str(tmp_path / "answers")]


def test_doctor_checks_each_part_and_shows_no_key(folders, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown-4711")
    assert main(["doctor", *folders, "--json=-"]) == 0
    printed = capsys.readouterr().out
    findings = json.loads(printed)
    assert list(findings) == PARTS
    assert findings["data"]["state"] == "-"  # only the three embedded datasets
    assert "openai (OPENAI_API_KEY)" in findings["keys"]["text"]
    assert "4711" not in printed
    assert findings["store"]["text"].startswith("0 answers in")


def test_doctor_names_failing_parts_and_checks_the_others(tmp_path, folders, capsys, monkeypatch):
    (tmp_path / "answers").write_text("no folder")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert main(["doctor", *folders]) == 1
    _, *lines, _, last = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.split()[1] == "NO"] == ["pytest", "store"]
    assert [line.split()[0] for line in lines] == PARTS
    assert last == "Fix before a run: pytest, store."


def test_a_litellm_release_that_is_not_tested_is_reported():
    tested = f"{TESTED[0][0]}.{TESTED[0][1]}.0"
    assert litellm_finding(tested) == ("ok", f"{tested}; it imports")
    state, text = litellm_finding("99.1.0")
    assert state == "-"
    assert text.startswith("99.1.0; it imports. litellm 99.1.0 makes all calls itself")


def test_key_variables_are_mapped_to_providers():
    environment = {
        "ANTHROPIC_API_KEY": "k",
        "AWS_ACCESS_KEY_ID": "k",
        "OPENAI_API_KEY": "  ",
        "MY_API_KEY": "k",
    }
    assert key_variables(environment, iter(["openai", "anthropic"])) == {
        "ANTHROPIC_API_KEY": "anthropic",
        "AWS_ACCESS_KEY_ID": "bedrock",
    }
