"""Download of upstream dataset files: `tablebench pull`."""

from pytest_tablebench.datasets.pull._pull import pull, sources
from pytest_tablebench.datasets.pull._upstream import UPSTREAM, File, Licence, Upstream

__all__ = ["UPSTREAM", "File", "Licence", "Upstream", "pull", "sources"]
