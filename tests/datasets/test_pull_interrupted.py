"""Pulls that are cut short: lost connections, servers in trouble, what is left for a run."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_tablebench.datasets.pull import _transfer as transfer_module
from pytest_tablebench.datasets.pull._transfer import Remote, check_reply
from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.running.builtins import builtin_registry
from tests.support.matrix import draws
from tests.support.pulls import FINQA, GATED, QTSUMM, TEST, WIKITQ, Place, sha256
from tests.support.upstream_server import Fault, UpstreamServer

# Cut connections


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small files arrive in several chunks: the last, incomplete chunk before a cut is lost."""
    monkeypatch.setattr(transfer_module, "CHUNK", 100)


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


def test_a_later_pull_continues_a_file_of_the_hub(place: Place) -> None:
    place.server.fault("qtsumm_dev.json", Fault(cut=2000), *[Fault(cut=0)] * 5)
    assert "run the same command again to continue" in place.refused("qtsumm")
    place.server.forget()
    place.pull("qtsumm")
    assert place.files("qtsumm") == QTSUMM
    assert place.server.downloads("train.json") == []
    [asked] = place.server.downloads("qtsumm_dev.json")
    assert asked.headers["Range"] == "bytes=2000-"


@pytest.mark.parametrize(
    ("faults", "part"),
    [
        ([Fault(cut=2000, body=b"another file " * 1000)], "bytes=2000-"),
        ([Fault(cut=2000), Fault(ignore_range=True)], "bytes=2000-"),
        ([Fault(cut=2000), Fault(wrong_range=True)], "bytes=2000-"),
        ([Fault(cut=2000, headers={"ETag": None})], None),
        ([Fault(cut=2000, headers={"ETag": 'W/"weak"'})], None),
    ],
    ids=["changed", "no range", "another range", "no tag", "weak tag"],
)
def test_a_file_that_cannot_be_continued_is_fetched_from_the_start(
    place: Place, faults: list[Fault], part: str | None
) -> None:
    place.server.fault(TEST, *faults)
    place.pull("finqa")
    assert place.files("finqa") == FINQA
    assert place.server.downloads(TEST)[1].headers.get("Range") == part


def test_a_whole_part_is_fetched_again(place: Place) -> None:
    # What remains when a process is killed before the rename. The server answers 416.
    place.pull("finqa")
    target = place.data / "finqa" / TEST
    target.rename(target.with_name("test.json.part"))
    target.with_name("test.json.part.etag").write_text(f'"{sha256(FINQA[TEST])[:20]}"')
    place.pull("finqa")
    assert place.files("finqa") == FINQA


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


@settings(max_examples=draws(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
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
            lost = len(cuts) * transfer_module.CHUNK
            assert server.bytes_sent(TEST) <= len(content) + 1 + lost


def test_attempts_are_bounded_even_when_each_brings_a_little(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_module, "CHUNK", 1)
    place.server.always(TEST, Fault(cut=1))
    assert "run the same command again to continue" in place.refused("finqa")
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
    reply = requests.Response()
    reply.status_code, reply.url = 200, "http://example.test/file"
    asked = Remote("https://example.test/file")
    with pytest.raises(DataError, match="without encryption"):
        check_reply(reply, asked, "file", page=False)


def test_a_server_that_says_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_module, "READ_S", 0.05)
    place.server.always(TEST, Fault(hold=0))
    assert "no answer in time" in place.refused("finqa")
    assert len(place.server.downloads(TEST)) == 5


def test_nobody_listens(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("TABLEBENCH_GITHUB_ENDPOINT", address)
    monkeypatch.setenv("HF_ENDPOINT", address)
    assert address in place.refused("finqa")
    assert address in place.refused("qtsumm")


def test_a_hub_that_is_none(place: Place) -> None:
    message = place.refused("tablebench")
    assert "the dataset does not exist" in message
    place.server.hub("Multilingual-Multimodal-NLP/TableBench", {"a.txt": b""})
    assert "has no *.jsonl" in place.refused("tablebench")
    place.server.always("9f073a83", Fault(page=True))
    assert "web page" in place.refused("tablebench")


def test_a_revision_that_is_not_there(place: Place) -> None:
    place.server.hub("yale-nlp/QTSumm", QTSUMM, revision="other")
    assert "does not know this revision" in place.refused("qtsumm")


@pytest.mark.parametrize("length", [None, "15000"])
def test_a_file_that_is_too_large(
    place: Place, monkeypatch: pytest.MonkeyPatch, length: str | None
) -> None:
    monkeypatch.setattr(transfer_module, "MAX_BYTES", 10000)
    headers = {"Content-Length": length}
    place.server.always(TEST, Fault(body=b"x" * 15000, headers=headers))
    assert "10000" in place.refused("finqa")
    assert not list(place.data.rglob("test.json*"))


# What an unfinished pull means to a run


def test_an_unfinished_pull_has_not_brought_the_dataset(place: Place) -> None:
    dataset = builtin_registry().datasets["qtsumm"]
    folder = place.data / "qtsumm"
    place.server.always(".json", GATED)
    place.refused("qtsumm")
    with pytest.raises(DataMissing, match=r"has not finished; get it with: tablebench pull qtsumm"):
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
