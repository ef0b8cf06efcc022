"""How well an audit finds wrong gold answers, against ranking by disagreement alone.

    python -m benchmarks.audit [--data ../shared/data] [--seeds 20] [--share .05]

Takes the real slices of five datasets and replaces a share of the golds: by the answer of another
question, by a value next to it in the table, by the same number in another scale, or with the other
sign. Four scripted models then answer. They err together: all find the same questions hard, and
half of the wrong answers about a question are the same one. Some of their errors are errors of
scale and sign, as some of the wrong golds are. Their runs are written as run folders, read and
audited like any others. Disagreement alone ranks by the share of models whose answer is not the
gold, ties in random order. The second table compares suspicions with the share of wrong golds among
the examples that have them.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from pytest_tablebench.audit.ranking import audit_runs
from pytest_tablebench.audit.suspects import Suspect
from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import Dataset, Example, Source, SourceFacts, open_dataset
from pytest_tablebench.metrics.normal_form import number_in, shown_number
from pytest_tablebench.registry import Registry
from pytest_tablebench.results import Record, RunFolder
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.scorer import Scorer, asked_by
from pytest_tablebench.tables.table import Table

BESIDE = Path(__file__).resolve().parents[2] / "shared/data"

DATASETS = {"wikitq": None, "tabfact": None, "aitqa": None, "tatqa": 400, "realhit_fc": None}
"""The datasets, with the number of examples; None for all of the slice."""

SHARE = 0.05
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
"""The upper ends of the ranges of suspicions that are compared with shares of wrong golds."""

ACCURACIES = {"weak": 0.5, "fair": 0.6, "good": 0.75, "best": 0.9}
SERIALIZERS = ("html", "csv", "json")
HARDNESS = 1.5
"""The standard deviation of the difficulty of questions, in log-odds."""

SHARED_WRONG = 0.5
"""The share of wrong answers that are the question's usual wrong answer."""

RANKINGS = ("audit", "agreement alone", "disagreement")

STABLE = 0.92
"""The share of a model's cases with its usual answer; the others have one of any model."""

VERDICTS = {"entailed": "refuted", "refuted": "entailed"}


def examples_of(name: str, data: Path) -> list[Example]:
    """Return the examples of a slice that have an answer in few words."""
    dataset = builtin_registry().datasets[name]
    source = open_dataset(dataset, data / dataset.folder, compat="fixed", settings={})
    examples = [source.example(example_id) for example_id in source.example_ids(None)]
    short = [e for e in examples if e.references and len(" ".join(e.references).split()) <= 15]
    return short[: DATASETS[name]]


@cache
def cells_of(example_table: Table) -> tuple[tuple[str, ...], ...]:
    """Return the texts of a table's cells."""
    return tuple(tuple(str(cell) for cell in row) for row in example_table.rows)


def wrong_answers(
    example: Example, others: Sequence[Example], draw: random.Random
) -> Iterator[str]:
    """Yield different kinds of wrong answers, in random order."""
    gold = ", ".join(example.references)
    if gold in VERDICTS:
        yield VERDICTS[gold]
        return

    def of_another(*_: object) -> str:
        return ", ".join(draw.choice(others).references)

    kinds: list[Callable[[Example, str, random.Random], str | None]] = [
        _neighbour,
        _scaled,
        _negated,
        of_another,
    ]
    draw.shuffle(kinds)
    for kind in [*kinds, of_another]:
        answer = kind(example, gold, draw)
        if answer and answer.strip() and answer != gold:
            yield answer


