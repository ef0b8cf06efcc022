"""Download of upstream dataset files: `tablebench pull`."""

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets.pull._pull import known_sources, pull, sources
    from pytest_tablebench.datasets.pull._upstream import File, Licence, Upstream

__all__ = ["File", "Licence", "Upstream", "known_sources", "pull", "sources"]

__getattr__ = lazily(
    __name__,
    {
        "_pull": ("UPSTREAM", "known_sources", "pull", "sources"),
        "_upstream": ("File", "Licence", "Upstream"),
    },
)
