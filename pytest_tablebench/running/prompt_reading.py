"""Notice a server that read only a part of a prompt, by the tokens that it counts.

Ollama and other local servers drop the front of a prompt that is longer than their window, and
answer with status 200. The reply names the tokens that were read. They are compared with our own
count, by another tokenizer: a count far below it means that the prompt was cut.

A share of our count is expected that no common tokenizer undercuts (`benchmarks.prompt_reading`):
`EXPECTED` of the tokens of ASCII text, plus `EXPECTED` of a count of words, digits and signs of
other scripts, for which the tokens of one text differ up to fourfold. The count of a model's short
prompts, which no server cuts, corrects the share: a model with larger tokens is expected to count
fewer, one with smaller tokens more, and a server whose counts mean nothing is never accused. Two
prompts of different lengths of which the server counts equally many tokens, too few for either,
show its window.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from itertools import count

from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.util.tokens import count_tokens

EXPECTED = 0.45
"""The share of our count that a server reads at least of a whole prompt."""

SHORT = 1000
"""Tokens of a prompt that every server reads whole."""

ENOUGH, CAUTION, HIGHEST = 5, 0.8, 1.5
"""Short prompts that raise the share, the factor of the lowest one, and the highest factor."""

FULL = 0.8
"""Below this share of our lowest count of a prompt, equal counts of two prompts show a window."""

MOST_SHORT = 20
"""Short prompts of a model that are kept at a time."""

LEAST = 256
"""The smallest window of a server; a lower count is no count of a cut prompt."""

_MOST_CHARACTERS, _USUAL = 3.5, 1.25
"""A prompt is examined above so many characters of a token, or so often the fewest of the model."""

BUILT_IN = "tablebench/"
"""How the names of built-in models begin."""

_SCRIPT = re.compile(r"[^\x00-\x7f]+")
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"\w+")
_CHARACTERS, _OF_DENSE = 8, 0.4
"""Characters of the longest word that one token has, and tokens of a character of dense scripts."""


@dataclass(frozen=True)
class PartlyRead:
    """A prompt of which a server read a part.

    Arguments:
        read: the tokens that the server counts.
        sent: about how many tokens the prompt has.
    """

    read: int
    sent: int

    def __str__(self) -> str:
        return f"the server read {self.read:,} of about {self.sent:,} tokens"


@dataclass
class PromptReading:
    """What the short prompts of each model show about its server's counts."""

    _short: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """By model, short prompts with their server's counts. Ours are made when they are needed."""
    _shares: dict[str, list[float]] = field(default_factory=dict)
    """By model, the shares of the expected counts: the lowest ones, in order."""
    _fewest: dict[str, float] = field(default_factory=dict)
    """By model, the fewest characters of a token of a longer prompt."""
    _lengths: dict[tuple[str, int], float] = field(default_factory=dict)
    """By model and count of its server, our lowest count of the first such prompt."""

    def check(self, model: str, messages: Iterable[Message], reply: Reply) -> PartlyRead | None:
        """Return how a prompt was cut; None if it was read, or if the counts do not show it.

        Prompts with pictures are left out, and built-in models, whose counts are no tokens.
        """
        read = None if model.startswith(BUILT_IN) else reply.prompt_tokens
        text = text_alone(messages) if read else None
        if read is None or text is None:
            return None
        if len(text) <= SHORT:
            self._learn(model, text, read)
            return None
        if not self._is_unusual(model, len(text) / read) or read < LEAST:
            return None
        sent, expected = counts_of(text)
        if sent <= SHORT:
            self._learn(model, text, read)
            return None
        is_cut = read < expected * self._factor(model) or self._is_window(model, read, expected)
        return PartlyRead(read, sent) if is_cut else None

    def _learn(self, model: str, text: str, read: int) -> None:
        """Keep a short prompt, of which every server reads all."""
        prompts = self._short.setdefault(model, [])
        if text.strip() and len(prompts) < MOST_SHORT:
            prompts.append((text, read))

    def _is_window(self, model: str, read: int, expected: float) -> bool:
        """Return whether the server counted as many tokens of a prompt of another length."""
        lowest = expected / EXPECTED
        if read >= FULL * lowest:
            return False
        first = self._lengths.setdefault((model, read), lowest)
        return abs(first - lowest) > 0.1 * lowest

    def _is_unusual(self, model: str, characters: float) -> bool:
        """Return whether a server's count is unusual enough to be examined."""
        fewest = min(characters, self._fewest.get(model, _MOST_CHARACTERS))
        self._fewest[model] = fewest
        return characters > min(_MOST_CHARACTERS, _USUAL * fewest)

    def _factor(self, model: str) -> float:
        """Return the factor of the expected count, from what short prompts show."""
        shares, prompts = self._shares.setdefault(model, []), self._short.get(model, [])
        shares += [read / counts_of(text)[1] for text, read in prompts]
        prompts.clear()
        shares.sort()
        del shares[ENOUGH:]
        highest = HIGHEST if len(shares) == ENOUGH else 1.0
        return min(highest, CAUTION * shares[0]) if shares else 1.0


