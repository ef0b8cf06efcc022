"""A dataset of files in a few lines, and datasets registered by their folder."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

import pytest_tablebench.datasets
import pytest_tablebench.datasets.torr
from pytest_tablebench.datasets import (
    Example,
    FileDataset,
    Opened,
    PoolFiles,
    built_in_benchmarks,
    built_in_datasets,
)
from pytest_tablebench.datasets.files import BadRowError, text_field
from pytest_tablebench.datasets.pull._pull import known_sources
from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.tables.table import Table


class Boats(FileDataset[Example]):
    """Questions about boats, in a JSON list."""

    name = folder = "boats"
    get = "tablebench pull boats"
    benchmark = "harbours"
    metric = "exact_match"
    test = ("test.json",)
    pools: tuple[PoolFiles, ...] = (
        PoolFiles(("train.json",)),
        PoolFiles(("dev.json",), "from the small file"),
    )
    others = ("names.txt",)
    folders = ("tables",)
    notes = ("always said",)
    instruction = "Answer {question}"
    source = "{table}|{question}"
    target_prefix = "> "
    fixed_chain = ("lower_case",)

    def rows(self, opened: Opened, files: tuple[str, ...]) -> list[Example]:
        content = opened.json(files[0], list, "a list of objects")
        return list(opened.usable(files[0], content, build))


def build(item: object) -> Example | None:
    question = text_field(item, "question")
    if question == "later":
        return None
    if question == "never":
        raise BadRowError("question", "is never asked")
    inputs = {"table": Table(["A"], [["1"]]), "question": question}
    return Example(text_field(item, "id"), inputs, question, ("yes",), "yes", cluster="t1")


ROWS = (
    '[{"id": "a", "question": "one {x}"}, {"id": "a", "question": "two"}, 7, {"id": "b"},'
    ' {"id": "c", "question": "never"}, {"id": "d", "question": "later"},'
    ' {"id": "e", "question": "last"}]'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "data" / "boats"
    (found / "tables").mkdir(parents=True)
    (found / "names.txt").write_text("Wren")
    (found / "test.json").write_text(ROWS)
    (found / "train.json").write_text('[null, {"id": "p", "question": "shown"}]')
    return found


def test_bad_rows_are_reported_with_file_and_row(folder: Path) -> None:
    source = Boats().open(folder)
    problems = [
        "test.json, row 2, field 'id': 'a' occurs a second time",
        "test.json, row 3, field 'row': must be an object, not int",
        "test.json, row 4, field 'question': is missing",
        "test.json, row 5, field 'question': is never asked",
    ]
    # The pool is read when it is needed, and rows are counted once.
    for _ in range(2):
        assert source.example_ids(None) == ["a", "e"]
        assert list(map(str, source.problems)) == problems
    problems.append("train.json, row 1, field 'row': must be an object, not NoneType")
    for _ in range(2):
        assert [source.pool[index].id for index in range(len(source.pool))] == ["p"]
        assert list(map(str, source.problems)) == problems


def test_files_are_recorded_by_digest_and_a_substitute_pool_by_a_note(folder: Path) -> None:
    def digest(name: str) -> str:
        return hashlib.sha256((folder / name).read_bytes()).hexdigest()

    facts = Boats().open(folder).facts
    assert facts.files == {name: digest(name) for name in ("test.json", "train.json", "names.txt")}
    assert facts.notes == ("always said",)
    (folder / "train.json").rename(folder / "dev.json")
    facts = Boats().open(folder).facts
    assert list(facts.files) == ["test.json", "dev.json", "names.txt"]
    assert facts.notes == ("always said", "from the small file")


def test_only_placeholders_of_the_prompt_template_are_filled(
    folder: Path,
) -> None:
    example = Boats().open(folder).example("a")
    parts = Boats().prompt(example, lambda table: f"<{table.header[0]}>")
    assert parts.instruction == "Answer one {x}"
    assert (parts.source, parts.target_prefix) == ("<A>|one {x}", "> ")


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("test.json", r"lacks test\.json \(it contains else, names.*\): .* or another dataset's"),
        ("names.txt", "lacks names.txt"),
        ("train.json", "lacks dev.json"),
        ("tables", "lacks the folder tables"),
    ],
)
def test_missing_files_are_named_with_the_command(folder: Path, gone: str, said: str) -> None:
    (folder / gone).rename(folder / "else")
    with pytest.raises(DataError, match=said) as error:
        Boats().open(folder)
    assert not isinstance(error.value, DataMissing)
    command = f"tablebench pull boats --bench-data={folder.parent}"
    assert str(error.value).endswith(f"get it with: {command}")
    with pytest.raises(DataMissing, match=r"no data in .*; get it with: tablebench pull boats"):
        Boats().open(folder.parent / "nowhere")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{}", r"must contain a list of objects, not a dict; is this Boats\?"),
        (b"null", "must contain a list of objects, not a NoneType"),
        (b'[{"a": [1', "not valid JSON: .*line 1 column"),
        (b"", "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'[{"\xff": 1}]', r"not UTF-8 text \(byte 3\)"),
    ],
    ids=["object", "null", "cut-off", "empty", "deep", "latin-1"],
)
def test_a_file_that_is_no_dataset_is_refused(folder: Path, content: bytes, said: str) -> None:
    (folder / "train.json").write_bytes(content)
    source = Boats().open(folder)
    with pytest.raises(DataError, match=rf"train\.json: .*{said}"):
        _ = source.pool
    (folder / "test.json").write_bytes(content)
    with pytest.raises(DataError, match=rf"test\.json: .*{said}"):
        Boats().open(folder)


def test_without_demonstration_files_there_are_no_demonstrations(folder: Path) -> None:
    class Alone(Boats):
        pools = (PoolFiles(()),)

    (folder / "train.json").unlink()
    source = Alone().open(folder)
    assert len(source.pool) == 0
    assert list(source.facts.files) == ["test.json", "names.txt"]


NEW = """
from pytest_tablebench.datasets import TableQuestions

