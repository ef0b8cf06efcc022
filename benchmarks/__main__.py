"""The speed tables: each measurement against its yardstick or goal, in one run.

    python -m benchmarks [PART ...] [--quick]

Parts: rouge, fin_qa, serialize, analyses, audit, gates, stopping, judges (coverage of intervals),
shared_tables, large_tables, generate (computing), store, page, allure, snapshots (files), sandbox
(charts), tools (conversations), engine (model calls; about half an hour, with `--quick` a few
minutes), scale (a cluster; half an hour as well).
Without a name, all parts run.
"""

import argparse
import subprocess
import sys

PARTS = (
    "rouge",
    "fin_qa",
    "serialize",
    "analyses",
    "audit",
    "gates",
    "stopping",
    "judges",
    "shared_tables",
    "large_tables",
    "generate",
    "store",
    "page",
    "allure",
    "snapshots",
    "sandbox",
    "tools",
    "engine",
    "scale",
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="engine and scale in reduced size")
    given = parser.parse_args()
    if unknown := set(given.parts).difference(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for part in given.parts or PARTS:
        print(f"== {part}", flush=True)
        quick = {"engine": ["--quick"], "scale": ["--cases=5000"]}
        reduced = quick.get(part, []) if given.quick else []
        subprocess.run([sys.executable, "-m", f"benchmarks.{part}", *reduced], check=True)
