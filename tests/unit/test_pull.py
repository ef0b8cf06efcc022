"""Download of upstream files, against a scripted server on 127.0.0.1."""

from __future__ import annotations

import hashlib
import io
import json
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_tablebench.datasets.pull import UPSTREAM, File, pull, sources
from pytest_tablebench.datasets.pull import _pull as pull_module
from pytest_tablebench.datasets.pull import _transfer as transfer_module
from pytest_tablebench.datasets.pull._archive import unpack
from pytest_tablebench.datasets.pull._upstream import Licence, Upstream, matches
from pytest_tablebench.errors import DataError, DataMissing, SettingsError
from pytest_tablebench.registry import builtin_registry
from tests.support.upstream_server import COMMIT, Fault, UpstreamServer, tarball

LOCK = ".tablebench-pull.json"
DIGIT = {"train": b"1", "dev": b"2", "test": b"3"}
FINQA = {f"dataset/{split}.json": b"[" + DIGIT[split] * 5000 + b"]" for split in DIGIT}
QTSUMM = {f"qtsumm_{split}.json": b"[" + DIGIT[split] * 5000 + b"]" for split in DIGIT}
WIKITQ = {
    "data/pristine-unseen-tables.tsv": b"test\n",
    "data/random-split-1-train.tsv": b"train\n",
    "data/random-split-1-dev.tsv": b"dev\n",
    "csv/200-csv/1.tsv": b"one\n",
    "csv/201-csv/2.tsv": b"two\n",
}
TEST = "dataset/test.json"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Place:
    """A server, a data folder, and what was said and waited."""

    server: UpstreamServer
    data: Path
    said: list[str] = field(default_factory=list)
    asked_when_said: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.finqa(FINQA)
        self.server.hub("yale-nlp/QTSumm", QTSUMM)
        self.wikitq(WIKITQ)

    def finqa(self, files: Mapping[str, bytes]) -> None:
        self.server.github("czyssrs/FinQA", UPSTREAM["finqa"].revision, files)

    def wikitq(self, files: Mapping[str, bytes], **tar: Any) -> None:
        content = tarball({**files, "README.md": b"not wanted", "csv/1/1.csv": b"nor this"}, **tar)
        self.server.archive("ppasupat/WikiTableQuestions", "master", content)

    def say(self, line: str) -> None:
        self.said.append(line)
        self.asked_when_said.append(len(self.server.asked))

    def pull(self, *names: str, **options: Any) -> None:
        defaults = {"say": self.say, "sleep": self.waits.append, "bar": False}
        addresses = {"github": self.server.url, "hub": self.server.url}
        pull(names, self.data, **defaults, **addresses, **options)

    def refused(self, *names: str, **options: Any) -> str:
        """The one line that a pull fails with."""
        with pytest.raises(DataError) as caught:
            self.pull(*names, **options)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def lock(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.data / name / LOCK).read_bytes())
        return content

    def files(self, name: str) -> dict[str, bytes]:
        """The dataset's files; ours aside."""
        folder = self.data / name
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.startswith((".tablebench", "LICENCE"))
        }


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[UpstreamServer]:
    for name in list(os.environ):
        if name.upper().endswith("_PROXY") or name.startswith(("HF_", "TABLEBENCH_")):
            monkeypatch.delenv(name)
    with UpstreamServer() as running:
        yield running


@pytest.fixture
def place(server: UpstreamServer, tmp_path: Path) -> Place:
    return Place(server, tmp_path / "data")


# A pull that goes well


@pytest.mark.parametrize(("name", "files"), [("finqa", FINQA), ("qtsumm", QTSUMM)])
def test_files_are_fetched_once(place: Place, name: str, files: dict[str, bytes]) -> None:
    place.pull(name)
    assert place.files(name) == files
    place.server.forget()
    place.pull(name)
    assert place.server.asked == []
    assert "already there, 3 files" in place.said[-1]
    assert place.waits == []


