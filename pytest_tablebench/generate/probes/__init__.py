"""Questions of elementary reading: sizes, cells, rows, columns, merged cells.

A model that cannot answer them in a format cannot read a table in that format.
"""

from pytest_tablebench.generate.probes._probes import PROBES, ProbeGenerator

__all__ = ["PROBES", "ProbeGenerator"]
