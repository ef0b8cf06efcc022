"""Merge the parts of a run into one run folder, as if the run had never been split."""

from pytest_tablebench.claims.merge._merge import Merge, read_merge

__all__ = ["Merge", "read_merge"]