def test_an_archive_is_fetched_once_and_only_what_is_wanted_of_it(place: Place) -> None:
    place.pull("wikitq")
    assert place.files("wikitq") == WIKITQ
    ours = {path.name for path in (place.data / "wikitq").iterdir()} - {"csv", "data"}
    assert ours == {LOCK, ".tablebench-pull.busy", "LICENCE-upstream.txt"}
    place.server.forget()
    place.pull("wikitq")
    assert place.server.asked == []
    assert "already there, 5 files" in place.said[-1]


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


def test_the_licence_is_said_first_and_kept(place: Place) -> None:
    place.pull("finqa")
    [number] = [number for number, line in enumerate(place.said) if "licence MIT" in line]
    assert place.asked_when_said[number] == 0
    kept = (place.data / "finqa/LICENCE-upstream.txt").read_text()
    assert "MIT" in kept
    assert "https://opensource.org/license/mit" in kept
    assert "https://github.com/czyssrs/FinQA" in kept


def test_a_branch_is_said_to_be_no_fixed_revision(place: Place) -> None:
    place.pull("wikitq")
    assert any("warning: 'master' is a branch" in line for line in place.said)
    place.said.clear()
    place.pull("finqa")
    assert not any("warning" in line for line in place.said)


def test_that_the_first_download_counts_is_said(place: Place) -> None:
    place.pull("finqa")
    assert any("first download" in line and LOCK in line for line in place.said)


def test_all_files_of_the_hub_come_from_one_commit(place: Place) -> None:
    place.pull("qtsumm")
    revisions = [asked.path.split("/")[5] for asked in place.server.downloads(".json")]
    assert revisions == ["main", COMMIT, COMMIT]


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
    assert f"scigen: there is no {optional} upstream; goes without" in place.said


