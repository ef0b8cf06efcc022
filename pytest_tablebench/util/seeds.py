"""Random generators seeded by content, never by global state."""

from __future__ import annotations

import hashlib
import random


def seeded_random(sub_seed: object, *, seed: int = 42) -> random.Random:
    """Return ToRR's generator for a sub-seed (spec: torr.md section 6.1).

    Text is used as it is; anything else through the first 8 hexadecimal digits of the MD5 of
    its repr, which is what makes a draw depend on a table's content alone.
    """
    if not isinstance(sub_seed, str):
        digest = hashlib.md5(repr(sub_seed).encode("utf-8", "surrogatepass"), usedforsecurity=False)
        sub_seed = str(int(digest.hexdigest()[:8], 16))
    return random.Random(f"{seed}/{sub_seed}")
