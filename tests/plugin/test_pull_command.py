"""`tablebench pull`, and pytest on the pulled files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.pull import File
from pytest_tablebench.datasets.pull._upstream import matches
from pytest_tablebench.results import read_facts, read_records
from pytest_tablebench.running.builtins import builtin_registry
from tests.support import upstream
from tests.support.pulls import UPSTREAM
from tests.support.slices import ROOT, needs_slices
from tests.support.upstream_server import Fault, UpstreamServer, tarball

FINQA = {
    f"dataset/{split}.json": b"[" + b"1" * 300_000 + b"]" for split in ("train", "dev", "test")
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[UpstreamServer]:
    """A server in place of GitHub, with small datasets."""
    for name in list(os.environ):
        if name.upper().endswith("_PROXY") or name.startswith(("HF_", "TABLEBENCH_")):
            monkeypatch.delenv(name)
    wikitq = upstream.read(upstream.wikitq(tmp_path / "upstream/wikitq"))
    wikitq["data/random-split-1-dev.tsv"] = wikitq["data/random-split-1-train.tsv"]
    tabfact = upstream.read(upstream.tabfact(tmp_path / "upstream/tabfact"))
    tabfact["tokenized_data/val_examples.json"] = b"{}"
    with UpstreamServer() as running:
        running.archive("ppasupat/WikiTableQuestions", "master", tarball(wikitq))
        running.archive("wenhuchen/Table-Fact-Checking", "master", tarball(tabfact))
        running.github("czyssrs/FinQA", UPSTREAM["finqa"].revision, FINQA)
        monkeypatch.setenv("TABLEBENCH_GITHUB_ENDPOINT", running.url)
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def test_pytest_runs_on_pulled_files(
    server: UpstreamServer, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    data = pytester.path / "data"
    assert main(["pull", "wikitq", "tabfact", "--bench-data", str(data)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "wikitq: licence CC BY-SA 4.0, https://creativecommons.org/licenses/by-sa/4.0/" in (
        printed.out
    )
    pytester.makepyfile(upstream.SUITE)
    (pytester.path / "gull.jsonl").write_text('{"default": "Gull"}\n', encoding="utf-8")
    result = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "--model", "tablebench/scripted:gull.jsonl", "--bench-data",
        "data", "--bench-results", "run", "--bench-serializer", "csv", "--bench-perturbation",
        "none", "--bench-shots", "1", "--bench-dataset", "wikitq",
    )  # fmt: skip
    # The model answers Gull to both questions and is right once.
    assert result.parseoutcomes() == {"passed": 1, "failed": 1, "deselected": 1}
    assert {record.dataset for record in read_records(pytester.path / "run")} == {"wikitq"}
    assert read_facts(pytester.path / "run").entries["datasets"]["wikitq"]["problems"] == []


def test_list_names_the_pull_command_until_the_files_exist(
    server: UpstreamServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"

    def line(name: str) -> str:
        assert main(["list", "--bench-data", str(data)]) == 0
        lines = capsys.readouterr().out.splitlines()
        [matching] = [text for text in lines if text.startswith(f"  {name} ")]
        return matching

    command = line("wikitq").partition("get it with: ")[2]
    assert command == f"tablebench pull wikitq --bench-data={data}"
    assert main(command.split()[1:]) == 0
    capsys.readouterr()
    assert line("wikitq").endswith("installed")
    assert "tablebench pull tabfact" in line("tabfact")


def test_a_failed_pull_is_reported_in_one_line(
    server: UpstreamServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.always("test.json", Fault(status=404, headers={"X-Note": "none"}))
    assert main(["pull", "finqa", "--bench-data", str(tmp_path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("tablebench: finqa: ")
    assert str(tmp_path / "finqa/dataset/test.json") in line
    assert f"{server.url}/czyssrs/FinQA/raw/" in line


@needs_slices()
@pytest.mark.parametrize("name", sorted(UPSTREAM.keys() - {"treb"}))  # no slice has that one
def test_every_dataset_opens_on_its_pulled_files(
    server: UpstreamServer, tmp_path: Path, name: str
) -> None:
    """The table of sources names the files that the readers need."""
    source = UPSTREAM[name]
    slices = upstream.read(ROOT / name)
    files: dict[str, bytes] = {}
    for file in source.files:
        matching = {path: text for path, text in slices.items() if matches(path, file.target)}
        if not matching and "*" in file.target:  # pictures
            matching = {file.target.replace("*", "none"): b""}
        elif not matching and not file.optional:
            # The slices lack some training files; files of another split replace them.
            other = next(
                split
                for split in ("dev", "val", "test", "final", "test_gold")
                if stand_in(file, split) in slices
            )
            matching = {file.target: slices[stand_in(file, other)]}
        files |= {upstream_path(file, path): text for path, text in matching.items()}
    if source.host == "github_archive":
        server.archive(source.repository, source.revision, tarball(files))
    elif source.host == "github":
        server.github(source.repository, source.revision, files)
    else:
        server.hub(source.repository, files)
    assert main(["pull", name, "--bench-data", str(tmp_path)]) == 0
    datasets = [
        dataset
        for dataset in builtin_registry().datasets.values()
        if dataset.folder == name and dataset.fetch
    ]
    for dataset in datasets:
        opened = dataset.open(tmp_path / name)
        assert len(opened.example_ids(1)) == 1
    assert datasets or name == "finqa"


def upstream_path(file: File, path: str) -> str:
    if file.local.endswith("/"):
        return path.removeprefix(file.local)
    return f"{file.path.removesuffix(file.target)}{path}" if file.local else path


def stand_in(file: File, split: str) -> str:
    return re.sub("train|dev|long", split, file.target)