DATASETS = (TableQuestions({name!r}, ()),)
"""


SOURCE = """
from pytest_tablebench.datasets.pull._upstream import upstream_of

DATASETS[0].upstream = upstream_of(
    "newest",
    {"host": "hub", "repository": "a/b", "revision": "main", "licence": "MIT", "files": ["a.json"]},
)
"""


def modules(prefix: str) -> set[str]:
    return {name for name in sys.modules if name.startswith(prefix)}


@pytest.fixture
def _fresh_modules():
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.usefixtures("_fresh_modules")
def test_a_file_in_a_benchmarks_folder_is_a_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [dataset.name for dataset in built_in_datasets()]
    (tmp_path / "newest.py").write_text(NEW.format(name="newest") + SOURCE)
    (tmp_path / "_shared.py").write_text("raise RuntimeError('no dataset')")
    torr = pytest_tablebench.datasets.torr
    monkeypatch.setattr(torr, "__path__", [*torr.__path__, str(tmp_path)])
    found = [dataset.name for dataset in built_in_datasets()]
    assert sorted(found) == sorted([*known, "newest"])
    # `tablebench pull` finds it too.
    assert known_sources(built_in_datasets())["newest"].serves == ("newest",)


@pytest.mark.usefixtures("_fresh_modules")
def test_a_folder_with_a_benchmark_registers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = "from pytest_tablebench.datasets import Benchmark\nBENCHMARK = Benchmark('harbours')\n"
    known = built_in_benchmarks()
    for name, text in (("harbours", fact), ("plain", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
        (tmp_path / name / "boats.py").write_text(NEW.format(name=f"{name}-boats"))
    room = pytest_tablebench.datasets
    monkeypatch.setattr(room, "__path__", [*room.__path__, str(tmp_path)])
    assert [one.name for one in built_in_benchmarks()] == [*(one.name for one in known), "harbours"]
    assert {"starter", "torr", "treb"} <= {one.name for one in known}
    assert not modules("pytest_tablebench.datasets.harbours.")
    names = [dataset.name for dataset in built_in_datasets()]
    assert "harbours-boats" in names
    assert "plain-boats" not in names
    assert {"starter", "wikitq", "finqa", "finqa_text", "tablebench_da"} < set(names)
