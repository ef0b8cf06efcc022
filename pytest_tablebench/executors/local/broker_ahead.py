"""A broker whose run is not known yet: it lets a caller import its modules and then starts itself.

`python -m pytest_tablebench.executors.local.broker_ahead [litellm]`
"""

from __future__ import annotations

import sys

from pytest_tablebench.executors.local._caller_processes import start_spare


def main() -> int:
    """Serve at most one run."""
    start_spare(*sys.argv[1:])
    from pytest_tablebench.executors.local import broker  # takes a fifth of the caller's time

    return broker.main()


if __name__ == "__main__":
    sys.exit(main())
