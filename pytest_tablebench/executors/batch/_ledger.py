"""The folder of the store that lists the submitted batches.

Each batch has two files. A small one with its state is rewritten at each change. The other contains
its requests (their keys and what the store keeps of a request, no prompts) and is written once. So
every run can tell which requests are pending, whichever run submitted them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pytest_tablebench.config.addresses import without_credentials
from pytest_tablebench.errors import PENDING, ModelError, SettingsError
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import shortened

FOLDER = "batches"
SCHEMA = 1

_KEY = re.compile(rb'\{"key": "([^"\\]+)"')
"""The beginning of a request's line."""


@dataclass(frozen=True)
class Waiting:
    """One request of a batch; `facts` are the fields that the store keeps of it."""

    key: str
    facts: Mapping[str, Any]
    attempt: int = 1


@dataclass(frozen=True)
class Batch:
    """One batch.

    Arguments:
        name: our name, which the provider also stores.
        model, api_base: the model and its address, without secrets.
        state: `prepared` until the provider has confirmed it, then `handed_in`; `read` when all
            outcomes are in the store or in `failed`.
        batch_id, status: the provider's.
        requests: their number.
        failed: fields of the error and the attempt of each failed request, by key.
        calls, prompt_tokens, completion_tokens, cost_usd: the usage; a cost of None is unknown.
        cost_at_most: US dollars that the batch costs if each reply has its maximal length.
        made: the time in ISO 8601.
    """

    name: str
    model: str
    api_base: str | None
    requests: int
    state: Literal["prepared", "handed_in", "read"] = "prepared"
    batch_id: str | None = None
    status: str = ""
    failed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    cost_at_most: float = 0.0
    made: str = ""

    @property
    def committed(self) -> float:
        """US dollars that the batch has cost; before its answers are read, those it may cost."""
        return (self.cost_usd or 0.0) if self.state == "read" else self.cost_at_most


@dataclass(frozen=True)
class Standing:
    """The state of submitted requests: pending, failed, or to be submitted again."""

    under_way: frozenset[str] = frozenset()
    failed: Mapping[str, ModelError] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)
    """Earlier submissions of the requests that are to be submitted again."""


class Ledger:
    """The batches of one store; `store` is the folder of the answers."""

    def __init__(self, store: Path) -> None:
        self.folder = store / FOLDER
        self._lock: Any = None

    def hold(self) -> None:
        """Lock the ledger. Raises `SettingsError` if another run has locked it."""
        from filelock import FileLock, Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise SettingsError(
                f"--bench-executor batch: another run uses {self.folder}; "
                f"wait until it ends, or use another --bench-store"
            ) from None
        self._lock = lock

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def batches(self) -> list[Batch]:
        """Return the batches, the oldest first. Raises `SettingsError` for a damaged file."""
        batches = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                fields = json.loads(path.read_bytes())
                if fields.pop("schema") != SCHEMA or fields["name"] != path.stem:
                    raise ValueError("of another version")
                batches.append(Batch(**fields))
            except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                raise SettingsError(
                    f"{path} cannot be read ({shortened(str(error), 100)}); check "
                    f"the provider's list of batches, and remove the file if none is in progress"
                ) from None
        return sorted(batches, key=lambda batch: batch.made)

    def requests(self, batch: Batch) -> dict[str, Waiting]:
        """Return the requests of a batch by key. Raises `SettingsError` for a damaged file."""
        with _opened(self._requests(batch)) as file:
            rows = [Waiting(**json.loads(line)) for line in file]
        return {request.key: request for request in rows}

    def keys(self, batch: Batch) -> Iterator[str]:
        """Yield the keys of a batch's requests, without parsing the rest of their lines.

        Raises `SettingsError` for a damaged file.
        """
        with _opened(self._requests(batch)) as file:
            for line in file:
                match = _KEY.match(line)
                if match is None or not line.endswith(b"}\n"):
                    raise ValueError("a line is not a request")
                yield match[1].decode("ascii")

    def add(self, batch: Batch, requests: Iterable[Waiting]) -> None:
        """Write a new batch and its requests, before the batch is submitted."""
        lines = (json.dumps(asdict(request)) + "\n" for request in requests)
        write_whole(self._requests(batch), lines, durable=True)
        self.save(batch)

    def save(self, batch: Batch) -> None:
        text = json.dumps({"schema": SCHEMA, **asdict(batch)}, indent=1)
        write_whole(self.folder / f"{batch.name}.json", text, durable=True)

    def drop(self, batch: Batch) -> None:
        for path in (self.folder / f"{batch.name}.json", self._requests(batch)):
            path.unlink(missing_ok=True)

    def _requests(self, batch: Batch) -> Path:
        return self.folder / f"{batch.name}.requests"

    def standing(self, retries: int, max_cost: float | None = None) -> Standing:
        """Return the state of each request.

        A request with a temporary failure is submitted up to `retries` times again, and one that
        a budget refused is submitted again if `max_cost` is higher now. Raises `SettingsError`
        for a damaged file.
        """
        under_way: set[str] = set()
        failed: dict[str, ModelError] = {}
        attempts: dict[str, int] = {}
        for batch in self.batches():
            if batch.state != "read":
                under_way.update(self.keys(batch))
                continue
            for key, fields in batch.failed.items():
                values = dict(fields)
                attempt = int(values.pop("attempt", 1))
                limit = values.pop("limit", None)
                error = ModelError(str(values.pop("message", "")), **values)
                if limit is not None and (max_cost is None or max_cost > limit):
                    attempts[key] = attempt - 1  # it was never submitted
                elif error.retryable and attempt <= retries:
                    attempts[key] = attempt
                else:
                    failed[key] = error
        for key in under_way:
            failed.pop(key, None)
            attempts.pop(key, None)
        return Standing(frozenset(under_way), failed, attempts)

    # Requests that processes collect until the end of the session.

    def spool(self) -> Path:
        """Return a new file for the requests of one process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{os.getpid()}-{secrets.token_hex(4)}.wanted"

    def collected_requests(self) -> Iterator[dict[str, Any]]:
        """Yield the requests that processes have collected, each once."""
        seen = set()
        for path in sorted(self.folder.glob("*.wanted")):
            with path.open("rb") as file:
                for line in file:
                    # A killed process may leave an incomplete line; its next run repeats it.
                    with contextlib.suppress(ValueError):
                        fields = json.loads(line)
                        if fields["key"] not in seen:
                            seen.add(fields["key"])
                            yield fields

    def forget_requests(self) -> None:
        """Remove the collected requests, because they contain prompts."""
        for path in self.folder.glob("*.wanted"):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except (OSError, ValueError, TypeError) as error:
        raise SettingsError(f"{path} cannot be read ({shortened(str(error), 100)})") from None


def pending(model: str) -> ModelError:
    """Return the error of a case whose request is in a batch, or will be."""
    return ModelError(f"{model}: its batch is not answered yet", reason=PENDING)


def written_base(base: str | None) -> str | None:
    """Return an address as the ledger writes it, without credentials."""
    return None if base is None else without_credentials(base)
