"""The broker of a run on a Dask cluster: the broker of `local` with Dask workers as callers.

`python -m pytest_tablebench.executors.dask.broker`
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from pytest_tablebench.errors import missing_package
from pytest_tablebench.executors.dask._callers import DaskCallers
from pytest_tablebench.executors.local import broker


def main() -> int:
    """Serve one run."""
    if find_spec("distributed") is None:
        sys.stderr.write(f"{missing_package('--bench-executor=dask', 'Dask', 'dask')}\n")
        return 2
    return broker.main(DaskCallers)


if __name__ == "__main__":
    sys.exit(main())
