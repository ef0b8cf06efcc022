"""Registered providers in a caller: made there by name, and asked many at a time."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from pytest_tablebench.config.addresses import is_shared
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import ModelError, SettingsError, TableBenchError, described
from pytest_tablebench.models.base import Provider, Reply, Request, limited


@dataclass(frozen=True)
class Reference:
    """Where another process finds a function: what makes a provider, or a metric.

    Arguments:
        module: its name.
        attribute: the function or class, in the module.
        file: of a conftest.py, of which a run may have several; None: the module is imported.
        path: where modules are looked for, beside the places that every process knows.
    """

    module: str
    attribute: str
    file: str | None
    path: tuple[str, ...]

    def find(self) -> Callable[..., Any]:
        """Return what stands there. Raises whatever its module raises."""
        sys.path.extend(place for place in self.path if place not in sys.path)
        if self.file is None:
            module = importlib.import_module(self.module)
        elif self.module in sys.modules:
            module = sys.modules[self.module]
        else:
            spec = importlib.util.spec_from_file_location(self.module, self.file)
            if spec is None or spec.loader is None:
                raise ImportError(f"{self.file} is no module")
            module = sys.modules[self.module] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        function: Callable[..., Any] = attrgetter(self.attribute)(module)
        return function


def reference_of(make: object) -> Reference | None:
    """Return where another process finds a function; None where only this one has it.

    That is a function or class that stands in a module under its own name, or what it declares:
    `make.reference = "package.module:attribute"`. With `make.in_process = True` it stays here.

    Raises:
        SettingsError: it declares a reference that is none.
    """
    if getattr(make, "in_process", False):
        return None
    path = tuple(str(Path(place).resolve()) for place in sys.path if place)
    declared = getattr(make, "reference", None)
    if declared is not None:
        module, colon, attribute = str(declared).partition(":")
        if not module or not colon or not attribute:
            raise SettingsError(f"a reference is 'module:attribute', not {declared!r}")
        return Reference(module, attribute, None, path)
    module, attribute = (getattr(make, name, "") for name in ("__module__", "__qualname__"))
    if not module or not attribute or module == "__main__":
        return None
    module_object = sys.modules.get(module)
    try:
        if attrgetter(attribute)(module_object) is not make:
            return None
    except AttributeError:  # made by a function, or a lambda
        return None
    file = getattr(module_object, "__file__", None)
    conftest = file if file is not None and Path(file).name == "conftest.py" else None
    return Reference(module, attribute, conftest, path)


_PATHS = frozenset({"store", "baseline", "data", "results"})


def settings_fields(settings: Settings) -> dict[str, Any]:
    """Return settings as JSON values."""
    return {
        name: [str(entry) if isinstance(entry, Path) else entry for entry in value]
        if isinstance(value, tuple | frozenset)
        else str(value)
        if isinstance(value, Path)
        else dict(value)
        if isinstance(value, Mapping)
        else value
        for name, value in vars(settings).items()
    }


def _path(text: str) -> Path | str:
    """Return a folder; a shared store stays an address."""
    return text if is_shared(text) else Path(text)


def read_settings_fields(values: Mapping[str, Any]) -> Settings:
    """Return the settings that `settings_fields` wrote."""
    settings: dict[str, Any] = {}
    for item in fields(Settings):
        value = values[item.name]
        if item.name in _PATHS and value is not None:
            value = _path(value)
        elif item.name == "readonly_stores":
            value = tuple(map(_path, value))
        elif isinstance(value, list):
            value = frozenset(value) if item.name == "command_line_keys" else tuple(value)
        settings[item.name] = value
    return Settings(**settings)


class CalledProvider:
    """A registered provider, asked for many requests at once.

    Each call under way has an object of its own, made when it is needed and used again: a provider
    is never called from two threads at a time.

    Arguments:
        model: its name.
        reference: where its maker is.
        settings: as JSON values.
        timeout: seconds that a call may take.
        max_reply: bytes of UTF-8 that an answer keeps.
    """

    def __init__(
        self,
        model: str,
        reference: Mapping[str, Any],
        settings: Mapping[str, Any],
        *,
        timeout: float,
        max_reply: int,
    ) -> None:
        self._model = model
        self._reference = Reference(**{**reference, "path": tuple(reference["path"])})
        self._settings = settings
        self._timeout = timeout
        self._max_reply = max_reply
        self._idle: list[Provider] = []
        self._making = threading.Lock()

    async def warm_up(self) -> None:
        """Do nothing: what is wrong with a provider, its first calls say."""

    async def acomplete(self, request: Request) -> Reply:
        """Answer one request, in a thread. Raises `ModelError`."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Reply] = loop.create_future()

        def tell(reply: Reply | None, error: ModelError | None) -> None:
            if answered.done():
                return  # it was given up
            if error is not None:
                answered.set_exception(error)
            elif reply is not None:
                answered.set_result(reply)

        def work() -> None:
            reply, error = None, None
            try:
                reply = self._complete(request)
            except ModelError as failed:
                error = failed
            loop.call_soon_threadsafe(tell, reply, error)

        # Not of a pool: a call that never ends must not keep the process.
        threading.Thread(target=work, daemon=True).start()
        try:
            return await asyncio.wait_for(answered, self._timeout)
        except TimeoutError:
            raise ModelError(
                f"no answer within {self._timeout:g} s (--bench-timeout)",
                reason="timeout",
                retryable=True,
            ) from None

    def _complete(self, request: Request) -> Reply:
        try:
            provider = self._take()
            reply = limited(provider.complete(request), self._max_reply)
        except ModelError:
            raise
        except BaseException as error:  # of a part that is not ours
            why = str(error) if isinstance(error, TableBenchError) else described(error)
            raise ModelError(f"{self._model}: {why}", reason="error") from None
        self._idle.append(provider)
        return reply

    def _take(self) -> Provider:
        with self._making:  # modules are imported once, and makers run one at a time
            if self._idle:
                return self._idle.pop()
            made: Provider
            made = self._reference.find()(self._model, read_settings_fields(self._settings))
            return made


def as_fields(reference: Reference | None) -> dict[str, Any] | None:
    """Return a reference as JSON values."""
    return None if reference is None else asdict(reference)
