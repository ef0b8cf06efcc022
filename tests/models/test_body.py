"""Response bodies of any size and shape; figures worked out by hand."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from pytest_tablebench.models._body import (
    ERROR,
    Body,
    checked,
    shortened,
)
from pytest_tablebench.models._completions import MangledBody

MOST = 10_000


def read(data: bytes, *, most: int = MOST, encoding: str = "", piece: int = 997) -> Body:
    """Feed a body piece by piece, until its end or until it is full."""
    body = Body(most, encoding)
    for at in range(0, len(data), piece):
        for _ in body.feed(data[at : at + piece]):
            pass
        if body.full:
            break
    return body


def test_a_body_within_the_limit_is_unchanged() -> None:
    data = b'{"a" : "b\\u00e9",\n"c": [1.50]} '
    assert read(data).finish() == data


def test_a_body_at_the_limit_is_whole_and_a_longer_one_is_refused() -> None:
    whole = b'"' + b"x" * (MOST - 2) + b'"'
    assert read(whole).finish() == whole
    body = read(whole + b" ")
    assert body.full
    assert body.start == whole
    with pytest.raises(MangledBody, match="longer than 10,000 bytes"):
        body.finish()


def test_a_body_without_an_end_is_read_up_to_the_limit() -> None:
    body = Body(100_000)
    taken = 0
    for _ in range(100):
        taken += sum(1 for _ in body.feed(b"1," * 5000))
        if body.full:
            break
    assert taken == 11  # pieces of 10,000 bytes
    body.forget()
    assert body.start == b""


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "GZIP", "deflate, raw"])
def test_a_compressed_body_is_unpacked_up_to_the_limit(encoding: str) -> None:
    data = json.dumps({"a": "b" * 5000}).encode()
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = {
        "deflate": zlib.compress(data),
        "deflate, raw": raw.compress(data) + raw.flush(),
    }.get(encoding, gzip.compress(data))
    assert read(packed, encoding=encoding.partition(",")[0]).finish() == data


def test_a_compression_bomb_is_unpacked_only_up_to_the_limit() -> None:
    squeeze = zlib.compressobj(9)
    bomb = squeeze.compress(b'{"text": "') + b"".join(
        squeeze.compress(b"x" * 1_000_000) for _ in range(100)
    )
    body = Body(300_000, "deflate")
    steps = sum(1 for _ in body.feed(bomb + squeeze.flush()))
    assert body.full
    assert steps <= 2  # pieces of 256 KiB; all of it would be 400


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"nonsense", "gzip", "damaged"),
        (b"nonsense", "deflate", "damaged"),
        (gzip.compress(b'{"a": 1}', mtime=0)[:-9], "gzip", "ends early"),
        (b"", "gzip", "ends early"),
        (b"{}", "br", "unknown method"),
        (b"{}", "gzip, gzip", "unknown method"),
    ],
    ids=["no gzip", "no deflate", "cut", "empty", "brotli", "twice"],
)
def test_a_damaged_compressed_body_is_refused(data: bytes, encoding: str, message: str) -> None:
    with pytest.raises(MangledBody, match=message):
        read(data, encoding=encoding).finish()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 10_000 + b"}", "thousands of digits"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a": ', "not JSON"),
        (b"", "not JSON"),
        (b"<html>", "not JSON"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(MangledBody, match=message):
        checked(body)


@pytest.mark.parametrize("body", [b"{}", b"[1]", b'{"usage": {"prompt_tokens": 7}} ', b"null"])
def test_a_valid_body_is_unchanged(body: bytes) -> None:
    assert checked(body)[1] is body


def test_a_usage_with_a_number_too_long_for_python_is_dropped() -> None:
    body = b'{"text": "26", "usage": {"prompt_tokens": %s}}' % (b"7" * 10_000)
    value = checked(body)[0]
    assert value["text"] == "26"
    assert value["usage"]["prompt_tokens"] == 0


def test_a_short_error_is_unchanged() -> None:
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
def test_any_long_error_is_shortened(body: bytes) -> None:
    assert len(shortened(body)) <= ERROR
