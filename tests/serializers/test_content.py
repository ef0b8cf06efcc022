"""Content: texts stay texts, pictures are known by their digest, marks cannot be forged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.models import Message, Request
from pytest_tablebench.models.base import as_openai
from pytest_tablebench.results import MediaFolder
from pytest_tablebench.serializers.content import (
    Image,
    Marks,
    images_of,
    read_fields,
    text_of,
    to_fields,
)

BYTES = b"\x89PNG not looked at"
DIGEST = hashlib.sha256(BYTES).hexdigest()
PICTURE = Image("image/png", BYTES)
OTHER = Image("image/jpeg", b"another")


def request(content: object) -> Request:
    return Request("m", (Message("user", content),))  # type: ignore[arg-type]


def test_a_picture_is_known_by_its_digest() -> None:
    assert PICTURE.digest == DIGEST
    assert PICTURE.file_name == f"{DIGEST}.png"
    assert OTHER.file_name.endswith(".jpg")
    assert "not looked at" not in repr(PICTURE)
    with pytest.raises(SettingsError, match="'image/svg\\+xml'; models take image/png"):
        Image("image/svg+xml", b"<svg onload=1>")


def test_a_text_has_the_key_it_always_had() -> None:
    # Written out by hand: the fields of a request in their order, as JSON without blanks.
    said = '["m",[{"content":"Hi","role":"user"}],{},null,"direct",0,1]'
    assert request("Hi").key() == hashlib.sha256(said.encode()).hexdigest()


def test_keys_and_texts_know_digests_alone() -> None:
    content = ("Look: ", PICTURE, " Well?")
    same = ("Look: ", Image("image/png", bytes(BYTES)), " Well?")
    assert request(content).key() == request(same).key()
    assert request(content).key() != request(("Look: ", OTHER, " Well?")).key()
    assert request(content).text == f"Look: \n[image {DIGEST}.png]\n Well?"
    assert to_fields(content) == ["Look: ", {"image": DIGEST, "media_type": "image/png"}, " Well?"]
    assert images_of(content) == (PICTURE,)
    assert images_of("plain") == ()
    assert text_of("plain") == "plain"


def test_fields_and_a_media_folder_give_the_content_back(tmp_path: Path) -> None:
    media = MediaFolder(tmp_path)
    content = ("a", PICTURE, OTHER)
    fields = json.loads(json.dumps(to_fields(content)))
    with pytest.raises(FileNotFoundError):
        read_fields(fields, media.path)
    for image in (*images_of(content), *images_of(content)):
        media.put(image)
    MediaFolder(tmp_path).put(PICTURE)  # another process has it too
    assert read_fields(fields, media.path) == content
    assert sorted(path.name for path in media.path.iterdir()) == sorted(
        [PICTURE.file_name, OTHER.file_name]
    )
    (media.path / PICTURE.file_name).write_bytes(b"changed")
    with pytest.raises(ValueError, match="the bytes of this picture have changed"):
        read_fields(fields, media.path)


@pytest.mark.parametrize(
    "part",
    [
        {"image": "../../etc/passwd", "media_type": "image/png"},
        {"image": DIGEST, "media_type": "text/html"},
    ],
)
def test_no_path_comes_out_of_a_message(part: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not one of our pictures"):
        read_fields([part], tmp_path)


def test_servers_get_data_urls() -> None:
    # base64 of the bytes, by `printf '\x89PNG not looked at' | base64`
    url = "data:image/png;base64,iVBORyBub3QgbG9va2VkIGF0"
    assert as_openai([Message("user", ("See ", PICTURE)), Message("assistant", "ok")]) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See "},
                {"type": "image_url", "image_url": {"url": url}},
            ],
        },
        {"role": "assistant", "content": "ok"},
    ]


@given(st.lists(st.one_of(st.text(max_size=5), st.just(PICTURE), st.just(OTHER)), max_size=6))
def test_marks_give_the_same_parts_back(parts: list[str | Image]) -> None:
    marks = Marks()
    found = marks.resolve(marks.mark(tuple(parts)))
    joined = found if isinstance(found, tuple) else (found,)
    assert images_of(joined) == images_of(tuple(parts))
    assert text_of(joined) == text_of(tuple(parts))


def test_a_mark_in_the_data_shows_nothing_that_was_not_shown() -> None:
    forged = f"\ue000{OTHER.digest}\ue001"
    marks = Marks()
    assert Marks().resolve(forged) == forged
    assert marks.resolve(f"{marks.mark((PICTURE,))} {forged}") == (PICTURE, f" {forged}")
