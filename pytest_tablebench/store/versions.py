"""Which versions of models gave the answers of a store."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pytest_tablebench.store._line import BadLine, read_answer
from pytest_tablebench.store.upkeep import segments_of


def fingerprints(folder: Path, generation: str) -> Counter[str]:
    """Return how many answers of a generation name each fingerprint.

    Answers without a fingerprint, and damaged lines, are left out. Raises `StoreError` or `OSError`
    if the store cannot be read.
    """
    counts: Counter[str] = Counter()
    for path in segments_of(folder):
        with path.open("rb") as file:
            for line in file:
                if b'"fingerprint"' not in line:
                    continue
                try:
                    data = read_answer(line.rstrip(b"\n"))
                except BadLine:
                    continue
                version = data["reply"].get("fingerprint")
                if data["request"].get("generation") == generation and isinstance(version, str):
                    counts[version] += 1
    return counts
