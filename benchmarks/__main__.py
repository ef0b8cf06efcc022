"""The speed table of scoring and rendering: every measurement against its yardstick, in one run.

python -m benchmarks
"""

import subprocess
import sys

PARTS = ("rouge", "fin_qa", "serialize", "analyses")

if __name__ == "__main__":
    for part in PARTS:
        print(f"== {part}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{part}"], check=True)
