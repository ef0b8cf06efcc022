"""The model of accuracies and agreement: what it recovers, and what it does not depend on."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.audit._agreement import agreement_of
from pytest_tablebench.audit._ballots import Ballot, options_of

ACCURACY = {"a": 0.6, "b": 0.75, "c": 0.9}


def simulated(
    count: int, seed: int, accuracy: Mapping[str, float], wrong: float = 0.0
) -> list[tuple[Ballot, bool]]:
    """Return ballots of independent voters among 20 answers, and whether each gold is wrong."""
    draw = random.Random(seed)
    ballots = []
    for _ in range(count):
        truth = draw.randrange(20)

        def answer(share: float, truth: int = truth) -> str:
            is_right = draw.random() < share
            return str(truth if is_right else (truth + draw.randrange(1, 20)) % 20)

        gold = answer(1 - wrong)
        votes = {voter: {answer(share): 1.0} for voter, share in accuracy.items()}
        ballots.append((Ballot(gold, votes), gold != str(truth)))
    return ballots


def alike(voters: Sequence[str], count: int = 300, seed: int = 5) -> list[Ballot]:
    """Return ballots of a voter of accuracy .7 under several names; the first is against gold."""
    draw = random.Random(seed)
    answers = ["1"] + [
        "0" if draw.random() < 0.7 else str(draw.randrange(1, 20)) for _ in range(count)
    ]
    return [
        Ballot("0", {voter: {answer: 1.0} for voter in voters})
        if number
        else Ballot("0", {voter: {"1": 1.0} for voter in voters})
        for number, answer in enumerate(answers)
    ] + [Ballot(str(gold), {voter: {str(gold): 1.0} for voter in voters}) for gold in range(20)]


def test_accuracies_and_the_share_of_wrong_golds_are_recovered() -> None:
    ballots = [ballot for ballot, _ in simulated(1500, 1, ACCURACY, wrong=0.1)]
    [estimate] = agreement_of({"d": ballots}).values()
    for voter, accuracy in ACCURACY.items():
        assert estimate.accuracy[voter] == pytest.approx(accuracy, abs=0.035)
    assert estimate.wrong_share == pytest.approx(0.1, abs=0.025)


def test_independent_voters_find_the_wrong_golds() -> None:
    hits, count = 0, 0
    for seed in range(2, 6):
        both = simulated(1000, seed, ACCURACY, wrong=0.05)
        doubts = agreement_of({"d": [ballot for ballot, _ in both]})["d"].doubts
        ranked = sorted(zip(doubts, both, strict=True), key=lambda pair: -pair[0].log_odds)
        wrong = sum(is_wrong for _, is_wrong in both)
        hits += sum(is_wrong for _, (_, is_wrong) in ranked[:wrong])
        count += wrong
    assert hits >= 0.87 * count


def test_suspicions_are_calibrated() -> None:
    """The mean of the probabilities equals the share of wrong golds."""
    ballots = [ballot for ballot, _ in simulated(1000, 3, ACCURACY, wrong=0.08)]
    estimate = agreement_of({"d": ballots})["d"]
    odds = [2.718281828 ** min(doubt.log_odds, 50) for doubt in estimate.doubts]
    assert sum(x / (1 + x) for x in odds) / len(odds) == pytest.approx(0.08, abs=0.02)


def test_an_accurate_voter_counts_more_than_a_weak_one() -> None:
    voters = {"weak": 0.5, "fair": 0.6, "best": 0.95}
    ballots = [ballot for ballot, _ in simulated(600, 4, voters)]
    against_best = Ballot("0", {"weak": {"0": 1.0}, "fair": {"0": 1.0}, "best": {"1": 1.0}})
    against_weak = Ballot("0", {"weak": {"1": 1.0}, "fair": {"0": 1.0}, "best": {"0": 1.0}})
    doubts = agreement_of({"d": [against_best, against_weak, *ballots]})["d"].doubts
    assert doubts[0].log_odds > doubts[1].log_odds
    assert doubts[0].answer == "1"


def test_equal_voters_count_as_one() -> None:
    """Five names of one voter say as much as two, although five independent voters say more."""
    two, five = (
        agreement_of({"d": alike(names)}, estimate=False)["d"] for names in ("ab", "abcde")
    )
    assert five.doubts[0].weight < two.doubts[0].weight + 0.7
    base = [ballot for ballot, _ in simulated(320, 6, dict.fromkeys("abcde", 0.7))]
    ballot = Ballot("0", {voter: {"1": 1.0} for voter in "abcde"})
    independent = agreement_of({"d": [ballot, *base]}, estimate=False)["d"]
    assert independent.doubts[0].weight > five.doubts[0].weight + 3
    assert all(weight > 0.8 for weight in independent.weights.values())


def test_all_cases_of_a_voter_are_one_vote() -> None:
    base = [ballot for ballot, _ in simulated(300, 7, ACCURACY)]

    def weight(share: float) -> float:
        votes = {"a": {"0": 1.0}, "b": {"0": 1.0}, "c": {"1": share, "0": 1 - share}}
        return agreement_of({"d": [Ballot("0", votes), *base]})["d"].doubts[0].weight

    assert weight(0.1) < weight(0.5) < weight(1.0)


def test_without_voters_only_the_prior_speaks() -> None:
    [estimate] = agreement_of({"d": [Ballot("0", {})]}, prior=0.1).values()
    assert estimate.doubts[0].log_odds == pytest.approx(-2.1972246)  # ln(.1 / .9)
    assert estimate.doubts[0].weight == 0


def test_between_two_answers_an_error_is_the_other_answer() -> None:
    """Verdicts have one wrong answer, so voters that err always agree."""
    draw = random.Random(8)
    ballots = []
    for _ in range(300):
        gold = draw.choice(["yes", "no"])
        votes = {}
        for voter, accuracy in ACCURACY.items():
            right = draw.random() < accuracy
            votes[voter] = {gold if right else {"yes": "no", "no": "yes"}[gold]: 1.0}
        ballots.append(Ballot(gold, votes))
    against = Ballot("yes", {voter: {"no": 1.0} for voter in ACCURACY})
    doubts = agreement_of({"d": [against, *ballots]})["d"].doubts
    assert doubts[0].answer == "no"
    assert 0 < doubts[0].weight < 6


votes = st.dictionaries(st.sampled_from("abc"), st.sampled_from("0123"), min_size=1)
elections = st.lists(st.tuples(st.sampled_from("0123"), votes), min_size=2, max_size=12)


def ballots_of(election: Sequence[tuple[str, Mapping[str, str]]]) -> list[Ballot]:
    return [Ballot(gold, {v: {x: 1.0} for v, x in given.items()}) for gold, given in election]


@settings(max_examples=30, deadline=None)
@given(elections, st.randoms(use_true_random=False))
def test_neither_order_nor_spelling_matters(election, random_order) -> None:
    ballots = ballots_of(election)
    first = [doubt.log_odds for doubt in agreement_of({"d": ballots})["d"].doubts]
    order = list(range(len(ballots)))
    random_order.shuffle(order)
    renamed = [
        Ballot(
            f"<{9 - int(ballots[n].gold)}>",
            {
                voter: {f"<{9 - int(x)}>": share for x, share in shares.items()}
                for voter, shares in ballots[n].votes.items()
            },
        )
        for n in order
    ]
    second = [doubt.log_odds for doubt in agreement_of({"d": renamed})["d"].doubts]
    assert second == pytest.approx([first[n] for n in order], abs=1e-6)


def test_rare_answers_share_an_option() -> None:
    votes = {"a": {str(n): 1 / (n + 2) for n in range(20)}}
    assert options_of(Ballot("gold", votes)) == ["gold", *map(str, range(8))]
