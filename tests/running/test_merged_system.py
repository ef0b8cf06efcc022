"""Turns of the system, for models that take none."""

from __future__ import annotations

from pytest_tablebench.models import Message
from pytest_tablebench.running.requests import without_system
from pytest_tablebench.serializers.content import Image

PICTURE = Image("image/png", b"\x89PNG\r\n\x1a\n")
SYSTEM, LATER = Message("system", "Be short."), Message("system", "Be kind.")


def test_they_begin_the_first_turn_of_the_user() -> None:
    turns = (SYSTEM, Message("user", "Age?"), Message("assistant", "26"), LATER)
    assert without_system((*turns, Message("user", "Sure?"))) == (
        Message("user", "Be short.\n\nBe kind.\n\nAge?"),
        Message("assistant", "26"),
        Message("user", "Sure?"),
    )


def test_pictures_stay() -> None:
    asked = (SYSTEM, Message("user", ("Look:", PICTURE)))
    assert without_system(asked) == (Message("user", ("Be short.\n\n", "Look:", PICTURE)),)


def test_without_any_nothing_changes() -> None:
    for turns in ((Message("user", "Age?"),), (SYSTEM,)):
        assert without_system(turns) == turns
