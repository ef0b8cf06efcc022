"""RealHiTBench, Data Analysis: answers of six sub-types, scored by ROUGE-L or a judge."""

from __future__ import annotations

from dataclasses import replace

from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets.realhitbench._dataset import RealHit
from pytest_tablebench.datasets.realhitbench._rows import RealHitQuestion
from pytest_tablebench.tables.table_file import TableFile


class Analysis(RealHit):
    """Data analysis; the tag `subtype` is its kind."""

    metric = "realhit_judged"
    threshold = 0.3

    def example(self, row: RealHitQuestion) -> Example:
        """Make the example of a row, with the sub-type and the table that a judge needs."""
        base = super().example(row)
        latex = row.tables.file(row.file, "latex") if row.compat == "reference" else None
        table = TableFile(base.inputs["table"], latex)
        return replace(base, context={**base.context, "subtype": row.subtype, "table": table})


DATASETS = (
    Analysis("realhit_da", "Data Analysis"),
    Analysis("realhit_da", "Data Analysis", long=True),
)
