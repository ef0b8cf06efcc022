"""Tokens of a picture by the published rules of providers."""

from __future__ import annotations

import pytest

from pytest_tablebench.models import picture_size, picture_tokens
from pytest_tablebench.models.model_table import reads_pictures
from pytest_tablebench.serializers import Image, pictures
from pytest_tablebench.tables.table import Table


@pytest.mark.parametrize(
    ("size", "provider", "model", "tokens"),
    [
        # OpenAI's guide: 1024 x 1024 becomes 768 x 768, four tiles; 2048 x 4096 becomes 768 x 1536.
        ((1024, 1024), "openai", "gpt-4o", 765),
        ((2048, 4096), "openai", "openai/gpt-4.1", 1105),
        ((400, 300), "azure", "azure/gpt-4o-2024-08-06", 255),
        ((400, 300), "openai", "gpt-4o-mini", None),
        ((400, 300), "openai", "o3", None),
        # Anthropic's guide: width x height / 750, the long side at most 1,568.
        ((1000, 1000), "anthropic", "claude-opus-4-5", 1334),
        ((3136, 750), "anthropic", "claude-opus-4-5", 784),
        ((400, 300), "hosted_vllm", "qwen-vl", None),
    ],
)
def test_tokens_follow_the_published_rules(size, provider, model, tokens):
    assert picture_tokens(size, provider, model) == tokens


def test_the_size_is_read_from_the_header_of_a_png():
    [picture] = pictures(Table(["a"], [["b"]]))
    assert picture_size(picture) == tuple(
        int.from_bytes(picture.data[at : at + 4], "big") for at in (16, 20)
    )
    assert picture_size(Image("image/png", b"\x89PNG\r\n\x1a\n" + b"\0" * 16)) is None
    assert picture_size(Image("image/jpeg", b"\xff\xd8")) is None


@pytest.mark.parametrize(
    ("facts", "sees"),
    [
        ({"supports_vision": True}, True),
        ({"supports_vision": False}, False),
        ({"supported_modalities": ["text", "audio"]}, False),
        ({"supported_modalities": ["text", "image"]}, True),
        ({"supports_vision": True, "supported_modalities": ["text"]}, True),
        ({"mode": "chat"}, None),  # many models for pictures have no entry
        ({}, None),
    ],
)
def test_whether_a_model_reads_pictures_is_known_from_its_entry_only(facts, sees):
    assert reads_pictures(facts) is sees
