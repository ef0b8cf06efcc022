"""The cost of litellm itself: a bare script that sends questions, with limited concurrency.

    python -m benchmarks.litellm_floor http://127.0.0.1:PORT/v1 1000 64 [PROMPT_CHARACTERS]

Prints JSON: `import_cpu_s`, `calls_cpu_s` (without the first call, which sets clients up),
`first_cpu_s`, `wall_s` of the calls.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOG": "CRITICAL",
    "OPENAI_API_KEY": "x",
}


async def ask(
    litellm: Any, url: str, calls: int, connections: int, characters: int
) -> dict[str, Any]:
    filling = "team 7 won 35 games. " * (characters // 21)

    async def one(number: int) -> None:
        await litellm.acompletion(
            model="openai/test-model",
            messages=[{"role": "user", "content": f"question {number}: {filling}"}],
            api_base=url,
            timeout=120,
            max_retries=0,
            num_retries=0,
            caching=False,
        )

    before = time.process_time()
    await one(-1)
    first = time.process_time() - before
    numbers = iter(range(calls))

    async def client() -> None:
        for number in numbers:
            await one(number)

    before, started = time.process_time(), time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    return {
        "first_cpu_s": first,
        "calls_cpu_s": time.process_time() - before,
        "wall_s": time.perf_counter() - started,
    }


def main() -> None:
    url, calls, connections, *rest = sys.argv[1:]
    os.environ.update(ENVIRONMENT)
    before = time.process_time()
    import litellm

    found = {"import_cpu_s": time.process_time() - before}
    characters = int(rest[0]) if rest else 600
    found |= asyncio.run(ask(litellm, url, int(calls), int(connections), characters))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
