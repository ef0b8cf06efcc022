"""A year of watching: false alarms, and the looks until a drop is found, by simulation.

    python -m benchmarks.watch [--runs 400] [--looks 365] [--year FILE]

A case has a probability of a right answer. A share of the cases, the noise, varies from run to run;
the others always give the same answer. Most clusters are one case, some two or three. Half of the
clusters draw one number for all their cases, so their answers change together. `--year FILE` draws
one watch in which the model drops by .05 after half a year.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from pytest_tablebench.claims.drift import AnswerTest, DriftTest

CANARIES, NOISES, DROPS = (60, 200), (0.0, 0.1, 0.3), (0.02, 0.05, 0.10)


@dataclass
class World:
    """A model over a canary: probabilities of a right answer, and clusters.

    Arguments:
        cases: the number of cases.
        noise: the share of cases whose answers vary.
        seed: of the world and of its answers.
        repeats: of the reference.
    """

    cases: int
    noise: float
    seed: int
    repeats: int = 3

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        sizes = self._random.choice([1, 2, 3], self.cases, p=[0.8, 0.15, 0.05])
        self.clusters = np.repeat(np.arange(self.cases), sizes)[: self.cases]
        names = np.unique(self.clusters)
        noisy = self._random.random(len(names)) < self.noise
        self._shared = (self._random.random(len(names)) < 0.5)[self.clusters]
        settled = (self._random.random(self.cases) < 0.7).astype(float)
        level = self._random.uniform(0.05, 0.95, len(names))[self.clusters]
        self.right = np.where(noisy[self.clusters], level, settled)

    def run(self, right: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of one run."""
        alone = self._random.random(self.cases)
        together = self._random.random(self.cases)[self.clusters]
        draws = np.where(self._shared, together, alone)
        return (draws < (self.right if right is None else right)).astype(float)

    def dropped(self, drop: float) -> np.ndarray:
        """Return the probabilities after a drop of the mean, in cases drawn at random."""
        right = self.right.copy()
        left = drop * self.cases
        for place in self._random.permutation(self.cases):
            step = min(left, right[place])
            right[place] -= step
            left -= step
        return right

    def watch(self) -> DriftTest:
        """Return a watch with its reference."""
        reference = np.array([self.run() for _ in range(self.repeats)]).T
        return DriftTest(reference, self.clusters.tolist())


def alarm(world: World, looks: int, drop: float = 0.0, after: int = 0) -> int | None:
    """Return the look, from 1, at which a drift is found; None if none is found.

    Arguments:
        world: the model and its canary.
        looks: the number of looks.
        drop: of the mean score.
        after: the number of looks before the drop.
    """
    watch = world.watch()
    right = world.dropped(drop)
    for look in range(1, looks + 1):
        watch.look(world.run(right if look > after else None))
        if watch.alarm() is not None:
            return look
    return None


def changed_answers(seed: int, *, swapped: float, cases: int = 60, looks: int = 30) -> int | None:
    """Return the look at which other answers of the same quality are noticed, if any.

    `swapped` is the share of cases whose answer is another one, right or wrong as before. A tenth
    of the cases varies between two answers. The reference has ten repeats.
    """
    random = np.random.default_rng(seed)
    noisy, other = random.random(cases) < 0.1, random.random(cases) < swapped

    def marks(*, is_new: bool) -> list[int]:
        varied = 1 + noisy * (random.random(cases) < 0.5)
        return [int(mark) for mark in varied + 10 * (other & is_new)]

    reference = list(zip(*(marks(is_new=False) for _ in range(10)), strict=True))
    watch = AnswerTest(reference, list(range(cases)))
    for look in range(1, looks + 1):
        watch.look(marks(is_new=True))
        if watch.has_changed():
            return look
    return None


def quantile(delays: list[int | None], share: float, looks: int) -> str:
    """Return the look by which this share of the watches has found the drop."""
    ordered = sorted(looks + 1 if delay is None else delay for delay in delays)
    value = ordered[min(len(ordered) - 1, int(share * len(ordered)))]
    return "-" if value > looks else str(value)


def year(path: Path) -> None:
    """Draw a watch in which the mean score drops by .05 after half a year."""
    from matplotlib.figure import Figure

    world = World(200, 0.1, seed=3, repeats=10)
    watch, right = world.watch(), world.dropped(0.05)
    rows, detected = [], None
    for look in range(1, 366):
        watch.look(world.run(right if look > 182 else None))
        standing = watch.standing()
        drop = standing.drop
        rows.append((standing.recent, drop.value, drop.low, drop.high))
        if detected is None and standing.direction is not None:
            detected = look
    days = np.arange(1, 366)
    points, means, lows, highs = (np.array(column) for column in zip(*rows, strict=True))
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(days, -points, ".", color="#9aa3ad", markersize=3, label="one look")
    axes.fill_between(days, -highs, -lows, color="#3b6fb6", alpha=0.25, label="95 %, all looks")
    axes.plot(days, -means, color="#3b6fb6", label="mean of all looks")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.axvline(182.5, color="black", linestyle=":", label="the model drops by .05")
    if detected is not None:
        axes.axvline(detected, color="#b3261e", label=f"drift found at look {detected}")
    axes.set(xlabel="look", ylabel="score minus reference", xlim=(1, 365))
    axes.legend(loc="lower left", ncols=2, frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--looks", type=int, default=365)
    parser.add_argument("--year", type=Path, metavar="FILE")
    options = parser.parse_args()
    runs, looks = options.runs, options.looks
    if options.year is not None:
        year(options.year)
        return
    print(f"| canary | noise | repeats | false alarms in {looks} looks |", end="")
    print("".join(f" -{drop:.2f}: 50 %, 90 % |" for drop in DROPS))
    print("|---" * (4 + len(DROPS)) + "|")
    for cases in CANARIES:
        for noise in NOISES:
            for repeats in (3, 10):
                worlds = [(cases, noise, seed, repeats) for seed in range(runs)]
                alarms = sum(alarm(World(*world), looks) is not None for world in worlds)
                cells = []
                for drop in DROPS:
                    delays = [alarm(World(*world), looks, drop) for world in worlds[: runs // 4]]
                    cells.append(f"{quantile(delays, 0.5, looks)}, {quantile(delays, 0.9, looks)}")
                rate = f"{100 * alarms / runs:.1f} %"
                print(
                    f"| {cases} | {noise} | {repeats} | {rate} | {' | '.join(cells)} |", flush=True
                )
    for swapped in (0.0, 0.2, 0.5):
        found = [changed_answers(seed, swapped=swapped) for seed in range(runs)]
        seen = [look for look in found if look is not None]
        print(
            f"other answers of equal quality in {swapped:.0%} of the cases: noticed in "
            f"{100 * len(seen) / runs:.1f} % of the watches"
            + (f", after {median(seen):.0f} looks" if seen else "")
        )


if __name__ == "__main__":
    main()
