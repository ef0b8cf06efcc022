"""Which models, providers and versions answered a run, by what replies say."""

from __future__ import annotations

from collections.abc import Collection, Mapping

SEPARATOR = "; "
"""Between the parts of a name: `model m-1; provider DeepInfra; fingerprint fp_1`."""


def served_name(model: str | None, provider: str | None, fingerprint: str | None) -> str | None:
    """Return the name of what answered; None if the reply says nothing."""
    parts = {"model": model, "provider": provider, "fingerprint": fingerprint}
    texts = [f"{kind} {value.replace(SEPARATOR, ', ')}" for kind, value in parts.items() if value]
    return SEPARATOR.join(texts) or None


def short_names(names: Collection[str]) -> dict[str, str]:
    """Return, by name, the parts that not all of the names share; the name if it has no other."""
    parts = {name: name.split(SEPARATOR) for name in names}
    shared = set.intersection(*map(set, parts.values())) if len(parts) > 1 else set()
    shorter = {
        name: SEPARATOR.join(part for part in own_parts if part not in shared)
        for name, own_parts in parts.items()
    }
    kinds = {text.partition(" ")[0] for text in shorter.values()}
    if len(kinds) == 1 and not any(SEPARATOR in text for text in shorter.values()):
        shorter = {name: text.partition(" ")[2] for name, text in shorter.items()}
    return {name: text or name for name, text in shorter.items()}


def answered_by(counts: Mapping[str, int]) -> str | None:
    """Return a line if more than one model, provider or version answered; else None."""
    total = sum(counts.values())
    if len(counts) < 2 or not total:
        return None
    names = short_names(counts)
    shown = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    parts = [f"{names[name]} {100 * count / total:.0f} %" for name, count in shown]
    return f"answered by {', '.join(parts)}"
