"""Run a module as a program until standard input ends or the time limit passes.

    python until_stdin_ends.py SECONDS MODULE [ARGUMENT...]

Run by the interpreter of a foreign server, so that the server cannot outlive the test that
started it, however that test ended. Standard library only.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading


def main() -> None:
    seconds, module = float(sys.argv[1]), sys.argv[2]

    def watch() -> None:
        # os.read, not sys.stdin: a buffered reader cannot be left at exit.
        while os.read(0, 4096):
            pass
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
    limit = threading.Timer(seconds, os._exit, (3,))
    limit.daemon = True
    limit.start()
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