def test_the_environment_names_other_servers(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEBENCH_GITHUB_ENDPOINT", place.server.url + "/")
    monkeypatch.setenv("HF_ENDPOINT", place.server.url)
    pull(["finqa", "qtsumm"], place.data, say=place.say, bar=False)
    assert place.files("finqa") == FINQA
    assert place.files("qtsumm") == QTSUMM
    assert f"finqa: asked of the server {place.server.url}" in place.said


def test_an_address_that_is_none(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEBENCH_GITHUB_ENDPOINT", "github.example")
    with pytest.raises(SettingsError, match=r"TABLEBENCH_GITHUB_ENDPOINT .*'github\.example'"):
        pull(["finqa"], place.data, say=place.say, sleep=place.waits.append)
    assert place.waits == []


def test_a_file_that_is_gone_is_fetched_again_alone(place: Place) -> None:
    place.pull("finqa")
    (place.data / "finqa" / TEST).unlink()
    place.server.forget()
    place.pull("finqa")
    assert f"finqa: {TEST} is gone; fetched again" in place.said
    assert len(place.server.downloads(".json")) == 1
    assert place.files("finqa") == FINQA


@pytest.mark.parametrize(("name", "path"), [("finqa", TEST), ("wikitq", "csv/200-csv/1.tsv")])
def test_a_damaged_file_is_fetched_again(place: Place, name: str, path: str) -> None:
    place.pull(name)
    before = place.files(name)
    (place.data / name / path).write_bytes(b"damaged")
    place.pull(name)
    assert f"{name}: {path} is not as recorded; fetched again" in place.said
    assert place.files(name) == before


# Cut connections


def test_a_cut_download_goes_on_where_it_ended(place: Place) -> None:
    place.server.fault(TEST, Fault(cut=2000), Fault(cut=1000))
    place.pull("finqa")
    assert place.files("finqa") == FINQA
    first, second, third = place.server.downloads(TEST)
    assert "Range" not in first.headers
    assert second.headers["Range"] == "bytes=2000-"
    assert third.headers["Range"] == "bytes=3000-"
    assert second.headers["If-Range"].startswith('"')
    assert place.server.bytes_sent(TEST) == len(FINQA[TEST])
    assert len(place.waits) == 2


def test_a_later_pull_goes_on_where_an_earlier_one_ended(place: Place) -> None:
    place.server.fault(TEST, Fault(cut=2000))
    place.server.always("train.json", Fault(status=404))
    place.refused("finqa")
    place.server.always("train.json", None)
    place.server.fault("dev.json", *[Fault(cut=4000)], *[Fault(cut=0)] * 5)
    assert "the same command goes on from here" in place.refused("finqa")
    assert (place.data / "finqa/dataset/dev.json.part").stat().st_size == 4000
    place.server.forget()
    place.pull("finqa")
    assert place.files("finqa") == FINQA
    assert place.server.downloads("train.json") == []
    [asked] = place.server.downloads("dev.json")
    assert asked.headers["Range"] == "bytes=4000-"
    assert not list(place.data.rglob("*.part*"))


def test_a_file_that_changed_in_between_is_fetched_from_the_start(place: Place) -> None:
    place.server.fault(TEST, Fault(cut=2000, body=b"another file " * 1000))
    place.pull("finqa")
    assert place.files("finqa") == FINQA
    assert place.server.downloads(TEST)[1].headers["Range"] == "bytes=2000-"


@pytest.mark.parametrize("fault", [Fault(ignore_range=True), Fault(wrong_range=True)])
def test_a_server_that_does_not_go_on_restarts_the_file(place: Place, fault: Fault) -> None:
    place.server.fault(TEST, Fault(cut=2000), fault)
    place.pull("finqa")
    assert place.files("finqa") == FINQA


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_tag_the_file_restarts(place: Place, etag: str | None) -> None:
    place.server.fault(TEST, Fault(cut=2000, headers={"ETag": etag}))
    place.pull("finqa")
    assert place.files("finqa") == FINQA
    assert all("Range" not in asked.headers for asked in place.server.downloads(TEST))


def test_a_whole_part_is_not_fetched_again(place: Place) -> None:
    # What remains when a process is killed between the last byte and the rename.
    place.pull("finqa")
    target = place.data / "finqa" / TEST
    etag = f'"{sha256(FINQA[TEST])[:20]}"'
    for recorded in (True, False):
        target.rename(target.with_name("test.json.part"))
        target.with_name("test.json.part.etag").write_text(etag)
        if not recorded:
            lock = place.lock("finqa")
            del lock["files"][TEST]
            lock["complete"] = False
            (place.data / "finqa" / LOCK).write_text(json.dumps(lock))
        place.server.forget()
        place.pull("finqa")
        assert place.files("finqa") == FINQA
        assert place.server.bytes_sent("") == 0
    assert len(place.server.downloads(TEST)) == 1  # answered 416


def test_attempts_that_bring_nothing_are_bounded(place: Place) -> None:
    place.server.always(TEST, Fault(cut=0))
    message = place.refused("finqa")
    assert len(place.server.downloads(TEST)) == 5
    assert len(place.waits) == 4
    assert all(0 <= seconds <= 30 for seconds in place.waits)
    assert str(place.data / "finqa" / TEST) in message
    assert f"{place.server.url}/czyssrs/FinQA/raw/" in message


def test_attempts_that_bring_something_are_not_counted(place: Place) -> None:
    place.server.fault(TEST, *[Fault(cut=400)] * 12)
    place.pull("finqa")
    assert len(place.server.downloads(TEST)) == 13
    assert place.server.bytes_sent(TEST) == len(FINQA[TEST])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(min_size=1, max_size=3000),
    cuts=st.lists(st.integers(1, 1200), max_size=4),
    restart=st.booleans(),
)
def test_cuts_anywhere_give_the_same_file(
    server: UpstreamServer, content: bytes, cuts: list[int], restart: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Place(server, Path(folder))
        place.finqa(dict.fromkeys(FINQA, b"\x00" + content))
        server._faults.clear()
        server.forget()
        server.fault(TEST, *(Fault(cut=cut, ignore_range=restart) for cut in cuts))
        place.pull("finqa")
        assert place.files("finqa")[TEST] == b"\x00" + content
        if not restart:
            assert server.bytes_sent(TEST) == len(content) + 1


def test_attempts_are_bounded_even_when_each_brings_a_little(place: Place) -> None:
    place.server.always(TEST, Fault(cut=1))
    assert "goes on from here" in place.refused("finqa")
    assert len(place.server.downloads(TEST)) == 50


# Servers in trouble


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("name", ["finqa", "qtsumm"])
def test_passing_failures_are_tried_again(place: Place, name: str, status: int) -> None:
    place.server.fault("test.json", Fault(status=status), Fault(status=status))
    place.pull(name)
    assert place.files(name) == (FINQA if name == "finqa" else QTSUMM)
    assert len(place.waits) == 2


def test_the_server_may_say_how_long_to_wait(place: Place) -> None:
    place.server.fault(
        TEST,
        Fault(status=429, headers={"Retry-After": "7"}),
        Fault(status=503, headers={"Retry-After": "86400"}),
    )
    place.pull("finqa")
    assert place.waits == [7, 30]


@pytest.mark.parametrize(
    ("status", "words"), [(404, "no such file"), (410, "no such file"), (403, "denied")]
)
def test_lasting_failures_are_said_at_once(place: Place, status: int, words: str) -> None:
    place.server.always(TEST, Fault(status=status))
    message = place.refused("finqa")
    assert words in message
    assert str(status) in message
    assert str(place.data / "finqa" / TEST) in message
    assert f"{place.server.url}/czyssrs/FinQA/raw/" in message
    assert len(place.server.downloads(TEST)) == 1
    assert place.waits == []
    assert TEST not in place.files("finqa")


def test_one_dataset_that_fails_does_not_keep_others_away(place: Place) -> None:
    place.server.always("dev.json", Fault(status=404))
    assert place.refused("finqa", "wikitq").startswith("finqa: ")
    assert place.files("wikitq") == WIKITQ


@pytest.mark.parametrize(
    "fault",
    [
        Fault(page=True),
        Fault(body=b"\xef\xbb\xbf\n <!doctype HTML><p>log in"),
        Fault(body=b"<html>", headers={"Content-Type": "application/json"}),
    ],
)
@pytest.mark.parametrize("name", ["finqa", "wikitq"])
def test_a_web_page_is_no_dataset(place: Place, name: str, fault: Fault) -> None:
    place.server.always("test.json" if name == "finqa" else "master", fault)
    message = place.refused(name)
    assert "web page" in message
    assert place.server.url in message
    assert place.waits == []


def test_a_compressed_body_is_refused(place: Place) -> None:
    place.server.always(TEST, Fault(headers={"Content-Encoding": "gzip"}))
    assert "compressed" in place.refused("finqa")


def test_encryption_is_not_given_up_on_the_way() -> None:
    reply = httpx.Response(200, request=httpx.Request("GET", "http://example.test/file"))
    asked = transfer_module.Remote("https://example.test/file")
    with pytest.raises(DataError, match="not encrypted"):
        transfer_module._check(reply, asked, "file", page=False)


def test_a_server_that_says_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_module, "READ_S", 0.05)
    place.server.always(TEST, Fault(hold=0))
    assert "no answer in time" in place.refused("finqa")
    assert len(place.server.downloads(TEST)) == 5


def test_nobody_listens(place: Place) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    for name in ("finqa", "qtsumm"):
        with pytest.raises(DataError, match=address):
            pull([name], place.data, say=place.say, github=address, hub=address,
                 sleep=place.waits.append)  # fmt: skip


def test_a_hub_that_is_none(place: Place) -> None:
    message = place.refused("tablebench")
    assert "no such dataset" in message
    place.server.hub("Multilingual-Multimodal-NLP/TableBench", {"a.txt": b""})
    assert "has no *.jsonl" in place.refused("tablebench")
    place.server.always("9f073a83", Fault(page=True))
    assert "does not answer as Hugging Face does" in place.refused("tablebench")


def test_a_revision_that_is_not_there(place: Place) -> None:
    place.server.hub("yale-nlp/QTSumm", QTSUMM, revision="other")
    assert "does not know this revision" in place.refused("qtsumm")


@pytest.mark.parametrize("length", [None, "15000"])
def test_a_file_that_is_too_large(place: Place, length: str | None) -> None:
    headers = {"Content-Length": length}
    place.server.always(TEST, Fault(body=b"x" * 15000, headers=headers))
    assert "10000" in place.refused("finqa", max_bytes=10000)
    assert not list(place.data.rglob("test.json*"))


# What an unfinished pull means to a run


def test_an_unfinished_pull_has_not_brought_the_dataset(place: Place) -> None:
    dataset = builtin_registry().datasets["qtsumm"]
    folder = place.data / "qtsumm"
    place.server.always(".json", GATED)
    place.refused("qtsumm")
    with pytest.raises(DataMissing, match=r"has not finished; go on with: tablebench pull qtsumm"):
        dataset.open(folder)
    place.server.always(".json", None)
    place.server.always("test.json", Fault(status=404))
    place.refused("qtsumm")
    with pytest.raises(DataMissing, match="has not finished"):
        dataset.open(folder)
    place.server.always("test.json", None)
    place.pull("qtsumm")
    (folder / "qtsumm_test.json").unlink()
    with pytest.raises(DataError, match=r"lacks qtsumm_test\.json") as caught:
        dataset.open(folder)
    assert not isinstance(caught.value, DataMissing)


# Permission


GATED = Fault(status=401, headers={"X-Error-Code": "GatedRepo"})


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


# Checksums


def known(monkeypatch: pytest.MonkeyPatch, digest: str) -> None:
    """A table whose one file has a known checksum."""
    source = Upstream(
        "finqa", "github", "czyssrs/FinQA", UPSTREAM["finqa"].revision, pinned=True,
        licence=Licence("MIT", ""), files=(File(TEST, sha256=digest),),
    )  # fmt: skip
    monkeypatch.setattr(pull_module, "UPSTREAM", {"finqa": source})


def test_a_known_checksum_must_fit(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, sha256(FINQA[TEST]))
    place.server.fault(TEST, Fault(corrupt=True))
    message = place.refused("finqa")
    assert sha256(FINQA[TEST]) in message
    assert "thrown away" in message
    assert place.files("finqa") == {}
    place.pull("finqa")
    assert place.files("finqa") == {TEST: FINQA[TEST]}
    assert not any("not known" in line for line in place.said)


def test_a_wrong_download_leaves_the_old_file(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch, sha256(FINQA[TEST]))
    old = place.data / "finqa" / TEST
    old.parent.mkdir(parents=True)
    old.write_bytes(FINQA[TEST])
    place.server.fault(TEST, Fault(corrupt=True))
    place.refused("finqa")
    assert place.files("finqa") == {TEST: FINQA[TEST]}


def test_the_checksum_that_the_hub_states_must_fit(place: Place) -> None:
    name = "qtsumm_test.json"
    stated = {"X-Linked-Etag": f'"{sha256(QTSUMM[name])}"'}
    place.server.always(name, Fault(corrupt=True, headers=stated))
    assert sha256(QTSUMM[name]) in place.refused("qtsumm")
    assert name not in place.files("qtsumm")
    place.server.always(name, Fault(headers=stated))
    place.pull("qtsumm")
    assert place.files("qtsumm") == QTSUMM


@pytest.mark.parametrize("name", ["finqa", "wikitq"])
def test_what_came_first_is_what_later_downloads_must_be(place: Place, name: str) -> None:
    place.pull(name)
    if name == "finqa":
        gone, files, change = TEST, FINQA, place.finqa
    else:
        gone, files, change = "csv/200-csv/1.tsv", WIKITQ, place.wikitq
    (place.data / name / gone).unlink()
    change({**files, gone: b"new upstream"})
    message = place.refused(name)
    assert sha256(b"new upstream") in message
    assert sha256(files[gone]) in message
    assert "move" in message
    rest = {path: content for path, content in files.items() if path != gone}
    assert place.files(name) == rest
    change(files)
    place.pull(name)
    assert place.files(name) == files


def test_the_same_files_packed_differently_are_the_same(place: Place) -> None:
    place.pull("wikitq")
    (place.data / "wikitq/csv/200-csv/1.tsv").unlink()
    place.wikitq(dict(reversed(WIKITQ.items())), top="WikiTableQuestions-abc")
    place.pull("wikitq")
    assert place.files("wikitq") == WIKITQ


def test_a_recorded_file_that_upstream_no_longer_has(place: Place) -> None:
    place.pull("wikitq")
    (place.data / "wikitq/csv/200-csv/1.tsv").unlink()
    less = {name: content for name, content in WIKITQ.items() if name != "csv/201-csv/2.tsv"}
    place.wikitq(less)
    assert "no longer in" in place.refused("wikitq")
    assert "csv/201-csv/2.tsv" in place.files("wikitq")


@pytest.mark.parametrize(("name", "path"), [("finqa", TEST), ("wikitq", "csv/200-csv/1.tsv")])
def test_a_file_of_ones_own_is_never_overwritten(place: Place, name: str, path: str) -> None:
    own = place.data / name / path
    own.parent.mkdir(parents=True)
    own.write_bytes(b"my own")
    message = place.refused(name)
    assert f"{own} was not put there by this command" in message
    assert own.read_bytes() == b"my own"
    own.write_bytes(FINQA[TEST] if name == "finqa" else WIKITQ[path])
    place.pull(name)
    assert place.files(name) == (FINQA if name == "finqa" else WIKITQ)


# Disks and folders


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(place: Place) -> None:
    part = place.data / "finqa/dataset/test.json.part"
    part.parent.mkdir(parents=True)
    tag = part.with_name(part.name + ".etag")
    tag.write_text('"tag"')
    part.symlink_to("/dev/full")
    place.server.always(TEST, Fault(headers={"ETag": '"tag"'}))
    real_unlink = Path.unlink

    def keep(path: Path, missing_ok: bool = False) -> None:
        if path != part:
            real_unlink(path, missing_ok=missing_ok)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", keep)
        message = place.refused("finqa")
    assert str(place.data / "finqa" / TEST) in message
    assert "No space left" in message


def test_a_folder_that_is_a_file(place: Place) -> None:
    place.data.write_text("a file")
    message = place.refused("finqa")
    assert str(place.data / "finqa") in message
    assert "cannot be written" in message
    assert place.server.asked == []


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_a_folder_that_must_not_be_written(place: Place) -> None:
    place.data.mkdir()
    place.data.chmod(0o500)
    try:
        assert "Permission denied" in place.refused("finqa")
    finally:
        place.data.chmod(0o700)


def test_an_archive_that_could_not_be_put_in_place_is_not_fetched_again(place: Place) -> None:
    blocked = place.data / "wikitq/csv/201-csv"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where a folder is needed")
    assert "cannot be written" in place.refused("wikitq")
    blocked.unlink()
    place.server.forget()
    place.pull("wikitq")
    assert place.server.asked == []
    assert place.files("wikitq") == WIKITQ


def test_an_archive_that_could_not_be_unpacked_is_not_fetched_again(place: Place) -> None:
    staging = place.data / "wikitq/.tablebench-pull.unpacked"
    staging.parent.mkdir(parents=True)
    staging.write_text("a file where a folder is needed")
    assert "cannot be written" in place.refused("wikitq")
    staging.unlink()
    place.server.forget()
    place.pull("wikitq")
    assert place.server.asked == []
    assert place.files("wikitq") == WIKITQ


def test_two_pulls_in_one_folder(place: Place) -> None:
    (place.data / "finqa").mkdir(parents=True)
    with FileLock(place.data / "finqa/.tablebench-pull.busy"):
        assert "another `tablebench pull` is at work" in place.refused("finqa")
    place.pull("finqa")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 99}, "newer version"),
        ({"revision": "0" * 40}, "move .* away"),
        ({"files": None}, "no record of a pull"),
        ({"surprise": 1}, "no record of a pull"),
    ],
)
def test_a_record_that_does_not_fit(place: Place, change: dict[str, Any], words: str) -> None:
    place.pull("finqa")
    path = place.data / "finqa" / LOCK
    path.write_text(json.dumps(place.lock("finqa") | change))
    with pytest.raises(DataError, match=words):
        place.pull("finqa")
    path.write_text("[]")
    assert "no record" in place.refused("finqa")
    path.write_text('{"schema"')
    assert "not valid JSON" in place.refused("finqa")


