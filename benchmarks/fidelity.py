"""Differences between the two compat modes on the same replies, by dataset.

    python benchmarks/fidelity.py DATA_FOLDER [--limit 100]

Five replies to every example are scored in both modes: the demonstration's own answer (`gold`),
the same as `Answer: **...**` (`wrapped`), the answer of the next example (`other`), the built-in
lexical model's, and an empty one (`empty`).
`prompts` is the share of prompts over all 35 configurations whose text differs between the modes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import fsum
from pathlib import Path

from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.models import LiteLLMModel, Message, Request, make_provider
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.running.scorer import Scorer
from pytest_tablebench.serializers import SERIALIZERS
from pytest_tablebench.serializers.content import text_of
from pytest_tablebench.tables.perturbations import GRID


def performance(dataset: str, replies: Sequence[tuple[Example, str]], compat: Compat) -> float:
    registry = builtin_registry()
    found, scorer = registry.datasets[dataset], Scorer(registry, compat=compat)
    scores = [
        scorer.score_text(found, reply, example.references, **example.context).score
        for example, reply in replies
    ]
    return fsum(score.value for score in scores if score is not None) / len(scores)


def lexical(prompt: str) -> str:
    model = make_provider("tablebench/lexical")
    assert not isinstance(model, LiteLLMModel)
    return model.complete(Request("lexical", (Message("user", prompt),))).text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--limit", type=int, default=100)
    given = parser.parse_args()
    modes: dict[Compat, Runner] = {
        compat: Runner(Settings(data=given.data, compat=compat, shots=2), builtin_registry())
        for compat in COMPAT_MODES
    }
    kinds = ("gold", "wrapped", "other", "lexical", "empty")
    print(f"{'':15}{'n':>4}" + "".join(f"{kind:>16}" for kind in kinds) + f"{'prompts':>10}")
    print(f"{'':19}" + f"{'fixed  refer.':>16}" * len(kinds))
    for name in builtin_registry().datasets:
        try:
            source = modes["fixed"].source(name)
        except TableBenchError as error:
            print(f"{name:15}{error}")
            continue
        examples = [source.example(key) for key in source.example_ids(given.limit)]
        replies: dict[str, list[tuple[Example, str]]] = {kind: [] for kind in kinds}
        prompts = differing = 0
        for number, example in enumerate(examples):
            other = examples[(number + 1) % len(examples)]
            replies["gold"].append((example, example.target))
            replies["wrapped"].append((example, f"Answer: **{example.target}**"))
            replies["other"].append((example, other.target))
            replies["empty"].append((example, ""))
            for perturbation in GRID:
                for serializer in SERIALIZERS:
                    case = Case(name, example.id, serializer, perturbation, "m", "id")
                    try:
                        texts = [runner.renderer.task(case).prompt for runner in modes.values()]
                    except TableBenchError:
                        continue
                    prompts += 1
                    differing += texts[0] != texts[1]
                    if perturbation == "none" and serializer == "html":
                        replies["lexical"].append((example, lexical(text_of(texts[0]))))
        line = f"{name:15}{len(examples):>4}"
        for kind in kinds:
            values = [performance(name, replies[kind], compat) for compat in COMPAT_MODES]
            line += f"{values[0]:>8.3f}{values[1]:>8.3f}"
        print(line + f"{differing / prompts:>9.1%}" if prompts else line)


if __name__ == "__main__":
    main()
