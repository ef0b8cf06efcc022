"""`tablebench warm`: prepare runs, so that their first call need not wait for litellm."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import settings_of
from pytest_tablebench.config.efforts import effort_params
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.models import Request
    from pytest_tablebench.running.model_facts import Resolutions
    from pytest_tablebench.store import Store

SMALLEST_PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8cfc0f01f0005000100ff8f5ee80000000049454e44ae426082"
)


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
    parser = commands.add_parser(
        "warm",
        help="prepare a model, so that the first call of a run need not wait for litellm",
        description="Keeps litellm's translation of requests and its facts about models with the "
        "answers. Nothing is sent. Runs keep both themselves; this is for images and caches that "
        "are made before any run.",
    )
    parser.add_argument("models", nargs="+", metavar="MODEL", help="as for pytest --model")
    parser.add_argument(
        "--bench-api-base",
        metavar="URL",
        help="address of the models' server. Default: the provider's",
    )
    parser.add_argument(
        "--bench-param", action="append", metavar="K=V", help="parameter of every call. Repeatable"
    )
    parser.add_argument("--bench-timeout", metavar="S", help="seconds of a call. Default: 120")
    parser.add_argument("--bench-store", metavar="DIR", help="folder of the answer store")
    parser.set_defaults(lines=_warm)


def _warm(options: argparse.Namespace) -> tuple[list[str], int]:
    """Return a line for each model, and 1 if nothing could be kept for one of them.

    Raises `SettingsError` without a store, and `ModelError` if litellm cannot be imported.
    """
    from pytest_tablebench.models.translation.environment import record
    from pytest_tablebench.running.model_facts import Resolutions
    from pytest_tablebench.store import Store

    settings = settings_of(options)
    folder = settings.store_folder()
    if folder is None:
        raise SettingsError("--bench-store: name a folder; without a store nothing is kept")
    record()  # before litellm reads the environment
    with Store.open(folder) as store:
        facts = Resolutions(
            lambda: store, lambda _, question: _facts(store, question), replay=False
        )
        counts = {model: _prepared(settings, facts, model) for model in options.models}
    lines = [
        f"{printable(model)}: {counted(count, 'form')} of requests kept in {folder}"
        if count
        else f"{printable(model)}: only its facts are kept, because litellm calls its provider"
        for model, count in counts.items()
    ]
    return lines, int(not all(counts.values()))


def _facts(store: Store, question: Mapping[str, Any]) -> dict[str, Any]:
    from pytest_tablebench.models.litellm_facts import facts_entry, resolve

    facts = resolve(question["model"], question["api_base"], question["params"]).to_json()
    store.put_resolution(facts_entry(question, facts))
    return facts


def _prepared(settings: Settings, facts: Resolutions, name: str) -> int:
    """Keep a model's facts and translation; return how many forms of requests are kept."""
    from pytest_tablebench.models import LiteLLMModel, make_provider, may_be_direct
    from pytest_tablebench.models.direct import DirectModel
    from pytest_tablebench.models.translated import TranslatedModel
    from pytest_tablebench.models.translation.place import FOLDER

    model = make_provider(name, api_base=settings.api_base, timeout=settings.timeout)
    if not isinstance(model, LiteLLMModel):
        raise SettingsError(f"{printable(name)} needs no litellm, so there is nothing to prepare")
    requests = list(_requests(settings, facts, model))
    folder = settings.store_folder()
    if folder is None or not may_be_direct(name):
        return 0
    direct = DirectModel(model, connections=1, tell=lambda _: None)
    translated = TranslatedModel(model, direct, folder / FOLDER, lambda _: None)
    return asyncio.run(translated.prepare(requests))


def _requests(settings: Settings, facts: Resolutions, model: Any) -> Iterable[Request]:
    """Yield a request for each form in which built-in datasets ask."""
    from pytest_tablebench.models import Message, Request
    from pytest_tablebench.running.builtins import command_registry
    from pytest_tablebench.serializers.content import Content, Image

    system = Message("system", "S")
    picture = Image("image/png", SMALLEST_PICTURE)
    # A provider may treat blanks at the ends of a text differently.
    contents: list[Content] = [
        content for text in ("Q", "Q\n") for content in (text, (text, picture))
    ]
    datasets = command_registry(settings.data).datasets.values()
    seen: list[Mapping[str, Any]] = []
    efforts = [effort_params(name) for name in settings.efforts or ()] or [{}]
    for dataset, effort in product(datasets, efforts):
        declared = {**settings.request_params(dataset.params), **effort}
        resolution = facts.about(model, declared)
        params = {} if resolution is None else resolution.params
        if params in seen:
            continue
        seen.append(params)
        for content in contents:
            user = Message("user", content)
            yield Request(model.model, (user,), params)
            yield Request(model.model, (system, user), params)
