"""What is taken out of everything that is written: secrets known by their names or places."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace

import pytest

from pytest_tablebench.config.addresses import address_fault, header_fault, without_credentials
from pytest_tablebench.config.secrets import (
    keys_in_use,
    placed_secrets,
    redact,
    without_secrets,
)
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.models import LiteLLMModel, Message, Request
from pytest_tablebench.store._line import describe


def hashed(text: str) -> str:
    """As documented: twelve digits of the SHA-256 of the text as JSON."""
    return "sha256:" + hashlib.sha256(f'"{text}"'.encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host:8000/v1", "http://host:8000/v1"),
        ("http://me:pw@host/v1", "http://host/v1"),
        ("http://me:p@w@host/v1", "http://host/v1"),
        ("me:pw@host/v1", "host/v1"),
        ("http://[::1]:80/v1#part", "http://[::1]:80/v1"),
        ("http://host/v1?sig=abc", f"http://host/v1?{hashed('sig=abc')}"),
        ("http://host/v1?" + hashed("sig=abc"), f"http://host/v1?{hashed('sig=abc')}"),
        ("http://me:p/w#x?y@host/v1", f"http://host/v1?{hashed('me:p/w#x?y@')}"),
        ("http://host/sk-abcd1234/v1", f"http://host/{hashed('sk-abcd1234')}/v1"),
        ("http://host/v1/q7Zr93bKx0Lm42Wd", f"http://host/v1/{hashed('q7Zr93bKx0Lm42Wd')}"),
        ("http://host/v1/a1b2c3d4e5", f"http://host/v1/{hashed('a1b2c3d4e5')}"),
        ("http://host/token/abc/v1", f"http://host/token/{hashed('abc')}/v1"),
        ("http://host/in-variable/v1", f"http://host/{hashed('in-variable')}/v1"),
        ("http://host/openai/deployments/gpt-4o-mini-2024-07-18", None),
        ("http://host/openai/deployments/Meta-Llama-3.1-70B-Instruct/v1beta2", None),
        ("http://q7Zr93bKx0Lm42Wd.host/v1", None),
    ],
)
def test_an_address_is_written_without_what_is_secret(url, shown, monkeypatch):
    monkeypatch.setenv("GATEWAY_KEY", "in-variable")
    shown = shown or url
    assert without_credentials(url) == shown
    assert without_credentials(shown) == shown


def test_two_addresses_stay_two_whatever_the_at_belongs_to():
    assert without_credentials("http://one/@v1") != without_credentials("http://two/@v1")
    assert without_credentials("http://h/v1?v=1") != without_credentials("http://h/v1?v=2")
    assert without_credentials("http://h/sk-12345678") != without_credentials(
        "http://h/sk-12345679"
    )


def test_replies_are_searched_only_for_secrets_that_no_answer_contains(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", "sk-in-variable")
    monkeypatch.setenv("OTHER_API_KEY", "placeholder")  # a word
    headers = {"auth": "h-secret-1", "accept": "text/html", "version": "2023-06-01", "n": "a1"}
    keys = keys_in_use(placed_secrets("http://h/v1/a1b2c3d4e5", {"extra_headers": headers}))
    assert {"sk-in-variable", "h-secret-1", "a1b2c3d4e5"} <= keys
    assert not keys & {"placeholder", "text/html", "2023-06-01", "a1"}


@pytest.mark.parametrize("mark", "/?#")
def test_an_address_with_a_password_that_ends_it_is_refused(mark):
    fault = address_fault(f"http://me:hunter{mark}2@host/v1")
    assert fault is not None
    assert "%2F" in fault
    assert "hunter" not in fault
    assert address_fault("http://me:p%2Fw@host/v1?x=1#y") is None


@pytest.mark.parametrize("url", ["http://host\n/v1", "http://ho st/v1", "http://h/\x1b[2J", "h"])
def test_an_address_that_cannot_be_sent_is_refused(url):
    assert address_fault(url) is not None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("sk-abc", None),
        ("a\tb c", None),
        ("sk\n", "a line end"),
        ("sk\r", "a line end"),
        ("schlüssel", "characters outside ASCII"),
        ("a\x00", "a control character"),
    ],
)
def test_what_a_header_cannot_hold(text, fault):
    assert header_fault(text) == fault


PLACED = {
    "extra_query": {"pwd": "q-one", "subscription-key": "q-two", "n": 7, "more": ["q-three"]},
    "extra_headers": {"Cookie": "h-one", "jwt": "Bearer h-two"},
}


def test_values_of_headers_and_queries_are_written_as_digests():
    assert without_secrets(PLACED) == {
        "extra_query": {
            "pwd": hashed("q-one"),
            "subscription-key": hashed("q-two"),
            "n": "sha256:" + hashlib.sha256(b"7").hexdigest()[:12],
            "more": [hashed("q-three")],
        },
        "extra_headers": {"Cookie": hashed("h-one"), "jwt": hashed("Bearer h-two")},
    }
    assert without_secrets(without_secrets(PLACED)) == without_secrets(PLACED)
    assert without_secrets({"extra_query": "pwd=q-one"}) == {"extra_query": hashed("pwd=q-one")}
    assert without_secrets({"extra_body": PLACED})["extra_body"] == without_secrets(PLACED)
    schema = {"tools": [{"properties": {"query": {"type": "string"}}}]}
    assert without_secrets(schema) == schema


def test_the_key_of_a_request_differs_by_such_a_value_and_its_line_tells_it():
    asked = Request("m", (Message("user", "?"),), PLACED, "http://h/v1")
    other = replace(asked, params={**PLACED, "extra_query": {"pwd": "another"}})
    assert asked.key() != other.key()
    lines = [str(describe(request)) for request in (asked, other)]
    assert lines[0] != lines[1]
    assert not [text for text in ("q-one", "q-two", "h-one", "another") if text in "".join(lines)]


def test_what_stands_in_such_a_place_is_taken_out_of_texts():
    placed = placed_secrets("https://me:p%2Fword@host/v1?sig=signed&x=%41bcdef", PLACED)
    said = (
        "me:p%2Fword, p%2Fword, p/word; signed, %41bcdef, Abcdef; q-one q-two q-three h-one h-two"
    )
    assert redact(said, placed) == ("***, ***, ***; ***, ***, ***; *** *** *** *** ***")
    assert redact("me and 7", placed) == "me and 7"  # too short to say anything


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("at http://me:p/w#x?y@host/v1: gone", "at http://***@host/v1: gone"),
        ("'http://me:p@w@host' or http://b", "'http://***@host' or http://b"),
        ('{"url": "http://h", "mail": "a@b"}', '{"url": "http://h", "mail": "a@b"}'),
    ],
)
def test_a_password_inside_an_address_ends_with_its_last_at(said, shown):
    assert redact(said) == shown


@pytest.mark.parametrize("part", ["://", "://a@", "@", "a://b"])
def test_a_long_text_is_searched_in_no_time(part):
    start = time.process_time()
    redact(part * 100_000)
    assert time.process_time() - start < 5


def test_a_key_of_the_environment_is_found_without_its_line_end(monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "from-the-environment\n")
    assert redact(r"b'from-the-environment\n'") == r"b'***\n'"


def test_no_secret_stands_in_what_a_debugger_shows():
    shown = repr(Settings(api_base="http://me:hunter2@h/v1", params=PLACED))
    shown += repr(LiteLLMModel("m", "http://me:hunter2@h/v1", 1.0))
    assert not [text for text in ("hunter2", "q-one", "h-one") if text in shown]
