"""Bodies of any size and shape, as they come out of a socket; figures by hand."""

from __future__ import annotations

import gzip
import json
import time
import zlib

import pytest

from pytest_tablebench.models._body import (
    ERROR,
    KEPT,
    READ,
    SPARE,
    Body,
    MangledBody,
    checked,
    shortened,
)

MOST = 10_000


def read(
    data: bytes, *, most: int = MOST, encoding: str = "", piece: int = 997, limit: int = READ
) -> Body:
    """Feed a body piece by piece, until its end or until it is full."""
    body = Body(most, encoding, read=limit)
    for at in range(0, len(data), piece):
        for _ in body.feed(data[at : at + piece]):
            pass
        if body.full:
            break
    return body


def test_a_body_that_fits_is_as_it_came() -> None:
    data = b'{"a" : "b\\u00e9",\n"c": [1.50]} '
    assert read(data).finish() == data


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("text", ["x", "é", "漢", "😀", '"', "\\", "\n", "a\\u"])
def test_a_long_text_is_cut_and_what_follows_is_kept(text: str, ascii_only: bool) -> None:
    long = text * 20_000
    data = json.dumps({"text": long, "why": "stop"}, ensure_ascii=ascii_only).encode()
    body = read(data)
    value = json.loads(body.finish())
    assert value["why"] == "stop"
    assert long.startswith(value["text"].rstrip("\ud83d"))
    kept = len(value["text"].encode("utf-8", "surrogatepass"))
    assert MOST < kept < MOST + SPARE + 1000  # too long still, so that it can be seen


def test_texts_up_to_the_limit_are_whole_in_a_long_body() -> None:
    value = {"one": "x" * MOST, "two": "é" * (MOST // 2), "three": "y" * 100}
    assert json.loads(read(json.dumps(value).encode()).finish()) == value


def test_a_text_without_an_end_is_closed() -> None:
    body = read(b'{"choices": [{"message": {"content": "' + b"x" * 1_000_000, limit=300_000)
    assert body.full
    value = json.loads(body.finish())
    assert set(value["choices"][0]["message"]["content"]) == {"x"}


@pytest.mark.parametrize(
    ("start", "piece"),
    [(b"[", b"1,"), (b"", b" "), (b"", b"["), (b"[", b"[],"), (b'{"a":"', b'x","'), (b"", b"x")],
)
def test_what_has_no_end_is_no_reply(start: bytes, piece: bytes) -> None:
    body = read(start + piece * 200_000, piece=65536, limit=100_000)
    assert body.full
    with pytest.raises(MangledBody, match="no end"):
        body.finish()


@pytest.mark.parametrize("piece", [b"[", b'["\\n",', b'"x', b'["' + b"x" * 1001 + b'",', b'\\"'])
def test_no_shape_takes_long(piece: bytes) -> None:
    data = b'{"a": ' + piece * (8_000_000 // len(piece))
    start = time.process_time()
    body = read(data, most=1_000_000, piece=65536)
    try:
        kept = len(body.finish())
    except MangledBody:
        kept = 0
    assert time.process_time() - start < 10  # seconds of this process: it takes about one
    assert kept < KEPT + 1_000_000


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "GZIP", "deflate, raw"])
def test_compressed(encoding: str) -> None:
    data = json.dumps({"a": "b" * 5000}).encode()
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = {
        "deflate": zlib.compress(data),
        "deflate, raw": raw.compress(data) + raw.flush(),
    }.get(encoding, gzip.compress(data))
    assert read(packed, encoding=encoding.partition(",")[0]).finish() == data


def test_a_bomb_is_unpacked_only_as_far_as_it_is_read() -> None:
    squeeze = zlib.compressobj(9)
    bomb = squeeze.compress(b'{"text": "') + b"".join(
        squeeze.compress(b"x" * 1_000_000) for _ in range(100)
    )
    body = Body(MOST, "deflate", read=300_000)
    steps = sum(1 for _ in body.feed(bomb + squeeze.flush()))
    assert body.full
    assert steps <= 2  # pieces of 256 KiB; all of it would be 400
    assert len(json.loads(body.finish())["text"]) == MOST + SPARE


@pytest.mark.parametrize(
    ("data", "encoding", "what"),
    [
        (b"nonsense", "gzip", "damaged"),
        (b"nonsense", "deflate", "damaged"),
        (gzip.compress(b'{"a": 1}', mtime=0)[:-9], "gzip", "ends early"),
        (b"", "gzip", "ends early"),
        (b"{}", "br", "nobody asked for"),
        (b"{}", "gzip, gzip", "nobody asked for"),
        (b'"\xff' + b"x" * 20_000, "", "no UTF-8"),
        (b'"\\uZZZZ' + b"x" * 20_000, "", "no JSON"),
    ],
    ids=["no gzip", "no deflate", "cut", "empty", "brotli", "twice", "bytes", "escapes"],
)
def test_mangled(data: bytes, encoding: str, what: str) -> None:
    with pytest.raises(MangledBody, match=what):
        read(data, encoding=encoding).finish()


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 10_000 + b"}", "thousands of digits"),
        (b'{"a": "\xff"}', "no UTF-8"),
        (b'{"a": ', "no JSON"),
        (b"", "no JSON"),
        (b"<html>", "no JSON"),
    ],
)
def test_what_no_parser_takes(body: bytes, what: str) -> None:
    with pytest.raises(MangledBody, match=what):
        checked(body)


@pytest.mark.parametrize("body", [b"{}", b"[1]", b'{"usage": {"prompt_tokens": 7}} ', b"null"])
def test_a_sound_body_is_passed_on_as_it_is(body: bytes) -> None:
    assert checked(body) is body


def test_a_number_too_long_for_python_in_a_usage_costs_the_usage() -> None:
    body = b'{"text": "26", "usage": {"prompt_tokens": %s}}' % (b"7" * 10_000)
    value = json.loads(checked(body))
    assert value["text"] == "26"
    assert value["usage"]["prompt_tokens"] == 0


def test_a_short_error_is_as_it_came() -> None:
    assert shortened(b'{"error": "no" }') == b'{"error": "no" }'


def test_a_long_error_keeps_its_shape() -> None:
    error = {"error": {"message": "slow down " * 10_000, "code": "quota", "param": None}}
    short = json.loads(shortened(json.dumps(error).encode()))
    assert short["error"]["message"] == ("slow down " * 100)
    assert (short["error"]["code"], short["error"]["param"]) == ("quota", None)


@pytest.mark.parametrize(
    "body",
    [b"<p>" * 50_000, b"[" * 100_000, b'["' + b'x","' * 50_000, b'{"%s": 1}' % (b"k" * 9000)],
)
def test_any_long_error_is_short(body: bytes) -> None:
    assert len(shortened(body)) <= ERROR