def test_a_record_that_names_files_elsewhere(place: Place, tmp_path: Path) -> None:
    place.pull("finqa")
    lock = place.lock("finqa")
    lock["files"]["../../outside"] = "0" * 64
    (place.data / "finqa" / LOCK).write_text(json.dumps(lock))
    assert "no record of a pull" in place.refused("finqa")


# Archives


WANTED = (File("data/test.tsv"), File("csv/*/*.tsv"))
SOUND = {"data/test.tsv": b"test", "csv/1/1.tsv": b"one"}


def member(name: str, content: bytes = b"evil", **changes: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for attribute, value in changes.items():
        setattr(info, attribute, value)
    return info, content


def test_unpacking(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    folder = member("top/csv/1", b"", type=tarfile.DIRTYPE)
    archive.write_bytes(tarball({**SOUND, "csv/1/2/3.tsv": b"deeper", "x": b""}, extra=[folder]))
    assert unpack(archive, WANTED, tmp_path / "out") == (sorted(SOUND), COMMIT)
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) == 2
    assert (tmp_path / "out/csv/1/1.tsv").read_bytes() == b"one"


@pytest.mark.parametrize(
    "extra",
    [
        member("top/csv/../evil.tsv"),
        member("top/csv/..\\..\\x/evil.tsv"),
        member("top/csv/1/2.tsv", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("top/csv/1/2.tsv", b"", type=tarfile.LNKTYPE, linkname="top/data/test.tsv"),
        member("top/csv/1/2.tsv", b"", type=tarfile.FIFOTYPE),
        member("top/csv/1/2.tsv", b"", type=tarfile.CHRTYPE),
        member("top/csv/1/1.tsv"),
        member("other/csv/1/1.tsv"),
    ],
    ids=["up", "backslash", "symlink", "hardlink", "fifo", "device", "twice", "two tops"],
)
def test_a_hostile_archive_is_refused(tmp_path: Path, extra: tuple[tarfile.TarInfo, bytes]) -> None:
    archive, out = tmp_path / "a.tar.gz", tmp_path / "in/out"
    archive.write_bytes(tarball(SOUND, extra=[extra]))
    with pytest.raises(DataError, match=r"a\.tar\.gz"):
        unpack(archive, WANTED, out)
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and out not in path.parents]
    assert outside == [archive]


def test_what_is_not_wanted_does_no_harm(tmp_path: Path) -> None:
    archive, out = tmp_path / "a.tar.gz", tmp_path / "in/out"
    extra = [
        member("top/../../evil"),
        member("/etc/evil"),
        member("top/csv", b"", type=tarfile.SYMTYPE, linkname=str(tmp_path)),
    ]
    archive.write_bytes(tarball(SOUND, extra=extra))
    assert unpack(archive, WANTED, out)[0] == sorted(SOUND)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz", "in"]


@pytest.mark.parametrize("wanted", [True, False])
def test_an_archive_that_unpacks_to_too_much(tmp_path: Path, wanted: bool) -> None:
    archive = tmp_path / "a.tar.gz"
    name = "csv/1/2.tsv" if wanted else "bomb"
    archive.write_bytes(tarball({name: bytes(2_000_000), **SOUND}))
    assert archive.stat().st_size < 10_000
    with pytest.raises(DataError, match="more than any dataset"):
        unpack(archive, WANTED, tmp_path / "out", max_bytes=1_000_000)
    assert not (tmp_path / "out/csv/1/2.tsv").exists()


@pytest.mark.parametrize("missing", SOUND)
def test_an_archive_without_what_is_wanted(tmp_path: Path, missing: str) -> None:
    archive = tmp_path / "a.tar.gz"
    rest = {name: content for name, content in SOUND.items() if name != missing}
    archive.write_bytes(tarball(rest))
    with pytest.raises(DataError, match=r"holds no data/test\.tsv|holds nothing like csv"):
        unpack(archive, WANTED, tmp_path / "out")


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("damage", ["cut", "noise"])
def test_a_damaged_archive(tmp_path: Path, share: float, damage: str) -> None:
    archive = tmp_path / "a.tar.gz"
    content = bytearray(tarball({**SOUND, "csv/2/2.tsv": os.urandom(5000)}))
    at = int(len(content) * share)
    if damage == "cut":
        del content[at:]
    else:
        content[at : at + 20] = bytes(byte ^ 0xFF for byte in content[at : at + 20])
    archive.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.tar\.gz"):
        unpack(archive, WANTED, tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"no archive", io.BytesIO(b"\x1f\x8b").read()])