def text_alone(messages: Iterable[Message]) -> str | None:
    """Return the text of a prompt; None if it contains pictures."""
    texts: list[str] = []
    for message in messages:
        parts = (message.content,) if isinstance(message.content, str) else message.content
        if any(isinstance(part, Image) for part in parts):
            return None
        texts += [part for part in parts if isinstance(part, str)]
    return "\n".join(texts)


def counts_of(text: str) -> tuple[int, float]:
    """Return about how many tokens a text has, and the lowest count to expect."""
    sent = count_tokens(text.encode("utf-8", "replace"))
    if text.isascii():
        return sent, EXPECTED * sent
    plain, other = _SCRIPT.sub(" ", text), " ".join(_SCRIPT.findall(text))
    dense = len(_DENSE.findall(other))
    rest = sum(max(1.0, len(word) / _CHARACTERS) for word in _WORD.findall(_DENSE.sub(" ", other)))
    return sent, EXPECTED * (count_tokens(plain.encode()) + _OF_DENSE * dense + rest)


LONGEST, SHORTEST = 32_000, 500
"""Tokens of the first prompt, and of the shortest one."""

FRONT, END = "marigold", "sandstone"
"""The words in the first and the last line."""


@dataclass(frozen=True)
class FrontCheck:
    """What the replies show.

    Arguments:
        whole: tokens of the longest prompt whose front was read; None if none was.
        lost: tokens of the shortest prompt whose front was lost; None if none was.
        read: tokens that the server counts of that prompt; None if unknown.
        last: the reply to the last prompt.
    """

    whole: int | None
    lost: int | None
    read: int | None
    last: str

    @property
    def text(self) -> str:
        """One sentence."""
        if self.lost is None:
            return f"the front of a prompt of {self.whole:,} tokens is read"
        if self.whole is None:
            return (
                f"the reply names no word of the first line, even of {self.lost:,} tokens: "
                f"{self.last[:80]!r}"
            )
        counted = "" if self.read is None else f" (of {self.lost:,} tokens {self.read:,} are read)"
        return (
            f"the front of a prompt is lost between {self.whole:,} and {self.lost:,} tokens"
            f"{counted}: give the server a longer context"
        )


def front_check(longest: int = LONGEST) -> Generator[Ask, Reply, FrontCheck]:
    """Ask a prompt of so many tokens, then halves of it until its front is read.

    Prompts have about the tokens of our tokenizer; a model's own count differs by up to a third.
    """
    length, lost, read = longest, None, None
    while True:
        prompt, tokens = prompt_of(length)
        reply = yield Ask((Message("user", prompt),))
        if FRONT in reply.text.lower():
            return FrontCheck(tokens, lost, read, reply.text)
        lost, read = tokens, reply.prompt_tokens
        length //= 2
        if length < SHORTEST:
            return FrontCheck(None, lost, read, reply.text)


def prompt_of(length: int) -> tuple[str, int]:
    """Return a prompt of about so many tokens, and their number."""
    lines, tokens = [], 0
    for number in count(1):
        line = f"Row {number}: {number * 7919 % 1000}"
        tokens += count_tokens(line.encode()) + 1
        if tokens >= length - 60:
            break
        lines.append(line)
    text = "\n".join(
        [
            f"The first word is {FRONT}.",
            *lines,
            f"The last word is {END}.",
            "What is the first word, and what is the last word? Reply with these two words only.",
        ]
    )
    return text, count_tokens(text.encode())
