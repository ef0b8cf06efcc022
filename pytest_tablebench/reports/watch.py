"""A watch: whether a model has drifted from its reference, and the looks so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import interval, signed, table_of
from pytest_tablebench.util.names import counted, out_of

if TYPE_CHECKING:
    from pytest_tablebench.claims.drift import WatchVerdict

TITLES = {
    "no drift": "no drift",
    "drift": "the model has drifted",
    "not decided": "the last look is unusual, which one look alone does not decide",
    "cannot tell": "this look cannot tell",
}

_STATES: dict[str, doc.State] = {"no drift": "holds", "drift": "fails"}

_LEGEND = (
    "A point is one look. The line is the mean of all looks so far; its band is valid at every "
    "look at once (95 %). An orange line is the look at which drift was found, a dashed line a new "
    "fingerprint of the provider."
)


def watch_report(verdict: WatchVerdict) -> doc.Document:
    """Return the verdict, the chart over the looks, and the looks with the newest first."""
    reference = verdict.reference
    title = doc.Code(reference.model, 80), f": {TITLES[verdict.state]}"
    lead = (
        f"{counted(len(verdict.looks), 'look')}; reference of {reference.time[:10]} with "
        f"{counted(len(reference.cases), 'case')} in {counted(verdict.clusters, 'cluster')}, "
        f"{counted(len(reference.scores[0]), 'repeat')}"
    )
    reasons = [*_results(verdict), *_changes(verdict)]
    blocks: list[doc.Block] = [
        doc.Verdict((*title, f" ({lead})"), _STATES.get(verdict.state, "undecided"), reasons)
    ]
    if chart := _chart_data(verdict):
        blocks.append(doc.Chart("sequence", "Score minus reference", chart))
        blocks.append(doc.Paragraph(_LEGEND, "legend"))
    if verdict.looks:
        blocks.append(doc.Fold("Looks, the newest first", [_looks(verdict)], is_open=True))
    return doc.Document(title, blocks, lead)


def _results(verdict: WatchVerdict) -> Iterator[str]:
    """Yield what the looks show about the score and the answers."""
    if not verdict.looks:
        yield f"score of the reference: {verdict.reference_score:.3f}"
        return
    last, standing = verdict.looks[-1], verdict.standing
    if last.uncounted:
        yield f"the last look does not count: {last.uncounted}"
    if standing is not None:
        yield (
            f"score: {_change(standing.drop)} over all looks; the last counted one "
            f"{0 - standing.recent:+.3f}"
        )
        if standing.drift is not None:
            since = verdict.counted[standing.since or 0]
            yield (
                f"{standing.direction} since look {since.number} of "
                f"{since.entry.time[:10]}: {_change(standing.drift)}"
            )
    if not last.uncounted:
        cases = len(verdict.reference.cases)
        yield (
            f"answers: {out_of(last.new_answers, cases, 'answer')} of this look not in the "
            f"reference; {verdict.noise_share:.1%} of the reference's answers were given by one "
            f"repeat only. With {counted(verdict.clusters, 'cluster')} only a share above "
            f"{verdict.limit:.0%} would in the long run prove a change"
        )


def _change(drop: Estimate) -> str:
    """Return a drop as a change, with its interval."""
    change = drop.negated
    return f"{signed(change.value)} (95 % at every look: {interval(change.interval, 'signed')})"


def _changes(verdict: WatchVerdict) -> Iterator[str]:
    """Yield what changed at the provider and in the project, and how soon drops would be found."""
    yield f"they changed: {'; '.join(verdict.they_changed) or 'nothing seen'}"
    if verdict.we_changed:
        hint = "" if not verdict.looks[-1].uncounted else "; make a new one with --new-reference"
        yield f"we changed: {', '.join(verdict.we_changed)}{hint}"
    else:
        yield "we changed: nothing since the reference"
    parts = [
        f"{drop:.2f} never (raise --canary or --repeats)"
        if looks is None
        else f"{drop:.2f} after about {counted(looks, 'look')}"
        for drop, looks in verdict.delays
    ]
    yield f"a drop that begins now would be found: {', '.join(parts)}"


def _looks(verdict: WatchVerdict) -> doc.TableBlock:
    columns = ("look", doc.Column("day", "text"), "score", "change", "new answers", "no answer")
    rows = [
        (
            f"{look.number}",
            look.entry.time[:10],
            doc.Figure(look.score),
            doc.Figure(None if look.standing is None else 0 - look.standing.recent, "signed"),
            doc.Figure(look.new_answers, "count"),
            doc.Figure(look.missing, "count"),
            doc.Code(" + ".join(look.versions), 80) if look.versions else None,
            doc.Code(look.uncounted, 200) if look.uncounted else None,
        )
        for look in reversed(verdict.looks)
    ]
    texts = (doc.Column("fingerprint", "text"), doc.Column("not counted because", "text"))
    return table_of((*columns, *texts), rows)


def _chart_data(verdict: WatchVerdict) -> dict[str, Any] | None:
    """Return the data of the chart; None without a counted look."""
    rows = [(look.number, look.standing) for look in verdict.looks if look.standing is not None]
    if not rows:
        return None
    points = [(number, 0 - standing.recent) for number, standing in rows]
    band = [
        (number, change.low or 0.0, change.value or 0.0, change.high or 0.0)
        for number, change in ((number, standing.drop.negated) for number, standing in rows)
    ]
    # The reach of the last interval: the wide ones of the first looks are cut.
    last = 1.5 * max(abs(band[-1][1]), abs(band[-1][3]))
    return {
        "points": points,
        "band": band,
        "reach": min(1.0, max(0.05, last, *(abs(change) for _, change in points))),
        "looks": len(verdict.looks),
        "ends": (verdict.looks[0].entry.time[:10], verdict.looks[-1].entry.time[:10]),
        "alarm": next((n for n, standing in rows if standing.direction is not None), None),
        "versions": list(_versions(verdict)),
    }


def _versions(verdict: WatchVerdict) -> Iterator[tuple[int, str]]:
    """Yield the looks at which the fingerprint changed."""
    before = tuple(sorted(verdict.reference.served or verdict.reference.fingerprints))
    for look in verdict.looks:
        if look.versions != before:
            yield look.number, " + ".join(look.versions) or "no fingerprint"
            before = look.versions


def watch_json(verdict: WatchVerdict) -> dict[str, Any]:
    """Return the verdict as JSON values; changes are scores minus the reference's."""
    standing = verdict.standing
    change = standing.drop.negated if standing else Estimate()
    return {
        "model": verdict.reference.model,
        "state": verdict.state,
        "change": {"value": change.value, "low": change.low, "high": change.high},
        "they_changed": list(verdict.they_changed),
        "we_changed": list(verdict.we_changed),
        "looks": [
            {
                "look": look.number,
                "time": look.entry.time,
                "score": look.score,
                "change": None if look.standing is None else 0 - look.standing.recent,
                "new_answers": look.new_answers,
                "no_answer": look.missing,
                "versions": list(look.versions),
                "uncounted": look.uncounted,
            }
            for look in verdict.looks
        ],
    }