def _neighbour(example: Example, gold: str, draw: random.Random) -> str | None:
    """Return a cell next to the gold; None if the gold is no cell."""
    tables = [value for value in example.inputs.values() if isinstance(value, Table)]
    rows = cells_of(tables[0]) if tables else ()
    places = [(r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell == gold]
    if not places:
        return None
    row, column = draw.choice(places)
    steps = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    cells = [rows[r][c] for r, c in steps if 0 <= r < len(rows) and 0 <= c < len(rows[r])]
    return draw.choice(cells) if cells else None


def _scaled(_: Example, gold: str, draw: random.Random) -> str | None:
    number = number_in(gold)
    return None if not number else shown_number(number * draw.choice([10, 100, 1000]))


def _negated(_: Example, gold: str, __: random.Random) -> str | None:
    number = number_in(gold)
    return None if not number else shown_number(-number)


class InjectedSource(Source):
    """Examples in memory, some with another gold."""

    def __init__(self, examples: Mapping[str, Example]) -> None:
        self._examples = examples

    @property
    def facts(self) -> SourceFacts:
        """Return no files."""
        return SourceFacts({})

    def example_ids(self, limit: int | None) -> list[str]:
        """Return the ids."""
        return list(self._examples)[:limit]

    def example(self, example_id: str) -> Example:
        """Return an example."""
        return self._examples[example_id]


def injected_dataset(dataset: Dataset, examples: Mapping[str, Example]) -> Dataset:
    """Return a dataset that reads the given examples, and is the original in all else."""

    class Injected(type(dataset)):  # type: ignore[misc]
        def __init__(self) -> None:
            self.__dict__.update(vars(dataset))

        def open(self, folder: Path, *, compat: Compat = "fixed", **_: Any) -> Source:  # noqa: ARG002
            return InjectedSource(examples)

        def other_golds(self, folder: Path) -> tuple[()]:  # noqa: ARG002
            return ()

    return Injected()


def with_gold(example: Example, answer: str, like: tuple[str, ...]) -> Example:
    """Return an example with another gold, in the form that its dataset uses."""
    references = (answer,) if len(like) == 1 or ", " not in answer else tuple(answer.split(", "))
    context = dict(example.context)
    for name in ("answer", "answers"):
        if isinstance(context.get(name), str):
            context[name] = answer
    return replace(example, references=references, context=context)


@dataclass(frozen=True)
class World:
    """One simulated audit: the folders of its runs, and the examples with a wrong gold."""

    runs: list[Path]
    registry: Registry
    wrong: frozenset[tuple[str, str]]


def is_right(
    registry: Registry, name: str, reply: str, example: Example
) -> tuple[bool, float, Any]:
    """Score a reply as a run does."""
    form = asked_by(registry, name, "direct").for_example(example)
    judged = Scorer(registry).score(form, example, reply)
    value = 0.0 if judged.score is None else judged.score.value
    return value >= registry.datasets[name].threshold, value, judged.prediction


def make_world(
    slices: Mapping[str, Sequence[Example]], seed: int, folder: Path, share: float = SHARE
) -> World:
    """Inject wrong golds, let the models answer, and write their runs."""
    draw = random.Random(f"audit {seed}")
    builtin = builtin_registry()
    count = sum(map(len, slices.values()))
    chosen = set(draw.sample(range(count), round(share * count)))
    datasets, wrong, replies = dict(builtin.datasets), set(), {}
    for number, (name, example) in enumerate(
        (name, example) for name, examples in slices.items() for example in examples
    ):
        published = example
        if number in chosen:
            for answer in wrong_answers(example, slices[name], draw):
                other = with_gold(example, answer, example.references)
                right = ", ".join(example.references)
                if not is_right(builtin, name, right, other)[0]:
                    published = other
                    wrong.add((name, example.id))
                    break
        replies[name, example.id] = published, list(answers_of(example, slices[name], draw))
    for name in slices:
        examples = {key[1]: value[0] for key, value in replies.items() if key[0] == name}
        datasets[name] = injected_dataset(builtin.datasets[name], examples)
    registry = replace(builtin, datasets=datasets)
    runs = [
        write_run(folder / model, replies, registry, number=number, seed=seed)
        for number, model in enumerate(ACCURACIES)
    ]
    return World(runs, registry, frozenset(wrong))


def answers_of(example: Example, others: Sequence[Example], draw: random.Random) -> Iterator[str]:
    """Yield the answer of each model, in the order of `ACCURACIES`."""
    right = ", ".join(example.references)
    hardness = draw.gauss(0, HARDNESS)
    usual = next(wrong_answers(example, others, draw), right)
    for accuracy in ACCURACIES.values():
        # This factor keeps the mean over the difficulties near the accuracy (MacKay 1992).
        level = math.log(accuracy / (1 - accuracy)) * math.sqrt(1 + math.pi * HARDNESS**2 / 8)
        if draw.random() < 1 / (1 + math.exp(hardness - level)):
            yield right
        elif draw.random() < SHARED_WRONG:
            yield usual
        else:
            yield draw.choice([*wrong_answers(example, others, draw), usual])


def write_run(
    path: Path,
    replies: Mapping[tuple[str, str], tuple[Example, list[str]]],
    registry: Registry,
    *,
    number: int,
    seed: int,
) -> Path:
    """Write the run of a model, in several formats."""
    model = path.name
    draw = random.Random(f"cases {seed} {model}")
    folder = RunFolder(path)
    for (name, example_id), (example, answers) in replies.items():
        for serializer in SERIALIZERS:
            reply = answers[number] if draw.random() < STABLE else draw.choice(answers)
            passed, value, prediction = is_right(registry, name, reply, example)
            folder.append(
                Record(
                    case_id=f"{name}/{example_id}/{serializer}/none",
                    model=model,
                    benchmark=registry.datasets[name].benchmark,
                    dataset=name,
                    example_id=example_id,
                    serializer=serializer,
                    perturbation="none",
                    strategy="direct",
                    modality="text",
                    outcome="right" if passed else "wrong",
                    score=value,
                    threshold=registry.datasets[name].threshold,
                    passed=passed,
                    metric=registry.datasets[name].metric,
                    prediction=prediction,
                    raw=reply,
                    references=example.references,
                ).to_line()
            )
    folder.close()
    names = dict.fromkeys(name for name, _ in replies)
    facts: dict[str, Any] = {name: {"files": {}, "notes": [], "problems": []} for name in names}
    folder.write_run({"model": model, "compat": "fixed", "seed": 0, "datasets": facts})
    return path


def by_disagreement(suspects: Sequence[Suspect], seed: int) -> list[Suspect]:
    """Rank by the share of voters that do not mostly give the gold; ties are random."""
    draw = random.Random(f"ties {seed}")

    def share(suspect: Suspect) -> float:
        cases = sum(group.cases for group in suspect.groups)
        return sum(group.cases for group in suspect.groups if not group.is_gold) / max(cases, 1)

    named = sorted(suspects, key=lambda suspect: (suspect.dataset, suspect.example_id))
    return sorted(named, key=lambda suspect: (-share(suspect), draw.random()))


def by_agreement(suspects: Sequence[Suspect]) -> list[Suspect]:
    """Rank by the agreement of voters alone, without the evidence of tables."""

    def weight(suspect: Suspect) -> float:
        return sum(item.weight for item in suspect.evidence if item.kind == "agreement")

    return sorted(suspects, key=lambda suspect: -weight(suspect))


def figures(ranked: Sequence[Suspect], wrong: frozenset[tuple[str, str]]) -> dict[str, float]:
    """Return precision at 20 and 50, and recall at 100."""
    hits = [(suspect.dataset, suspect.example_id) in wrong for suspect in ranked]
    return {
        "precision at 20": sum(hits[:20]) / 20,
        "precision at 50": sum(hits[:50]) / 50,
        "recall at 100": sum(hits[:100]) / len(wrong),
    }


@dataclass(frozen=True)
class Measured:
    """The figures of one simulated audit.

    Arguments:
        wrong: the number of wrong golds.
        rankings: the figures of each of `RANKINGS`.
        suspicions: of all examples, with whether the gold is wrong.
        estimated: the estimated share of wrong golds, the mean over datasets.
        injected: the true one.
    """

    wrong: int
    rankings: list[dict[str, float]]
    suspicions: list[tuple[float, bool]]
    estimated: float
    injected: float


def measured(slices: Mapping[str, Sequence[Example]], seed: int, share: float = SHARE) -> Measured:
    """Return the figures of a world."""
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(slices, seed, Path(folder), share)
        audit = audit_runs(world.runs, registry=world.registry, data=Path(folder))
    rankings = audit.suspects, by_agreement(audit.suspects), by_disagreement(audit.suspects, seed)
    suspicions = [(s.suspicion, (s.dataset, s.example_id) in world.wrong) for s in audit.suspects]
    injected = [
        sum(dataset == name for dataset, _ in world.wrong) / len(examples)
        for name, examples in slices.items()
    ]
    return Measured(
        len(world.wrong),
        [figures(ranked, world.wrong) for ranked in rankings],
        suspicions,
        mean(audit.wrong_share.values()),
        mean(injected),
    )


def calibration(
    suspicions: Sequence[tuple[float, bool]],
) -> Iterator[tuple[float, int, float, float]]:
    """Yield the end of each of `LEVELS`, its number of examples, mean and share of wrong golds."""
    low = 0.0
    for high in LEVELS:
        inside = [pair for pair in suspicions if low <= pair[0] < high]
        if inside:
            suspicion, wrong = (mean(map(float, column)) for column in zip(*inside, strict=True))
            yield high, len(inside), suspicion, wrong
        low = high


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=BESIDE, help="folder with the slices")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--share", type=float, default=SHARE, help="of wrong golds")
    parser.add_argument("--first-seed", type=int, default=100)
    options = parser.parse_args(arguments)
    slices = {name: examples_of(name, options.data) for name in DATASETS}
    counts = ", ".join(f"{name} {len(examples)}" for name, examples in slices.items())
    print(f"examples: {counts}", flush=True)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    results = [measured(slices, seed, options.share) for seed in seeds]
    print(f"wrong golds in each of {len(seeds)} seeds: {mean(r.wrong for r in results):.0f}")
    print(f"{'':<18}" + "".join(f"{name:>18}" for name in (*RANKINGS, "difference")))
    for name in results[0].rankings[0]:
        columns = [[r.rankings[place][name] for r in results] for place in range(len(RANKINGS))]
        ends = zip(columns[0], columns[-1], strict=True)
        columns.append([first - last for first, last in ends])
        shown = (f"{mean(values):.2f} ± {error(values):.3f}" for values in columns)
        print(f"{name:<18}" + "".join(f"{text:>18}" for text in shown))
    print(
        f"share of wrong golds: {mean(r.injected for r in results):.3f}, "
        f"estimated {mean(r.estimated for r in results):.3f}"
    )
    print("suspicion below  examples    mean   wrong")
    for high, count, middle, wrong in calibration([pair for r in results for pair in r.suspicions]):
        print(f"{high:>15.1f}{count:>10,}{middle:>8.3f}{wrong:>8.3f}")


def error(values: Sequence[float]) -> float:
    """Return the standard error of a mean."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


if __name__ == "__main__":
    main()
