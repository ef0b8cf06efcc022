"""Tokens and price of requests: of planned ones, and of those that a command has paid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from pytest_tablebench.errors import STOPPED, ModelError
from pytest_tablebench.models import Reply, Request, Resolution, picture_size, picture_tokens
from pytest_tablebench.running._limits import limit_of
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.serializers.content import images_of

COUNTED = 40
"""Prompts whose tokens are counted; other counts are estimated from lengths."""

CHARACTERS_PER_TOKEN = 4.0


@dataclass(frozen=True)
class Prompt:
    """The text of a request, its token limit, and its picture sizes, None if unknown."""

    text: str
    limit: int | None
    pictures: tuple[tuple[int, int] | None, ...] = ()


def prompt_of(request: Request) -> Prompt:
    """Return the parts of a request that decide its price."""
    contents, limit = [message.content for message in request.messages], limit_of(request.params)
    if all(isinstance(content, str) for content in contents):
        return Prompt(request.text, limit)
    return Prompt(
        "\n".join(
            "".join(part for part in content if isinstance(part, str)) for content in contents
        ),
        limit,
        tuple(picture_size(image) for content in contents for image in images_of(content)),
    )


def tokens_and_price(
    models: ProviderPool,
    model: str,
    facts: Resolution | None,
    prompts: Sequence[Prompt],
    calls: int,
) -> dict[str, Any]:
    """Return tokens and price of so many calls, as fields of `ModelPlan`.

    `prompts` are the prompts of these calls, or a sample of them.
    """
    provider = facts.provider if facts is not None else None
    pictures = [
        [size and picture_tokens(size, provider, model) for size in prompt.pictures]
        for prompt in prompts
    ]
    step = max(1, len(prompts) // COUNTED)
    texts = [prompt.text for prompt in prompts[::step][:COUNTED]]
    counts = None
    # A replay has no engine to count tokens, and makes no call.
    if facts is not None and facts.tokenizer is not None and not models.settings.replay:
        token_counts = models.engine().question("count", {"model": model, "texts": texts})
        counts = None if None in token_counts else token_counts
    per_character = (
        sum(counts) / max(1, sum(map(len, texts))) if counts else 1 / CHARACTERS_PER_TOKEN
    )
    lengths = [
        len(prompt.text) * per_character + sum(tokens or 0 for tokens in shown)
        for prompt, shown in zip(prompts, pictures, strict=True)
    ]
    uncounted = sum(tokens is None for shown in pictures for tokens in shown)
    prompt_tokens = round(fsum(lengths) / len(lengths) * calls)
    limits = [prompt.limit for prompt in prompts if prompt.limit is not None]
    completion = round(sum(limits) / len(limits) * calls) if len(limits) == len(prompts) else None
    cost = cost_of(models, facts, prompt_tokens, completion)
    most = facts.max_input_tokens if facts is not None else None
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion,
        "cost_usd": cost,
        "tokenizer": facts.tokenizer if facts is not None and counts else None,
        "pictures": round(uncounted / len(prompts) * calls),
        "too_long": sum(length > most for length in lengths) if most else 0,
    }


def cost_of(
    models: ProviderPool, facts: Resolution | None, prompt_tokens: int, completion: int | None
) -> float | None:
    """Return the price of these tokens in US dollars; None if it is unknown."""
    if facts is None or facts.input_cost_per_token is None or completion is None:
        return None
    each, output_cost = facts.input_cost_per_token, facts.output_cost_per_token or 0.0
    if models.settings.executor == "batch":
        # Facts stored by an earlier version have no price of batches; it is half the usual.
        each = facts.batch_input_cost_per_token or each / 2
        output_cost = facts.batch_output_cost_per_token or output_cost / 2
    return prompt_tokens * each + completion * output_cost


@dataclass(frozen=True)
class AskPlan:
    """The planned requests to a model.

    Arguments:
        questions: their number.
        hits: those in the store.
        prompt_tokens, completion_tokens, cost_usd: of the requests that are not stored, with
            replies of maximal length; None if unknown.
    """

    model: str
    questions: int
    hits: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def calls(self) -> int:
        """Requests that are not stored and must be paid."""
        return self.questions - self.hits


@dataclass
class Spent:
    """The calls and costs of this run, without replies from the store."""

    calls: Counter[str] = field(default_factory=Counter)
    """By model."""
    failed: int = 0
    """Requests without a reply."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    """Replies without token counts."""
    cost_usd: float = 0.0
    stopped: str | None = None
    """The error that also prevents all other requests."""
    unpriced: int = 0
    """Replies without a cost."""
    left_out: dict[str, dict[str, str]] = field(default_factory=dict)
    """The reasons for which servers refused parameters, by model and parameter."""

    def add(self, model: str, outcome: Reply | ModelError) -> None:
        """Count the outcome of a request."""
        if isinstance(outcome, ModelError):
            self.failed += 1
            if outcome.whole_run or outcome.reason in {"budget", STOPPED}:
                self.stopped = str(outcome)
            return
        if outcome.from_store:
            return
        self.calls[model] += 1
        self.prompt_tokens += outcome.prompt_tokens or 0
        self.completion_tokens += outcome.completion_tokens or 0
        self.uncounted += None in (outcome.prompt_tokens, outcome.completion_tokens)
        self.cost_usd = fsum([self.cost_usd, outcome.cost_usd or 0.0])
        self.unpriced += outcome.cost_usd is None
