"""Download of upstream files, against a scripted server on 127.0.0.1."""

from __future__ import annotations

import pytest

from pytest_tablebench.datasets.pull import sources
from pytest_tablebench.datasets.pull._upstream import File, matches
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.running.builtins import builtin_registry
from tests.support.pulls import (
    DIGIT,
    FINQA,
    GATED,
    LOCK,
    QTSUMM,
    TEST,
    UPSTREAM,
    WIKITQ,
    Place,
    sha256,
)
from tests.support.upstream_server import COMMIT, Fault

# A pull that goes well


@pytest.mark.parametrize(
    ("name", "files"), [("finqa", FINQA), ("qtsumm", QTSUMM), ("wikitq", WIKITQ)]
)
def test_files_are_fetched_once_and_only_what_is_wanted(
    place: Place, name: str, files: dict[str, bytes]
) -> None:
    place.pull(name)
    assert place.files(name) == files
    ours = {path.name for path in (place.data / name).iterdir()}
    ours -= {path.partition("/")[0] for path in files}
    assert ours == {LOCK, ".tablebench-pull.busy", "LICENCE-upstream.txt"}
    place.server.forget()
    place.pull(name)
    assert place.server.asked == []
    assert f"already there, {len(files)} files" in place.said[-1]
    assert place.waits == []


@pytest.mark.parametrize(
    ("name", "path", "asked"), [("finqa", TEST, ".json"), ("wikitq", "csv/200-csv/1.tsv", "")]
)
@pytest.mark.parametrize("damage", ["is missing", "has changed"])
def test_a_file_that_is_gone_or_damaged_is_fetched_again(
    place: Place, name: str, path: str, asked: str, damage: str
) -> None:
    place.pull(name)
    before = place.files(name)
    if damage == "is missing":
        (place.data / name / path).unlink()
    else:
        (place.data / name / path).write_bytes(b"damaged")
    place.server.forget()
    place.pull(name)
    assert f"{name}: {path} {damage}; fetching it again" in place.said
    assert len(place.server.downloads(asked)) == 1
    assert place.files(name) == before


def test_the_record_says_what_came_from_where(place: Place) -> None:
    place.pull("wikitq", "qtsumm", "finqa")
    wikitq, finqa = place.lock("wikitq"), place.lock("finqa")
    assert wikitq["source"] == "https://github.com/ppasupat/WikiTableQuestions"
    assert (wikitq["revision"], wikitq["pinned"]) == ("master", False)
    assert wikitq["commit"] == place.lock("qtsumm")["commit"] == COMMIT
    assert wikitq["endpoint"] == place.server.url
    assert wikitq["licence"]["name"] == "CC BY-SA 4.0"
    assert wikitq["complete"] is True
    assert wikitq["archive"] is None
    assert wikitq["files"] == {name: sha256(content) for name, content in WIKITQ.items()}
    assert finqa["files"] == {name: sha256(content) for name, content in FINQA.items()}
    assert (finqa["pinned"], finqa["commit"]) == (True, None)
    # All files of the hub are of one commit.
    hub = [asked.path.split("/") for asked in place.server.downloads(".json")]
    assert [parts[5] for parts in hub if parts[1] == "datasets"] == [COMMIT] * 3


def test_licence_first_download_and_branches_are_named(place: Place) -> None:
    place.pull("finqa")
    assert any("first download" in line and LOCK in line for line in place.said)
    assert not any("warning" in line for line in place.said)
    [number] = [number for number, line in enumerate(place.said) if "licence MIT" in line]
    assert place.asked_when_said[number] == 0
    kept = (place.data / "finqa/LICENCE-upstream.txt").read_text()
    assert "MIT" in kept
    assert "https://opensource.org/license/mit" in kept
    assert "https://github.com/czyssrs/FinQA" in kept
    place.pull("wikitq")
    assert any("warning: 'master' is a branch" in line for line in place.said)


def test_a_pattern_takes_what_the_hub_lists(place: Place) -> None:
    files = {"TableBench_DP.jsonl": b"{}\n", "TableBench_PoT.jsonl": b"{}\n{}\n"}
    revision = UPSTREAM["tablebench"].revision
    other = {"README.md": b"no", "old/more.jsonl": b"no"}
    place.server.hub("Multilingual-Multimodal-NLP/TableBench", {**files, **other})
    place.pull("tablebench_da", "tablebench_fc")
    assert place.files("tablebench") == files
    assert all(revision in asked.path for asked in place.server.asked)


def test_files_of_the_hub_lie_where_the_table_says(place: Place) -> None:
    files = {f"{split}.table_col_type.json": b"[]" for split in DIGIT}
    repository = "stanford-crfm/helm-scenarios"
    place.server.hub(
        repository, {f"turl-column-type-annotation/{name}": files[name] for name in files}
    )
    message = place.refused("turl_cta")
    assert "type_vocab.txt: there is no such file" in message
    assert "https://github.com/sunlab-osu/TURL" in message
    assert place.files("turl_cta") == files
    (place.data / "turl_cta/type_vocab.txt").write_bytes(b"0\ta.b\n")
    place.server.forget()
    place.pull("turl_cta")
    assert place.server.asked == []
    assert place.lock("turl_cta")["by_hand"] == ["type_vocab.txt"]


def test_a_file_that_may_be_missing(place: Place) -> None:
    files = {file.path: b"{}" for file in UPSTREAM["scigen"].files}
    [optional] = [file.path for file in UPSTREAM["scigen"].files if file.optional]
    rest = {name: content for name, content in files.items() if name != optional}
    place.server.github("UKPLab/SciGen", "main", rest)
    place.pull("scigen")
    assert place.files("scigen") == rest
    assert f"scigen: {optional} does not exist upstream; continuing without it" in place.said


