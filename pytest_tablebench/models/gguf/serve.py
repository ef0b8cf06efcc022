"""A process that serves one model: `python -m pytest_tablebench.models.gguf.serve`.

It reads one line of configuration from its standard input, loads the model and prints its address.
Then it serves OpenAI's protocol at the loopback address to clients with the key. It ends when its
standard input ends, which happens at the latest when the process that started it ends.

It handles one request at a time and reuses nothing of earlier ones: an answer depends on its
prompt alone.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any


def main() -> int:
    """Serve the model that standard input configures; return the exit code."""
    read = b""
    while b"\n" not in read and (piece := os.read(0, 65536)):
        read += piece
    if not read:
        return 0
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        server = _server(json.loads(read))
    except Exception as error:  # a library's error; its own output has the details
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdout.close()
    threading.Event().wait()
    return 0


def _end_with_input() -> None:
    # os.read, because a buffered reader cannot be left at exit.
    while os.read(0, 4096):
        pass
    os._exit(0)


def _server(config: dict[str, Any]) -> Any:
    """Return a listening server. Raises any error of the library."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = config["file"]
    params.model_alias = {config["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # the system chooses a free one
    params.api_keys = [config["key"]]
    params.ui = params.endpoint_slots = False
    params.verbosity = 1  # errors
    params.n_parallel = 1
    params.cache_prompt = params.cache_idle_slots = False
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = config["threads"]
    return xllamacpp.Server(params)


if __name__ == "__main__":
    sys.exit(main())
