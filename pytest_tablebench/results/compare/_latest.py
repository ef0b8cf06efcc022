"""The latest earlier run that says how much a model's scores differ from a baseline's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results._folder import RUN, read_run
from pytest_tablebench.results.compare._sides import setting_differences


def latest_run(model: str, baseline: Path, places: Iterable[Path]) -> Path | None:
    """Return the newest finished run of a model, in one of some folders, that is like a baseline.

    None where there is none. What cannot be read as a run is passed over.
    """
    before = read_run(baseline)
    found: list[tuple[str, Path]] = []
    for place in dict.fromkeys(place.resolve() for place in places):
        for path in sorted(file.parent for file in place.glob(f"*/{RUN}")):
            try:
                run = read_run(path)
            except SettingsError:
                continue
            if run.get("status") != "complete" or run.get("model") != model:
                continue
            if path == baseline.resolve() or any(
                one.unlike for one in setting_differences(before, run)
            ):
                continue
            found.append((str(run.get("end")), path))
    return max(found)[1] if found else None
