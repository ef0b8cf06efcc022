"""Registered providers in a caller: created by name, and called many times in parallel."""

from __future__ import annotations

import asyncio
import base64
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from pytest_tablebench.config.secrets import keys_in_use, placed_secrets
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import ModelError, SettingsError, TableBenchError, described
from pytest_tablebench.models.base import Provider, Reply, Request, limited


@dataclass(frozen=True)
class Reference:
    """The place where another process finds a function: a provider's maker, or a metric.

    Arguments:
        module: the module's name.
        attribute: the function or class in the module.
        file: the path of a conftest.py, of which a run may have several; None: import the module.
        path: additional folders of modules.
    """

    module: str
    attribute: str
    file: str | None
    path: Sequence[str]

    def find(self) -> Callable[..., Any]:
        """Import and return the function. Errors of its module propagate."""
        sys.path.extend(folder for folder in self.path if folder not in sys.path)
        if self.file is None:
            module = importlib.import_module(self.module)
        elif self.module in sys.modules:
            module = sys.modules[self.module]
        else:
            spec = importlib.util.spec_from_file_location(self.module, self.file)
            if spec is None or spec.loader is None:
                raise ImportError(f"{self.file} is not a module")
            module = sys.modules[self.module] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        function: Callable[..., Any] = attrgetter(self.attribute)(module)
        return function


def reference_of(make: object) -> Reference | None:
    """Return where another process finds a function; None if only this process can call it.

    Another process finds a function or class that its module contains under its own name, or that
    declares `make.reference = "package.module:attribute"`. With `make.in_process = True` it stays
    in this process. Raises `SettingsError` for an invalid declared reference.
    """
    if getattr(make, "in_process", False):
        return None
    path = tuple(str(Path(folder).resolve()) for folder in sys.path if folder)
    declared = getattr(make, "reference", None)
    if declared is not None:
        module, colon, attribute = str(declared).partition(":")
        if not module or not colon or not attribute:
            raise SettingsError(f"a reference must be 'module:attribute', not {declared!r}")
        return Reference(module, attribute, None, path)
    module, attribute = (getattr(make, name, "") for name in ("__module__", "__qualname__"))
    if not module or not attribute or module == "__main__":
        return None
    module_object = sys.modules.get(module)
    try:
        if attrgetter(attribute)(module_object) is not make:
            return None
    except AttributeError:  # a local function, or a lambda
        return None
    file = getattr(module_object, "__file__", None)
    conftest = file if file is not None and Path(file).name == "conftest.py" else None
    return Reference(module, attribute, conftest, path)


class CalledProvider:
    """A registered provider that answers many requests at once.

    Each call in flight uses its own provider object, because a provider is never called from two
    threads at once. Objects are created when needed and reused.

    Arguments:
        model: its name.
        reference: the provider's maker.
        settings: the run's settings, pickled, as base64.
        timeout: seconds that a call may take.
        max_reply: bytes of UTF-8 that an answer keeps.
    """

    def __init__(
        self,
        model: str,
        reference: Mapping[str, Any],
        settings: str,
        *,
        timeout: float,
        max_reply: int,
    ) -> None:
        self._model = model
        self._reference = Reference(**reference)
        import pickle  # most runs have no registered provider

        # From the pytest process that keeps the run, never from a file or a model.
        self._settings: Settings = pickle.loads(base64.b64decode(settings))  # noqa: S301
        self._timeout = timeout
        self._max_reply = max_reply
        secrets = placed_secrets(self._settings.api_base, self._settings.params)
        self._keys = keys_in_use(secrets)
        self._idle: list[Provider] = []
        self._making = threading.Lock()

    async def acomplete(self, request: Request) -> Reply:
        """Answer one request, in a thread. Raises `ModelError`."""
        outcome: Future[Reply] = Future()
        outcome.set_running_or_notify_cancel()  # a time-out does not end the thread

        def work() -> None:
            try:
                outcome.set_result(self._complete(request))
            except ModelError as error:
                outcome.set_exception(error)

        # Not in a pool, because a call that never ends must not keep the process alive.
        threading.Thread(target=work, daemon=True).start()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(outcome), self._timeout)
        except TimeoutError:
            raise ModelError(
                f"no answer within {self._timeout:g} s (--bench-timeout)",
                reason="timeout",
                retryable=True,
            ) from None

    def _complete(self, request: Request) -> Reply:
        try:
            provider = self._provider()
            reply = limited(provider.complete(request), self._max_reply, self._keys)
        except ModelError:
            raise
        except BaseException as error:  # any error of the provider's code
            why = str(error) if isinstance(error, TableBenchError) else described(error)
            raise ModelError(f"{self._model}: {why}", reason="error") from None
        self._idle.append(provider)
        return reply

    def _provider(self) -> Provider:
        with self._making:  # modules are imported once, and makers run one at a time
            if self._idle:
                return self._idle.pop()
            make: Callable[..., Provider] = self._reference.find()
            return make(self._model, self._settings)
