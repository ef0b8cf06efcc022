"""Servers that want time, memory or the token: slow ones, endless listings, links elsewhere."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_tablebench.datasets.pull._files as archive_module
import pytest_tablebench.datasets.pull._servers as modelscope_module
import pytest_tablebench.datasets.pull._transfer as transfer_module
from pytest_tablebench.datasets.pull._files import unpack
from pytest_tablebench.datasets.pull._upstream import File
from pytest_tablebench.errors import DataError
from tests.support.pulls import FINQA, QTSUMM, TEST, UPSTREAM, Place
from tests.support.upstream_server import COMMIT, Fault, UpstreamServer, tarball

REPOSITORY = "Multilingual-Multimodal-NLP/TableBench"
TOKEN = "hf_marked4711"
WANTED = (File("data/test.tsv"), File("csv/*/*.tsv"))
SOUND = {"data/test.tsv": b"test", "csv/1/1.tsv": b"one"}


@pytest.fixture
def elsewhere() -> Iterator[UpstreamServer]:
    with UpstreamServer() as server:
        yield server


def tokens(server: UpstreamServer) -> list[str | None]:
    named = [{n.lower(): v for n, v in asked.headers.items()} for asked in server.asked]
    return [headers.get("authorization") for headers in named]


# Time


def test_a_server_that_is_fast_enough_is_waited_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_module, "CHUNK", 1)
    monkeypatch.setattr(transfer_module, "SPEED_S", 0.2)
    monkeypatch.setattr(transfer_module, "LEAST_SPEED", 10)
    monkeypatch.setattr(transfer_module, "FILE_S", 1.0)
    place.server.always(TEST, Fault(drip=True))  # 100 bytes a second
    assert "not complete after 1 s" in place.refused("finqa")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *((name, Fault(drip_head=True)) for name in ("finqa", "wikitq", "qtsumm", "tablebench")),
        ("finqa", Fault(drip=True)),
        ("tablebench", Fault(drip=True, headers={"Content-Length": "9000000"})),
    ],
)
def test_a_server_that_drips_is_given_up(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, fault: Fault
) -> None:
    monkeypatch.setattr(transfer_module, "SPEED_S", 0.2)
    place.server.hub(REPOSITORY, {"a.jsonl": b"{}"})
    for ending in ("test.json", "master", "9f073a83"):
        place.server.always(ending, fault)
    message = place.refused(name)
    assert "bytes in 0.2 s are too slow; run the same command again to continue" in message
    assert (str(place.data / "finqa" / TEST) in message) == (name == "finqa")
    assert len(place.server.downloads(TEST)) == (name == "finqa")
    assert place.waits == []


# Listings


def listing(*paths: object) -> bytes:
    siblings = [{"rfilename": path} for path in paths]
    return json.dumps({"id": REPOSITORY, "sha": COMMIT, "siblings": siblings}).encode()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (listing("x" * 501 + ".jsonl"), "does not answer as Hugging Face does"),
        (listing(5), "does not answer as Hugging Face does"),
        (b"[" * 100_000, "does not answer as Hugging Face does"),
        (b'{"siblings": []}', "does not answer as Hugging Face does"),
        (b"[]", "does not answer as Hugging Face does"),
        (b" " * 10_000_001, "more than the 10000000 bytes allowed"),
    ],
    ids=["long name", "number", "nested", "object", "list", "large"],
)
def test_a_listing_that_is_none(place: Place, body: bytes, said: str) -> None:
    place.server.hub(REPOSITORY, {"a.jsonl": b"{}"})
    place.server.always("9f073a83", Fault(body=body))
    assert said in place.refused("tablebench")


def test_a_listing_without_an_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modelscope_module, "PAGE_SIZE", 1)
    monkeypatch.setattr(modelscope_module, "MAX_PAGES", 5)
    place.server.modelscope("JiuTian-AI/JIUTIAN-TReB", {f"{n}.json": b"" for n in range(9)})
    assert "more than 5 pages" in place.refused("treb")


def test_a_redirect_with_a_body_without_an_end(
    place: Place, elsewhere: UpstreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The body is not read, so the file that the redirect leads to arrives.
    elsewhere.github("czyssrs/FinQA", UPSTREAM["finqa"].revision, FINQA)
    target = f"{elsewhere.url}/raw.host/czyssrs/FinQA/{UPSTREAM['finqa'].revision}/{TEST}"
    place.server.always(TEST, Fault(status=302, headers={"Location": target}, drip=True))
    monkeypatch.setattr(transfer_module, "SPEED_S", 2.0)
    place.pull("finqa")
    assert place.files("finqa") == FINQA


def test_a_listing_of_another_commit(place: Place) -> None:
    place.server.hub(REPOSITORY, {"a.jsonl": b"{}"})
    place.server.always("9f073a83", Fault(body=listing("a.jsonl")))
    place.pull("tablebench")
    assert place.lock("tablebench")["commit"] == UPSTREAM["tablebench"].revision != COMMIT
    assert UPSTREAM["tablebench"].revision in place.server.downloads("a.jsonl")[0].path


# The token


@pytest.mark.parametrize(
    "path",
    [
        "/api/datasets/yale-nlp/QTSumm/revision/main",
        f"/datasets/yale-nlp/QTSumm/resolve/{COMMIT}/qtsumm_train.json",
    ],
    ids=["listing", "file"],
)
def test_the_token_follows_no_redirect(
    place: Place, elsewhere: UpstreamServer, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    elsewhere.hub("yale-nlp/QTSumm", QTSUMM)
    place.server.lead(path, f"{elsewhere.url}{path}")
    place.pull("qtsumm")
    assert place.files("qtsumm") == QTSUMM  # what is public comes from there all the same
    assert set(tokens(place.server)) == {f"Bearer {TOKEN}"}
    assert tokens(elsewhere) == [None]


def test_netrc_replaces_no_token(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1\nlogin user\npassword secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    place.pull("qtsumm")
    assert set(tokens(place.server)) == {f"Bearer {TOKEN}"}


def test_a_redirect_on_the_same_server_is_followed_with_the_token(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    place.server.hub("new/QTSumm", QTSUMM)
    for name in QTSUMM:
        place.server.lead(
            f"/datasets/yale-nlp/QTSumm/resolve/{COMMIT}/{name}",
            f"/datasets/new/QTSumm/resolve/{COMMIT}/{name}",
        )
    place.pull("qtsumm")
    assert place.files("qtsumm") == QTSUMM
    assert set(tokens(place.server)) == {f"Bearer {TOKEN}"}


def test_a_token_that_cannot_be_sent_is_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_schlüssel")
    message = place.refused("qtsumm")
    assert "HF_TOKEN contains characters outside ASCII" in message
    assert "schl" not in message
    assert place.server.asked == []


# Archives


def packed(*parts: bytes) -> bytes:
    """A gzip file of what `tarball` holds, with raw blocks in front."""
    return gzip.compress(b"".join(parts) + gzip.decompress(tarball(SOUND)))


def header(kind: bytes, content: bytes) -> bytes:
    """An extended header, as tar writes them: a block of its own, and padded content."""
    info = tarfile.TarInfo("top/long")
    info.type, info.size = kind, len(content)
    return info.tobuf() + content + bytes(-len(content) % 512)


def field(name: str, value: str) -> bytes:
    """A field of a pax header; its own length stands in front of it."""
    rest = f" {name}={value}\n"
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length += 1
    return f"{length}{rest}".encode()


MANY = b"".join(header(tarfile.XGLTYPE, field(f"name{n}", "x")) for n in range(21))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (packed(header(tarfile.GNUTYPE_LONGNAME, bytes(70_000))), "longer than any dataset"),
        (packed(header(tarfile.XHDTYPE, field("path", "x" * 70_000))), "longer than any dataset"),
        (packed(*[header(tarfile.XHDTYPE, field("a", "b"))] * 2000), "longer than any dataset"),
        (packed(MANY), "more entries or fields"),
        (tarball({**SOUND, f"csv/1/{'x' * 501}.tsv": b""}), "longer than 500 characters"),
        (tarball(SOUND) + b"rest", "damaged archive"),
        (
            packed(header(tarfile.XHDTYPE, field("size", "-512"))),
            "an entry has a negative size",
        ),
    ],
    ids=["long name", "long field", "chain", "fields", "path", "behind", "negative"],
)
def test_a_hostile_archive_is_bounded(tmp_path: Path, content: bytes, said: str) -> None:
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(content)
    with pytest.raises(DataError, match=said):
        unpack(archive, WANTED, tmp_path / "out")


def test_an_archive_of_too_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "MAX_MEMBERS", 2)
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(tarball(SOUND))
    assert len(unpack(archive, WANTED, tmp_path / "out")[0]) == 2
    archive.write_bytes(tarball({**SOUND, "unwanted": b""}))
    with pytest.raises(DataError, match="more entries"):
        unpack(archive, WANTED, tmp_path / "again")


@pytest.mark.parametrize("comment", ["c0ffee\x1b[2J", "not a commit", "C" * 40])
def test_what_is_no_commit_is_not_said_to_be_one(tmp_path: Path, comment: str) -> None:
    archive = tmp_path / "a.tar.gz"
    plain = gzip.decompress(tarball(SOUND))
    said = header(tarfile.XGLTYPE, field("comment", comment))
    # Behind git's own: the last one counts.
    archive.write_bytes(gzip.compress(plain[:1024] + said + plain[1024:]))
    assert unpack(archive, WANTED, tmp_path / "out") == (sorted(SOUND), None)