def test_the_environment_names_other_servers(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEBENCH_GITHUB_ENDPOINT", place.server.url + "/")
    monkeypatch.setenv("HF_ENDPOINT", place.server.url)
    place.pull("finqa", "qtsumm")
    assert place.files("finqa") == FINQA
    assert place.files("qtsumm") == QTSUMM
    assert f"finqa: requested from the server {place.server.url}" in place.said


def test_an_address_that_is_none(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEBENCH_GITHUB_ENDPOINT", "github.example")
    with pytest.raises(SettingsError, match=r"TABLEBENCH_GITHUB_ENDPOINT .*'github\.example'"):
        place.pull("finqa")
    assert place.waits == []


# Permission


def test_a_source_that_asks_for_permission_says_how_to_get_it(place: Place) -> None:
    place.server.always("qtsumm_train.json", GATED)
    message = place.refused("qtsumm")
    assert "https://huggingface.co/datasets/yale-nlp/QTSumm" in message
    assert "HF_TOKEN" in message
    assert f"put them into {place.data / 'qtsumm'}" in message


def test_files_put_there_by_hand_are_enough(place: Place) -> None:
    place.server.always(".json", GATED)
    place.refused("qtsumm")
    for name, content in QTSUMM.items():
        (place.data / "qtsumm" / name).write_bytes(content)
    place.server.forget()
    place.pull("qtsumm")
    place.pull("qtsumm")
    assert place.server.asked == []
    assert sum("put there by hand" in line for line in place.said) == 3
    assert "already there" in place.said[-1]
    lock = place.lock("qtsumm")
    assert sorted(lock["by_hand"]) == sorted(QTSUMM)
    assert lock["files"] == {name: sha256(content) for name, content in QTSUMM.items()}


def test_a_token_goes_to_the_hub_and_nowhere_else(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "hf_marked4711"
    monkeypatch.setenv("HF_TOKEN", token)
    place.server.fault("qtsumm_dev.json", Fault(status=404))
    message = place.refused("qtsumm", "finqa")
    for asked in place.server.asked:
        sent = asked.headers.get("authorization", asked.headers.get("Authorization"))
        assert sent == (f"Bearer {token}" if "QTSumm" in asked.path else None)
    written = [path.read_bytes() for path in place.data.rglob("*") if path.is_file()]
    assert not any(token.encode() in content for content in written)
    assert token not in message + "".join(place.said)


# Names and the table


@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    [
        ("csv/200-csv/1.tsv", "csv/*/*.tsv", True),
        ("csv/200-csv/1.csv", "csv/*/*.tsv", False),
        ("csv/a/b/1.tsv", "csv/*/*.tsv", False),
        ("x/csv/a/1.tsv", "csv/*/*.tsv", False),
        ("a.jsonl", "*.jsonl", True),
        ("v2/a.jsonl", "*.jsonl", False),
        ("data/test.tsv", "data/test.tsv", True),
    ],
)
def test_patterns_go_by_component(path: str, pattern: str, fits: bool) -> None:
    assert matches(path, pattern) is fits


def test_a_source_is_named_by_itself_or_what_it_serves() -> None:
    found = sources(["tablebench_nr", "wikitq", "tablebench", "tablebench_da"], UPSTREAM)
    assert [source.name for source in found] == ["tablebench", "wikitq"]


def test_an_unknown_name_is_said_before_anything_is_fetched(place: Place) -> None:
    with pytest.raises(SettingsError, match="'wikitk'; did you mean 'wikitq'"):
        place.pull("finqa", "wikitk")
    assert place.server.asked == []
    assert not place.data.exists()


def test_files_may_go_into_a_folder_below() -> None:
    files = File("QA.json", "data/"), File("html/*.html", "data/")
    assert [file.target for file in files] == ["data/QA.json", "data/html/*.html"]
    assert File("a/b.json", "c.json").target == "c.json"


def test_the_table() -> None:
    expected = {"finqa", "wikitq", "tabfact", "turl_cta", "numericnlg", "scigen", "qtsumm"}
    assert set(UPSTREAM) == expected | {
        *("realhitbench", "tablebench", "treb", "aitqa", "fetaqa", "tatqa")
    }
    assert UPSTREAM["finqa"].revision.startswith("0f16e286")
    assert UPSTREAM["tablebench"].revision.startswith("90593ad8")
    assert [name for name in UPSTREAM if UPSTREAM[name].pinned] == ["finqa", "tablebench"]
    for name, source in UPSTREAM.items():
        is_commit = len(source.revision) == 40 and set(source.revision) <= set("0123456789abcdef")
        assert source.name == name
        assert source.pinned == is_commit
        assert source.licence.address.startswith("https://")
        assert source.files


def test_every_dataset_that_says_pull_can_be_pulled_into_its_folder() -> None:
    for dataset in builtin_registry().datasets.values():
        if dataset.fetch.startswith("tablebench "):
            [source] = sources([dataset.fetch.removeprefix("tablebench pull ")], UPSTREAM)
            assert sources([dataset.name], UPSTREAM) == (source,)
            assert source.name == dataset.folder


# The progress bar


@pytest.mark.parametrize("shown", [True, False, None])
def test_the_progress_bar(
    place: Place, capsys: pytest.CaptureFixture[str], shown: bool | None
) -> None:
    # None: only on a terminal, which the captured stream is not.
    place.pull("finqa", bar=shown)
    error = capsys.readouterr().err
    if shown:
        assert "test.json" in error
        assert "100%" in error
    else:
        assert error == ""
