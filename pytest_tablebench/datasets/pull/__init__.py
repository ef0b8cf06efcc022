"""Download of upstream dataset files: `tablebench pull`."""

from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets.pull._pull import pull, sources
    from pytest_tablebench.datasets.pull._upstream import File, Licence, Upstream
    from pytest_tablebench.datasets.pull.known import UPSTREAM

__all__ = ["UPSTREAM", "File", "Licence", "Upstream", "pull", "sources"]

__getattr__ = lazily(
    __name__,
    {
        "known": ("UPSTREAM",),
        "_pull": ("pull", "sources"),
        "_upstream": ("File", "Licence", "Upstream"),
    },
)
