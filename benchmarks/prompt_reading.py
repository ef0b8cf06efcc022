"""How well cut prompts are noticed, and how often whole ones are taken for cut.

    python -m benchmarks.prompt_reading [--prompts 20000]

Makes prompts of random tables in seven serializers and several scripts, with names of countries,
languages and currencies (CLDR). Each is counted by several tokenizers, as a
server's would: a run of one tokenizer has short and long prompts in random order. The table has, by
tokenizer, the alarms over whole prompts and the share of long prompts that are noticed if the
server reads a quarter, a half or two thirds of them.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from babel import Locale
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from pytest_tablebench.models import Message, Reply
from pytest_tablebench.running.prompt_reading import SHORT, PromptReading, counts_of
from pytest_tablebench.serializers import SERIALIZERS
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.tokens import count_tokens

LOCALES = ("en", "de", "ru", "ar", "hi", "zh", "ja", "ko", "th", "el")
FORMATS = ("html", "csv", "json", "markdown", "indexed_row_major", "df", "concat")
SHARES = (0.25, 0.5, 0.667)
"""The parts of a prompt that a server reads."""

Counter = Callable[[str], int]


@cache
def names_of(locale: str) -> list[list[str]]:
    """Return the names of territories, languages and currencies."""
    known = Locale.parse(locale)
    return [list(map(str, part.values())) for part in _parts(known)]


def _parts(locale: Locale) -> Iterator[Mapping[str, str]]:
    yield from (locale.territories, locale.languages, locale.currencies)


def random_prompt(locale: str, serializer: str, draw: random.Random) -> str:
    """Return a question over a random table."""
    names = names_of(locale)
    kinds = [draw.randrange(7) for _ in range(draw.randint(2, 8))]
    header = [draw.choice(names[kind % 3]) for kind in kinds]
    most = draw.choice([8, 60, 200])
    rows = [[_cell(kind, names, draw) for kind in kinds] for _ in range(draw.randint(3, most))]
    words = [draw.choice(draw.choice(names)) for _ in range(draw.randint(3, 30))]
    text = SERIALIZERS[serializer](Table(header, rows))
    return f"{' '.join(words)}\n\n{text}\n\n{words[0]}?"


def drawn_prompt(draw: random.Random) -> str:
    """Return a prompt in a random language and format."""
    return random_prompt(draw.choice(LOCALES), draw.choice(FORMATS), draw)


def _cell(kind: int, names: Sequence[Sequence[str]], draw: random.Random) -> str:
    if kind < len(names):
        return draw.choice(names[kind])
    numbers = (
        str(draw.randint(0, 10 ** draw.randint(1, 9))),
        f"{draw.uniform(-1000, 10**6):,.2f}",
        f"20{draw.randint(10, 29)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}",
        f"{draw.uniform(0, 100):.1f}%",
    )
    return numbers[kind - len(names)]


def tokenizers(training: Sequence[str]) -> dict[str, Counter]:
    """Return the number of tokens of a text, by tokenizer.

    Two are shipped by packages. The others are trained on similar prompts, so that the larger one
    has larger tokens for them than any vocabulary of general use.
    """
    import litellm

    folder = Path(litellm.__file__).parent / "litellm_core_utils/tokenizers"
    others = {"Claude 2": Tokenizer.from_file(str(folder / "anthropic_tokenizer.json"))}
    for size in (4_000, 40_000):
        others[f"BPE of {size:,}"] = trained(training, size)
    return {
        "cl100k": lambda text: count_tokens(text.encode()),
        **{name: _counter(tokenizer) for name, tokenizer in others.items()},
        # A tokenizer with a single token for each character, as of some small models.
        "characters": len,
    }


def _counter(tokenizer: Tokenizer) -> Counter:
    return lambda text: len(tokenizer.encode(text).ids)


def trained(texts: Sequence[str], size: int) -> Tokenizer:
    """Return a byte-level BPE tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def counted(prompts: Sequence[str], count: Counter) -> list[tuple[str, int, bool]]:
    """Return each prompt with its server's count, and whether it is long."""
    around = 12  # the tokens around messages
    return [(text, count(text) + around, counts_of(text)[0] > SHORT) for text in prompts]


def measured(
    prompts: Sequence[tuple[str, int, bool]], share: float = 1.0, *, whole: bool = False
) -> tuple[int, int]:
    """Return the alarms and the number of long prompts of a run.

    `share` of each long prompt is read; with `whole` all of it.
    """
    reading, alarms, long = PromptReading(), 0, 0
    for prompt, tokens, is_long in prompts:
        read = tokens if whole or not is_long else max(1, int(share * tokens))
        long += is_long
        reply = Reply("", prompt_tokens=read)
        alarms += reading.check("model", [Message("user", prompt)], reply) is not None
    return alarms, long


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompts", type=int, default=20_000, help="over all tokenizers")
    options = parser.parse_args(arguments)
    draw = random.Random("prompts")
    training = [drawn_prompt(draw) for _ in range(600)]
    counters = tokenizers(training)
    print(f"{'':<16}{'prompts':>8}{'long':>8}{'alarms':>8}" + "".join(f"{s:>8}" for s in SHARES))
    for name, count in counters.items():
        runs = [
            counted([drawn_prompt(draw) for _ in range(100)], count)
            for _ in range(-(-options.prompts // len(counters) // 100))
        ]
        outcomes = [measured(run, whole=True) for run in runs]
        alarms, long = (sum(counts) for counts in zip(*outcomes, strict=True))
        noticed = [sum(measured(run, share)[0] for run in runs) / long for share in SHARES]
        shown = "".join(f"{share:>8.1%}" for share in noticed)
        print(f"{name:<16}{100 * len(runs):>8,}{long:>8,}{alarms:>8,}{shown}", flush=True)


if __name__ == "__main__":
    main()
