"""How often the rules for replies err, by replies that people judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_tablebench.claims.estimate import Estimate, clopper_pearson
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.tables import table_of
from pytest_tablebench.running.judged_replies import ErrorRates

if TYPE_CHECKING:
    from pytest_tablebench.running.judged_replies import JudgedReply


def rates_by_kind(replies: Iterable[JudgedReply]) -> dict[str, ErrorRates]:
    """Return the counts of errors by kind of answer, and `all` of them."""
    by_kind = defaultdict[str, list["JudgedReply"]](list)
    for reply in replies:
        by_kind[reply.kind].append(reply)
    rates = {kind: ErrorRates.of(by_kind[kind]) for kind in sorted(by_kind)}
    return rates | {"all": ErrorRates.of(reply for kind in by_kind.values() for reply in kind)}


def judged_replies_report(rates: Mapping[str, ErrorRates]) -> doc.Document:
    """Return the shares of wrong replies called right, and of right ones called wrong."""
    rows = [
        (
            kind,
            doc.Figure(counts.wrong, "count"),
            _share(counts.false_positives, counts.wrong),
            doc.Figure(counts.right, "count"),
            _share(counts.false_negatives, counts.right),
            doc.Figure(counts.unclear, "count"),
        )
        for kind, counts in rates.items()
    ]
    positives, negatives = (
        doc.Column(f"called {verdict}", "estimate", "percent") for verdict in ("right", "wrong")
    )
    columns = ("kind", "wrong replies", positives, "right replies", negatives, "unclear")
    return doc.Document("Verdicts of the rules", [table_of(columns, rows)])


def _share(count: int, total: int) -> Estimate:
    return Estimate(count / total, *clopper_pearson(count, total)) if total else Estimate()
