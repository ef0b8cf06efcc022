"""The verdict of a watch: has the model changed, have we, or is it noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_tablebench.claims.differences import Difference
from pytest_tablebench.claims.drift._entries import History, HistoryEntry, our_changes
from pytest_tablebench.claims.drift._sequence import looks_until
from pytest_tablebench.claims.drift._watch import (
    MOST_MISSING,
    AnswerTest,
    DriftStanding,
    DriftTest,
)
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.exit_codes import FAILS, HOLDS, UNDECIDED
from pytest_tablebench.results.run_facts import short_names
from pytest_tablebench.util.arrays import np

State = Literal["no drift", "drift", "not decided", "cannot tell"]

DROPS = (0.02, 0.05, 0.10)
"""The drops whose delay a report states."""


@dataclass(frozen=True)
class LookFacts:
    """A look as a report shows it; `number` counts from 1.

    `standing` is the state after it, None before the first counted look. `uncounted` is why it does
    not count, "" if it does. `versions` are its fingerprints, and `new_answers` the number of
    answers that no repeat of the reference gave.
    """

    number: int
    entry: HistoryEntry
    score: float | None
    missing: int
    new_answers: int
    versions: tuple[str, ...]
    uncounted: str
    standing: DriftStanding | None


@dataclass(frozen=True)
class WatchVerdict:
    """The verdict after the last look.

    `they_changed` and `we_changed` are sentences. `limit` is the share of new answers that noise
    explains, `noise_share` the share that only one repeat of the reference gave. `delays` are the
    looks after which each of `DROPS` is found if it begins now; None if it is not found.
    """

    reference: HistoryEntry
    looks: tuple[LookFacts, ...]
    state: State
    they_changed: tuple[str, ...]
    we_changed: tuple[str, ...]
    noise_share: float
    limit: float
    clusters: int
    delays: tuple[tuple[float, int | None], ...]
    reference_score: float

    @property
    def exit_code(self) -> int:
        """10 for a drift, 11 if the last look cannot tell or is unusual, otherwise 0."""
        return {"no drift": HOLDS, "drift": FAILS}.get(self.state, UNDECIDED)

    @property
    def counted(self) -> list[LookFacts]:
        """The looks that count."""
        return [look for look in self.looks if look.standing is not None]

    @property
    def standing(self) -> DriftStanding | None:
        """The state after the last counted look."""
        return self.counted[-1].standing if self.counted else None


def judge_watch(history: History) -> WatchVerdict:
    """Return the verdict of a history. Raises `SettingsError` if it has no reference.

    A look counts unless too many answers are missing, or data, prompts, settings or parameters
    differ from the reference's. A drift is final: a new reference ends it.
    """
    reference = history.reference
    if reference is None:
        raise SettingsError(f"{history.path} has no reference yet")
    scores = np.array(reference.scores, dtype=float)
    watch = DriftTest(scores, reference.clusters)
    answers = AnswerTest([[int(m, 16) for m in row] for row in reference.answers],
                          reference.clusters)  # fmt: skip
    looks: list[LookFacts] = []
    changes: list[Difference] = []
    drifted = False
    for number, entry in enumerate(history.looks, start=1):
        row = np.array([np.nan if s is None else s for s in entry.scores], dtype=float)
        missing = int(np.isnan(row).sum())
        changes = our_changes(reference.setup, entry.setup)
        ours = [change.text for change in changes if change.category != "package"]
        uncounted = f"we changed {' and '.join(ours)}" if ours else ""
        if not ours and missing > MOST_MISSING * len(row):
            uncounted = f"{missing} of {len(row)} cases have no answer"
        standing, new = None, 0
        if not uncounted:
            watch.look(row)
            standing = watch.standing()
            drifted = drifted or standing.direction is not None
            new = answers.look([0 if m is None else int(m, 16) for m in entry.answers])
        score = None if missing == len(row) else float(np.nanmean(row))
        versions = tuple(sorted(entry.served if reference.served else entry.fingerprints))
        looks.append(LookFacts(number, entry, score, missing, new, versions, uncounted, standing))
    state: State = "no drift"
    if drifted:
        state = "drift"
    elif not looks or looks[-1].uncounted:
        state = "cannot tell" if looks else "no drift"
    elif (standing := looks[-1].standing) is not None and standing.is_unusual:
        state = "not decided"
    counted = sum(look.standing is not None for look in looks)
    return WatchVerdict(
        reference=reference,
        looks=tuple(looks),
        state=state,
        they_changed=_their_changes(reference, looks, answers),
        we_changed=tuple(change.text for change in changes),
        noise_share=answers.noise_share,
        limit=answers.limit,
        clusters=watch.noise.n,
        delays=tuple((drop, looks_until(drop, watch.noise, counted)) for drop in DROPS),
        reference_score=float(scores.mean()),
    )


def _their_changes(
    reference: HistoryEntry, looks: list[LookFacts], answers: AnswerTest
) -> tuple[str, ...]:
    sentences = []
    before = tuple(sorted(reference.served or reference.fingerprints))
    names = short_names({*before, *(version for look in looks for version in look.versions)})
    for look in looks:
        if look.versions != before:
            old, new = (
                " + ".join(names[version] for version in versions) or "none"
                for versions in (before, look.versions)
            )
            sentences.append(f"the fingerprint changed from {old} to {new} at look {look.number}")
            before = look.versions
    if answers.has_changed():
        sentences.append("the answers to the same requests differ by more than noise")
    return tuple(sentences[-5:])
