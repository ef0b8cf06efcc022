"""The keys of a gateway under test and their limits: litellm's proxy loads this file itself.

It is copied beside the proxy's configuration; `test_litellm_proxy.py` names the same endings.
"""

from __future__ import annotations

import os
from typing import Any

from litellm.proxy._types import ProxyException, UserAPIKeyAuth

LIMITS: dict[str, dict[str, int]] = {
    "": {},
    "-rpm": {"rpm_limit": 3},
    "-one": {"max_parallel_requests": 1},
}


async def check(request: Any, api_key: str) -> UserAPIKeyAuth:
    """Let in the keys that start with the one in the environment."""
    start = os.environ["GATEWAY_KEY"]
    ending = api_key.removeprefix(start)
    if not api_key.startswith(start) or ending not in LIMITS:
        raise ProxyException(
            message="Authentication Error, Invalid key", type="auth_error", param="key", code=401
        )
    return UserAPIKeyAuth(api_key=api_key, **LIMITS[ending])
