"""Parts of a run put together again: one run folder, as if it had never been split."""

from pytest_tablebench.results.merge._merge import Merge, read_merge

__all__ = ["Merge", "read_merge"]
