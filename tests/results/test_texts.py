"""The texts of a run folder: each once, and readable after a crash."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.texts import (
    BLOCK_LINES,
    ExampleText,
    PromptText,
    TextWriter,
    example_key,
    read_texts,
)

TABLE: dict[str, Any] = {"title": "T", "header": ["a", "b"], "rows": [[1, None], ["x", True]]}


def write(path: Path, *prompts: str) -> None:
    writer = TextWriter(path)
    for text in prompts:
        writer.prompt(text, f"prompt {text}")
    writer.close()


def digests(path: Path) -> list[str]:
    return [text.digest for text in read_texts(path) if isinstance(text, PromptText)]


def test_prompts_and_examples_are_read_back_in_order(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path / "t.gz")
    writer.prompt("d1", "What?")
    writer.example(example_key("wikitq", "nu-1", "none"), "How many?", [TABLE])
    writer.close()
    prompt, example = read_texts(tmp_path / "t.gz")
    assert prompt == PromptText("d1", "What?")
    assert example == ExampleText("wikitq/nu-1/none", "How many?", (TABLE,))


def test_a_text_is_written_once_even_over_several_runs(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    write(path, "a", "b", "a")
    write(path, "b", "c")
    assert digests(path) == ["a", "b", "c"]


def test_a_prompt_and_an_example_with_the_same_name_are_two_texts(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path / "t.gz")
    writer.prompt("same", "p")
    writer.example("same", "q", [])
    writer.close()
    assert len(list(read_texts(tmp_path / "t.gz"))) == 2


def test_nothing_is_written_before_the_first_text(tmp_path: Path) -> None:
    TextWriter(tmp_path / "t.gz").close()
    assert not (tmp_path / "t.gz").exists()
    assert list(read_texts(tmp_path / "t.gz")) == []


def test_an_existing_file_is_unchanged_before_the_first_text(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    write(path, "a")
    path.write_bytes(path.read_bytes() + b"torn")
    before = path.read_bytes()
    TextWriter(path).close()
    assert path.read_bytes() == before


def test_any_gzip_tool_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    write(path, "a")
    write(path, "b")
    with gzip.open(path, "rt", encoding="ascii") as lines:
        assert [json.loads(line)["id"] for line in lines] == ["a", "b"]


def test_blocks_are_written_during_the_run(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path / "t.gz")
    for number in range(BLOCK_LINES + 1):
        writer.prompt(str(number), "x")
    assert len(digests(tmp_path / "t.gz")) == BLOCK_LINES
    writer.close()
    assert len(digests(tmp_path / "t.gz")) == BLOCK_LINES + 1


def test_a_truncated_file_is_read_to_its_last_whole_block_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    write(path, "a", "b")
    first = path.stat().st_size
    write(path, "c")
    whole = path.read_bytes()
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        kept = ["a", "b"] * (end >= first) + ["c"] * (end == len(whole))
        assert digests(path) == kept, end
        write(path, "a", "c", "d")
        assert digests(path) == [*kept, *(n for n in "acd" if n not in kept)], end


def test_garbage_after_a_crash_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    write(path, "a")
    path.write_bytes(path.read_bytes() + bytes(700))
    assert digests(path) == ["a"]
    write(path, "b")
    assert digests(path) == ["a", "b"]


@given(
    st.text(st.characters(codec=None, exclude_categories=()), max_size=60),
    st.lists(
        st.one_of(st.text(max_size=8), st.integers(), st.floats(), st.booleans(), st.none()),
        max_size=4,
    ),
)
def test_any_text_and_cell_is_read_back(tmp_path_factory: Any, text: str, cells: list[Any]) -> None:
    path = tmp_path_factory.mktemp("texts") / "t.gz"
    writer = TextWriter(path)
    writer.prompt("d", text)
    writer.example("e", text, [{"title": text, "header": [text], "rows": [cells]}])
    writer.close()
    prompt, example = read_texts(path)
    assert isinstance(prompt, PromptText)
    assert prompt.text == text
    assert isinstance(example, ExampleText)
    assert (example.question, example.tables[0]["title"]) == (text, text)
    assert repr(example.tables[0]["rows"]) == repr([cells])  # NaN does not equal itself
    assert gzip.decompress(path.read_bytes()).isascii()


def test_strange_cells_become_text(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path / "t.gz")
    writer.example("e", "q", [{"header": ("a",), "rows": ((1 + 2j, ["in", "side"]),)}])
    writer.close()
    [example] = read_texts(tmp_path / "t.gz")
    assert isinstance(example, ExampleText)
    assert example.tables == (
        {"title": None, "header": ["a"], "rows": [["(1+2j)", ["in", "side"]]]},
    )


def test_lines_that_are_no_texts_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    lines = [
        "[1]",
        "no json",
        '{"kind": "song", "id": "x"}',
        '{"kind": "prompt", "id": 7}',
        "[" * 100_000,
        '{"kind": "example", "id": "e", "tables": [3, {"header": 1, "rows": []}]}',
        *(
            '{"kind": "example", "id": "e", "tables": '
            f'[{{"header": [], "rows": [], "structure": {structure}}}]}}'
            for structure in ("1", '{"notes": [1]}', '{"spans": [[0, 0, -1, 1]]}')
        ),
        '{"schema": 1, "kind": "prompt", "id": "p", "text": "t"}',
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert list(read_texts(path)) == [*[ExampleText("e", "", ())] * 4, PromptText("p", "t")]


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(b'{"schema": 99, "kind": "prompt", "id": "p", "text": ""}\n'))
    with pytest.raises(SettingsError, match="schema 99"):
        list(read_texts(path))
