"""How pages and reports name verdicts and kinds of evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pytest_tablebench.audit.suspects import EvidenceKind
from pytest_tablebench.results.corrections import Verdict

VERDICT_NAMES: Mapping[Verdict, str] = {
    "right": "Gold right",
    "wrong": "Gold wrong",
    "several": "Several answers right",
    "unclear": "Question unclear",
    "broken": "Table broken",
}

EVIDENCE_NAMES: Mapping[EvidenceKind, str] = {
    "agreement": "models agree",
    "program": "program on the table",
    "derivation": "derived by rule",
    "absent": "not in the table",
    "other_gold": "other gold, same question",
    "unit": "unit or rounding",
    "judge": "a judge",
    "table": "fault of the table",
}

_MOST = 1000


def odds_text(weight: float) -> str:
    """Return how far an evidence's weight speaks against the gold, or for it, as odds."""
    ratio = math.exp(min(abs(weight), math.log(_MOST) + 1)) if math.isfinite(weight) else math.inf
    if ratio < 1.05:
        return "neutral"
    if ratio > _MOST:
        number = f"over {_MOST:,}"
    else:
        number = f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.1f}"
    return f"{number} : 1 {'against' if weight > 0 else 'for'} the gold"
