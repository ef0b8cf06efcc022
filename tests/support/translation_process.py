"""Make calls in a process of their own: by litellm, or with translations that are kept in a folder.

`python -m tests.support.translation_process MODE FOLDER ADDRESS [CALL...]` writes one JSON object:
the reply or error of each call by its name, and the call that imported litellm. Without names it
makes all calls.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import LiteLLMModel, Request
from pytest_tablebench.models.direct import DirectModel
from pytest_tablebench.models.litellm_model import close
from pytest_tablebench.models.translated import TranslatedModel
from pytest_tablebench.models.translation.environment import record
from tests.support.both_ways import HOSTED, MESSAGES, NAMES
from tests.support.wire_parameters import PARAMS

KINDS = [
    *(("system", kind) for kind in PARAMS),
    *((turns, "the usual") for turns in MESSAGES if turns != "system"),
]


async def outcome(model: LiteLLMModel | TranslatedModel, request: Request) -> Any:
    """Return the fields of a reply without its time, or the text of the error."""
    try:
        reply = await model.acomplete(request)
    except ModelError as error:
        return str(error)
    return {**vars(reply), "latency_s": None}


def made(name: str, mode: str, folder: Path, address: str) -> LiteLLMModel | TranslatedModel:
    """Return a model in one of the modes `litellm`, `make` and `use`."""
    model = LiteLLMModel(model=name, api_base=address, timeout=30.0)
    if mode == "litellm":
        return model
    direct = DirectModel(model, connections=4, tell=lambda _: None)
    return TranslatedModel(model, direct, folder, lambda line: sys.stderr.writelines([line, "\n"]))


async def main(mode: str, folder: Path, address: str, *calls: str) -> dict[str, Any]:
    """Make the calls, one after the other."""
    outcomes: dict[str, Any] = {}
    kept: list[str] = []
    importing: list[str] = []
    for name in NAMES + HOSTED:
        for turns, kind in KINDS:
            call = f"{name} {turns} {kind}"
            if calls and call not in calls:
                continue
            # A refused parameter makes `DirectModel` leave all further calls to litellm.
            model = made(name, mode, folder, address)
            request = Request(name, MESSAGES[turns], PARAMS[kind])
            was_imported = "litellm" in sys.modules
            outcomes[call] = await outcome(model, request)
            importing += [call] if "litellm" in sys.modules and not was_imported else []
            if isinstance(model, TranslatedModel):
                kept += [call] if model.sent is not None else []
                model.keep()
    await close()
    return {"outcomes": outcomes, "kept": kept, "importing": importing}


if __name__ == "__main__":
    record()
    json.dump(asyncio.run(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])), sys.stdout)
