"""The command `tablebench pull`: fetch the missing files of datasets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pytest_tablebench.datasets.pull._lock import Unwritable, busy, os_error, recorded_source
from pytest_tablebench.datasets.pull._replies import NoAccess, NotThere
from pytest_tablebench.datasets.pull._source_pull import Say, SourcePull
from pytest_tablebench.datasets.pull._transfer import MAX_BYTES, Transfer
from pytest_tablebench.datasets.pull._upstream import SERVERS, Upstream
from pytest_tablebench.datasets.pull.known import UPSTREAM
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.util.names import shortened, unknown_name


def sources(
    names: Iterable[str], upstreams: Mapping[str, Upstream] | None = None
) -> tuple[Upstream, ...]:
    """Return the sources of datasets, each once; `names` are datasets or sources.

    `upstreams` contains all sources by name; None for the sources of the built-in datasets. Raises
    `SettingsError`, with the nearest names, for an unknown name.
    """
    by_name = {
        name: source
        for source in (UPSTREAM if upstreams is None else upstreams).values()
        for name in (source.name, *source.serves)
    }
    chosen: dict[str, Upstream] = {}
    for name in names:
        if name not in by_name:
            raise SettingsError(unknown_name("dataset to pull", name, by_name))
        chosen[by_name[name].name] = by_name[name]
    return tuple(chosen.values())


def pull(
    names: Sequence[str],
    data: Path,
    *,
    say: Say,
    upstreams: Mapping[str, Upstream] | None = None,
    servers: Mapping[str, str] = MappingProxyType({}),
    sleep: Callable[[float], None] = time.sleep,
    bar: bool | None = None,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Fetch the missing files of some datasets into `data/<source>/`.

    Arguments:
        names: datasets or sources.
        data: the data folder; created if missing.
        say: shows a line of text.
        upstreams: see `sources`.
        servers: other addresses of `SERVERS`, by name; they override the environment.
        sleep: waits between attempts.
        bar: whether to draw progress bars; None draws them on a terminal.
        max_bytes: the largest file accepted.

    Raises `SettingsError` for an unknown name before it fetches anything. Raises `DataError` if a
    source failed, after it tried the others.
    """
    chosen = sources(names, upstreams)
    endpoints = {name: _endpoint(servers.get(name), *default) for name, default in SERVERS.items()}
    failures: list[str] = []
    transfer = Transfer(sleep=sleep, bar=bar, max_bytes=max_bytes)
    for upstream in chosen:
        folder = data / upstream.name
        pulls = [
            SourcePull(source, folder, endpoints[source.server], transfer, say)
            for source in (upstream, *upstream.mirrors)
        ]
        try:
            with busy(folder):
                _pull_first(pulls, folder, say)
        except (NoAccess, NotThere) as error:
            hint = f"; {upstream.by_hand.format(folder=folder)}" if upstream.by_hand else ""
            failures.append(f"{upstream.name}: {error}{hint}")
        except DataError as error:
            failures.append(f"{upstream.name}: {error}")
        except OSError as error:
            failures.append(f"{upstream.name}: {os_error(folder, error)}")
    if failures:
        raise DataError(" | ".join(failures))


def _pull_first(pulls: Sequence[SourcePull], folder: Path, say: Say) -> None:
    """Pull from the first source that serves any file: the source itself or a mirror.

    A folder that has files of one of them continues with it. Raises the error of the last one.
    """
    begun = recorded_source(folder)
    if begun is not None:
        pulls = [source for source in pulls if source.upstream.home == begun] or pulls[:1]
    for source in pulls:
        try:
            source.run()
        except DataError as error:
            is_last = source is pulls[-1]
            if is_last or isinstance(error, Unwritable) or recorded_source(folder) is not None:
                raise
            say(f"{source.upstream.name}: {error}; trying another source")
        else:
            return


def _endpoint(setting: str | None, default: str, variable: str) -> str:
    address = (setting or os.environ.get(variable) or default).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise SettingsError(
            f"{variable} takes an address such as {default}, not {shortened(address, 80)!r}"
        )
    return address
