"""Questions of the most elementary reading: sizes, cells, rows, columns, merged cells.

Whoever cannot answer them in a format cannot read a table in it.
"""

from pytest_tablebench.generate.probes._probes import PROBES, ProbeGenerator

__all__ = ["PROBES", "ProbeGenerator"]
