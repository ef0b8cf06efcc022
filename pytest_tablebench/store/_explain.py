"""Explain why a request has no stored answer: the field that differs from stored requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.models.base import Request
from pytest_tablebench.store._layer import Layer
from pytest_tablebench.store._line import describe
from pytest_tablebench.util.names import shortened

NOTHING = "no answer of this case is stored"
LOOKED_AT = 200
"""Largest number of compared requests per case; only cases without an id have more."""

SHOWN = 60
"""Longest value that is shown; for longer values only the length."""

# The order of comparison: the first field that differs is named.
SETTING = ("model", "api_base", "params", "strategy", "step", "repeat", "generation")
_NO_GENERATION = {"generation": ""}  # stored requests without a generation lack the field
_MISSING = object()


class Explainer:
    """Finds the stored request nearest to a request without an answer.

    The nearest is the one whose first difference comes last. Requests of the same case are
    compared first, then those to the same model. The first question reads all entries, later ones
    only the new entries.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._cases: dict[str, list[tuple[int, int]]] = {}
        self._settings: dict[str, dict[str, dict[str, Any]]] = {}
        for number, layer in enumerate(layers):
            layer.added = []
            self._take(number, layer.places())

    def explain(self, request: Request) -> str:
        """Return one line that names the first differing field."""
        for number, layer in enumerate(self._layers):
            if layer.added:
                places, layer.added = layer.added, []
                self._take(number, places)
        requested = {**_NO_GENERATION, **describe(request)}
        stored = self._of_case(request.case_id)
        difference = _nearest(requested, stored)
        if difference is not None:
            return difference or (
                "all stored fields of the request are equal; something that is not stored differs "
                "(user name and password of api_base, secrets in params)"
            )
        others = self._settings.get(request.model)
        if others is None:
            models = ", ".join(sorted(self._settings)[:3])
            stored_models = f"; there are answers of {models}" if models else ""
            return f"{NOTHING}, nor any of {request.model}{stored_models}"
        nearest = _nearest({**requested, "messages": []}, iter(others.values()))
        return f"{NOTHING}; of other cases of {request.model}: {nearest}" if nearest else NOTHING

    def _take(self, number: int, places: Sequence[int]) -> None:
        for position in places:
            data = self._layers[number].read(position)
            stored = _request_of(data)
            if stored is None:
                continue
            self._cases.setdefault(stored["case_id"], []).append((number, position))
            setting = {**{name: stored[name] for name in SETTING}, "messages": []}
            settings = self._settings.setdefault(stored["model"], {})
            settings.setdefault(json.dumps(setting, sort_keys=True), setting)

    def _of_case(self, case_id: str) -> Iterator[dict[str, Any]]:
        for number, position in self._cases.get(case_id, [])[:LOOKED_AT]:
            stored = _request_of(self._layers[number].read(position))
            if stored is not None:
                yield stored


def _request_of(data: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the request in a line, None if this version does not write such requests."""
    stored = data.get("request") if data is not None else None
    if not isinstance(stored, dict):
        return None
    stored = {**_NO_GENERATION, **stored}
    kinds = {"case_id": str, "model": str, "params": dict, "messages": list}
    is_ours = (
        {"case_id", "messages", *SETTING} <= stored.keys()
        and all(isinstance(stored[name], kind) for name, kind in kinds.items())
        and all(isinstance(message, dict) for message in stored["messages"])
    )
    return stored if is_ours else None


def _nearest(requested: Mapping[str, Any], stored: Iterator[dict[str, Any]]) -> str | None:
    """Return the difference from the nearest request: "" if equal, None without requests."""
    best: tuple[tuple[int, ...], str] | None = None
    for candidate in stored:
        difference = next(_differences(requested, candidate), ((len(SETTING) + 1,), ""))
        if best is None or difference[0] > best[0]:
            best = difference
    return best[1] if best is not None else None


def _differences(
    requested: Mapping[str, Any], stored: Mapping[str, Any]
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the place in the order of comparison, and the text, of each difference."""
    for rank, name in enumerate(SETTING):
        if name == "params":
            names = sorted(requested[name].keys() | stored[name].keys())
            for number, param in enumerate(names):
                values = (stored[name].get(param, _MISSING), requested[name].get(param, _MISSING))
                if text := _unlike(f"params.{param}", *values):
                    yield (rank, number), text
        elif text := _unlike(name, stored[name], requested[name]):
            yield (rank,), text
    if len(requested["messages"]) != len(stored["messages"]):
        text = f"messages: stored {len(stored['messages'])}, asked {len(requested['messages'])}"
        yield (len(SETTING),), text
    pairs = enumerate(zip(stored["messages"], requested["messages"], strict=False))
    for number, (old, new) in pairs:
        location = f"messages[{number}]"
        if text := _unlike(f"{location}.role", old.get("role"), new["role"]):
            yield (len(SETTING), number), text
        if old.get("sha256") != new["sha256"]:
            text = (
                f"{location}.content differs (stored {_characters(old)}, asked {_characters(new)})"
            )
            yield (len(SETTING), number), text


def _unlike(name: str, stored: object, requested: object) -> str:
    """Return a text on how two values differ as JSON, "" if they are equal."""
    if stored is _MISSING:
        return f"{name}: not stored, asked {shortened(_value_text(requested), SHOWN)}"
    if requested is _MISSING:
        return f"{name}: stored {shortened(_value_text(stored), SHOWN)}, not asked"
    if _json(stored) == _json(requested):
        return ""
    before, now = _value_text(stored), _value_text(requested)
    if before == now:
        before, now = _json(stored), _json(requested)  # the text 0 and the number 0 look the same
    if max(len(before), len(now)) > SHOWN:
        return f"{name} differs (stored {len(before):,} characters, asked {len(now):,})"
    return f"{name}: stored {before}, asked {now}"


def _value_text(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) and value else _json(value)


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _characters(message: Mapping[str, Any]) -> str:
    count = message.get("characters")
    return f"{count:,} characters" if isinstance(count, int) else "another text"