def test_a_bad_archive_is_thrown_away_and_nothing_put_in_place(
    place: Place, content: bytes
) -> None:
    place.server.fault("master", Fault(body=content))
    assert "no sound archive" in place.refused("wikitq")
    assert place.files("wikitq") == {}
    assert not (place.data / "wikitq/.tablebench-pull.tar.gz").exists()
    place.pull("wikitq")
    assert place.files("wikitq") == WIKITQ


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
    found = sources(["tablebench_nr", "wikitq", "tablebench", "tablebench_da"])
    assert [source.name for source in found] == ["tablebench", "wikitq"]


def test_an_unknown_name_is_said_before_anything_is_fetched(place: Place) -> None:
    with pytest.raises(SettingsError, match="'wikitk'; did you mean 'wikitq'"):
        place.pull("finqa", "wikitk")
    assert place.server.asked == []
    assert not place.data.exists()


def test_the_table() -> None:
    expected = {"finqa", "wikitq", "tabfact", "turl_cta", "numericnlg", "scigen", "qtsumm"}
    assert set(UPSTREAM) == expected | {"tablebench"}
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
        if dataset.get.startswith("tablebench "):
            [source] = sources([dataset.get.removeprefix("tablebench pull ")])
            assert sources([dataset.name]) == (source,)
            assert source.name == dataset.folder


# What it costs others


def test_nothing_is_loaded_before_it_is_needed() -> None:
    heavy = ("httpx", "huggingface_hub", "tqdm", "tenacity", "filelock")
    code = "import sys, pytest_tablebench.datasets.pull\n"
    code += f"print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# The progress bar


@pytest.mark.parametrize("shown", [True, False, None])
def test_the_progress_bar(
    place: Place, capsys: pytest.CaptureFixture[str], shown: bool | None
) -> None:
    # None: only on a terminal, which the captured stream is not.
    pull(["finqa"], place.data, say=place.say, github=place.server.url, bar=shown)
    error = capsys.readouterr().err
    if shown:
        assert "test.json" in error
        assert "100%" in error
    else:
        assert error == ""
