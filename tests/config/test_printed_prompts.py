"""--bench-prompts: which folders are read, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.config.papers import PLACEHOLDERS, PrintedPrompts, filled
from pytest_tablebench.config.settings import read_settings
from pytest_tablebench.datasets.realhitbench._prompts import FORMS
from pytest_tablebench.errors import SettingsError


def prompts(folder: Path, **texts: str | bytes) -> PrintedPrompts | None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        data = text if isinstance(text, bytes) else text.encode()
        (folder / f"{name}.txt").write_bytes(data)
    return read_settings({"bench_prompts": folder.name}.get, folder.parent).prompts


def test_every_kind_of_question_has_a_name() -> None:
    kinds = {name.lower().replace(" ", "_") for name in FORMS}
    assert {name for name, known in PLACEHOLDERS.items() if known and "table" in known} == {
        *kinds,
        "treethinker_tree",
    }
    assert {f"treethinker_{kind}" for kind in kinds} < PLACEHOLDERS.keys()


def test_the_digest_is_that_of_names_and_texts(tmp_path: Path) -> None:
    first = prompts(tmp_path / "a", tcot="Think.", pot="Write {code}.")
    again = prompts(tmp_path / "b", pot="Write {code}.\n", tcot="\ufeffThink.")
    other = prompts(tmp_path / "c", tcot="Think!", pot="Write {code}.")
    assert str(first) == str(again) != str(other)
    assert str(first).endswith(" (pot, tcot)")


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("fact_chekcing", "x", "unknown prompt 'fact_chekcing'; did you mean 'fact_checking'"),
        ("fact_checking", "", "fact_checking.txt is empty"),
        ("fact_checking", b"\xff", "fact_checking.txt cannot be read: it is not UTF-8"),
        ("fact_checking", "x" * 100_001, "has more than 100,000 characters"),
        ("fact_checking", "{table}", r"a part of \{question\} and \{table\}: it needs all"),
        ("fact_checking", "{table} {qestion}", r"has the placeholder \{qestion\}; it may have"),
        ("treethinker_tree", "{question}", r"the placeholder \{question\}; it may have \{table\}"),
    ],
)
def test_a_fault_is_named_with_its_file(
    tmp_path: Path, name: str, text: str | bytes, fault: str
) -> None:
    with pytest.raises(SettingsError, match=fault):
        prompts(tmp_path / "mine", **{name: text})


def test_a_folder_without_a_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="contains no prompt"):
        prompts(tmp_path / "empty")
    with pytest.raises(SettingsError, match="is not a folder"):
        read_settings({"bench_prompts": "nowhere"}.get, tmp_path)


def test_values_are_not_filled_in_twice() -> None:
    values = {"table": "{question}", "question": "Who?"}
    assert filled("{table}, {question} {{table}} {Other} {}", values) == (
        "{question}, Who? {table} {Other} {}"
    )
