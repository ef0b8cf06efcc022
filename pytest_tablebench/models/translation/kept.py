"""A kept translation: what litellm makes of a model's requests, and its file."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_tablebench.config.addresses import without_credentials
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.models.litellm_load import ENVIRONMENT
from pytest_tablebench.models.litellm_model import LiteLLMModel
from pytest_tablebench.models.translation.environment import fingerprint, salted
from pytest_tablebench.models.translation.pieces import Pieces
from pytest_tablebench.models.translation.place import file_of
from pytest_tablebench.models.translation.price import PriceFormula
from pytest_tablebench.util.files import write_whole

FORMAT = 1
"""The version of the files; another version is not read."""

MOST_BYTES = 4_000_000
"""Bytes of the longest file that is read."""

_BASE = re.compile(r"_(API_BASE|BASE_URL)$")
_HOSTS = {
    "deepseek": "api.deepseek.com",
    "groq": "api.groq.com",
    "mistral": "api.mistral.ai",
    "openai": "api.openai.com",
    "openrouter": "openrouter.ai",
    "together_ai": "api.together.xyz",
    "xai": "api.x.ai",
}
_PACKAGES = ("aiohttp", "certifi", "httpx", "litellm", "openai", "pydantic", "pytest-tablebench")
_TABLE = "model_prices_and_context_window_backup.json"


class UnusableTranslation(Exception):
    """A file that is not used; the text says why."""


@dataclass(frozen=True)
class KeptWire:
    """The requests with one set of parameters.

    Arguments:
        provider: litellm's name of the provider.
        url: the complete address.
        headers: all headers except the length and the host, by name.
        compact: whether the body is the JSON of OpenAI's client.
        tls: how the server's certificate is verified; see `tls`.
        bodies: the JSON of the body, by the shape of the messages.
    """

    provider: str
    url: str
    headers: Mapping[str, Pieces]
    compact: bool
    tls: Any
    bodies: Mapping[str, Pieces]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as values of JSON."""
        return {
            **vars(self),
            "headers": {name: pieces.to_json() for name, pieces in self.headers.items()},
            "bodies": {name: pieces.to_json() for name, pieces in self.bodies.items()},
        }

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> KeptWire:
        """Read what `to_json` returns. Raises `LookupError`, `TypeError` or `AttributeError`."""
        texts = {name: fields[name] for name in ("provider", "url")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise TypeError(texts)
        return cls(
            **texts,
            headers={name: Pieces.read(value) for name, value in fields["headers"].items()},
            compact=bool(fields["compact"]),
            tls=fields["tls"],
            bodies={name: Pieces.read(value) for name, value in fields["bodies"].items()},
        )


@dataclass(frozen=True)
class Translation:
    """All that is kept of a model.

    Arguments:
        wires: requests, by the digest of their parameters (`params_digest`).
        prices: formulas of prices, by `price_key`.
        names: the environment variables that litellm read.
    """

    wires: Mapping[str, KeptWire] = field(default_factory=dict)
    prices: Mapping[str, PriceFormula] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def joined(self, other: Translation) -> Translation:
        """Return a translation that also has the entries of another, which replace its own."""
        wires = dict(self.wires)
        for key, wire in other.wires.items():
            old = wires.get(key)
            bodies = {} if old is None else old.bodies
            wires[key] = replace(wire, bodies={**bodies, **wire.bodies})
        prices = {**self.prices, **other.prices}
        return Translation(wires, prices, self.names | other.names)


def params_digest(params: Mapping[str, Any]) -> str:
    """Return the key of a wire: a digest of all parameters."""
    return hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()


def price_key(params: Mapping[str, Any], reply: Mapping[str, Any]) -> str:
    """Return the key of a price: the parameters, and a reply's names of model and service tier."""
    return json.dumps([params_digest(params), reply["model"], reply.get("service_tier")])


def path_of(folder: Path, model: LiteLLMModel) -> Path:
    """Return the file of a model's translation."""
    return file_of(folder, model.model, model.api_base, model.timeout)


def may_be_kept(model: LiteLLMModel) -> bool:
    """Return whether a translation can be kept.

    It cannot with credentials in the address, or with prices that litellm downloads.
    """
    is_local = os.environ.get("LITELLM_LOCAL_MODEL_COST_MAP", "True").lower() == "true"
    return is_local and without_credentials(model.api_base or "") == (model.api_base or "")


def write(folder: Path, model: LiteLLMModel, translation: Translation) -> None:
    """Write a model's translation. Raises `OSError` if the folder cannot be written."""
    salt = secrets.token_hex(16)
    content = {
        "format": FORMAT,
        "model": model.model,
        "api_base": model.api_base,
        "timeout": model.timeout,
        "installed": installed(),
        "salt": salt,
        "environment": fingerprint(translation.names, salt),
        "dotenv": _dotenv_digest(salt),
        "wires": {key: wire.to_json() for key, wire in translation.wires.items()},
        "prices": {key: price.to_json() for key, price in translation.prices.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path_of(folder, model), json.dumps({**content, "digest": _digest(content)}))


def read(folder: Path, model: LiteLLMModel) -> Translation | None:
    """Return a model's translation if it is valid now; None without a file.

    Raises:
        UnusableTranslation: the file is damaged, or something that litellm reads has changed.
    """
    path = path_of(folder, model)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnusableTranslation("its file is too long")
        content = json.loads(path.read_bytes())
        digest = content.pop("digest")
        if digest != _digest(content):
            raise UnusableTranslation("its file is damaged")
        if content["format"] != FORMAT or content["model"] != model.model:
            raise UnusableTranslation("its file has another format")
        if content["installed"] != installed():
            raise UnusableTranslation("other packages are installed now")
        names = content["environment"]
        now = fingerprint(names, content["salt"])
        if now != names:
            changed = sorted(name for name in names if now[name] != names[name])
            raise UnusableTranslation(f"the environment has changed ({', '.join(changed)})")
        if content["dotenv"] != _dotenv_digest(content["salt"]):
            raise UnusableTranslation("the file .env has changed")
        _set_environment()
        if not may_be_kept(model):
            raise UnusableTranslation("litellm downloads its prices")
        wires = {key: KeptWire.read(wire) for key, wire in content["wires"].items()}
        if not all(_is_expected(wire.url, model) for wire in wires.values()):
            raise UnusableTranslation("its address is not the provider's")
        return Translation(
            wires,
            {key: PriceFormula.read(price) for key, price in content["prices"].items()},
            frozenset(names),
        )
    except FileNotFoundError:
        return None
    except OSError:
        raise UnusableTranslation("its file cannot be read") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UnusableTranslation("its file is damaged") from None


def survey(folder: Path) -> list[tuple[str, str | None]]:
    """Return the model of each file, and why its translation is not used; None if it is."""
    models: list[tuple[str, str | None]] = []
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_bytes())
            named = [content[name] for name in ("model", "api_base", "timeout")]
            model = LiteLLMModel(*named)
        except (OSError, ValueError, LookupError, TypeError, TableBenchError):
            models.append((path.name, "its file is damaged"))
            continue
        try:
            read(folder, model)
            models.append((model.model, None))
        except UnusableTranslation as error:
            models.append((model.model, str(error)))
    return models


def discard(folder: Path, model: LiteLLMModel) -> None:
    """Remove a model's file, if that is possible."""
    try:
        path_of(folder, model).unlink(missing_ok=True)
    except OSError:
        return


def _is_expected(url: str, model: LiteLLMModel) -> bool:
    """Return whether requests may be sent to an address.

    A file must not choose the server that receives the key. So the address has to be on the
    provider's server, or on one that an option or a variable names.
    """
    bases = [value for name, value in os.environ.items() if _BASE.search(name)]
    if model.api_base is not None:
        bases = [model.api_base]
    host = _HOSTS.get(model.model.partition("/")[0])
    origins = {urlsplit(base)[:2] for base in bases} | {("https", host)}
    return urlsplit(url)[:2] in origins


@cache
def installed() -> dict[str, Any]:
    """Return what a translation depends on in addition to the environment, as values of JSON."""
    root = _litellm_folder()
    table = None if root is None else root / _TABLE
    return {
        "python": [sys.version, platform.platform(), sys.executable],
        "packages": {name: _version(name) for name in _PACKAGES},
        "litellm": None if root is None else str(root),
        "files": _record_of_litellm(),
        "prices": None if table is None else hashlib.sha256(table.read_bytes()).hexdigest(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _record_of_litellm() -> str | None:
    """Return a digest of the list of litellm's files, which contains a digest of each."""
    try:
        record = distribution("litellm").read_text("RECORD")
    except PackageNotFoundError:
        return None
    return None if record is None else hashlib.sha256(record.encode()).hexdigest()


def _litellm_folder() -> Path | None:
    spec = find_spec("litellm")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _set_environment() -> None:
    """Set the variables that `load` and the import of litellm set."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ.pop("LITELLM_DROP_PARAMS", None)
    dotenv = _dotenv()
    if dotenv is not None:
        from dotenv import load_dotenv

        load_dotenv(dotenv)


def _dotenv() -> Path | None:
    """Return the file that litellm loads: the first .env above its folder, often the project's."""
    root = _litellm_folder()
    if root is None or os.environ.get("LITELLM_MODE", "DEV") != "DEV":
        return None
    places = [folder / ".env" for folder in (root, *root.parents)]
    return next((place for place in places if place.is_file()), None)


def _dotenv_digest(salt: str) -> str | None:
    dotenv = _dotenv()
    return None if dotenv is None else salted(dotenv.read_text("utf-8", "replace"), salt)


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
