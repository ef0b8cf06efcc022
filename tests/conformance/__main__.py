"""Replays golden records: `python -m tests.conformance FILE...`.

Prints `kind: equal of total` and the ids of the records that differ, with `-v` what differs, and
exits 1 where any does.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from . import (  # noqa: F401 - they register their replays
    hierarchy,
    other,
    realhitbench,
    statistics,
    tablebench,
    torr,
    treb,
    verdicts,
)
from .replay import REPLAYS, SUMMARIES, Record, read, replay
from .revisions import REVISIONS


def main() -> int:
    """Replay the files named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("-v", "--verbose", action="store_true", help="say what differs")
    options = parser.parse_args()
    different = False
    for path in options.files:
        print(path)
        whole: dict[str, list[Record]] = {}
        wrong: dict[str, list[str]] = {}
        revised: Counter[str] = Counter()
        for kind, name, record in read(path):
            whole.setdefault(kind, []).append(record)
            revised[kind] += name in REVISIONS
            found = replay(kind, record) if kind in REPLAYS else ["no replay of this kind yet"]
            if found:
                note = "".join(f"\n      {line}" for line in found[:5]) if options.verbose else ""
                wrong.setdefault(kind, []).append(name + note)
        for kind, records in whole.items():
            bad, total = list(wrong.get(kind, [])), len(records)
            note = f", {count} of them by a newer rule of ours" if (count := revised[kind]) else ""
            if kind in SUMMARIES:
                shown, differing = SUMMARIES[kind](records)
                note += f", {shown}"
                wrong.setdefault(kind, []).extend(differing)
            print(f"  {kind}: {total - len(bad)} of {total}{note}")
            for name in wrong.get(kind, []):
                print(f"    {name}")
        different = different or any(wrong.values())
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
