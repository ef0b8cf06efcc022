"""No text of a program remains in the memory of the process that starts the next one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from pytest_tablebench.metrics.steps import Execute
from pytest_tablebench.sandbox import backends, choose
from pytest_tablebench.sandbox._worker import SandboxProcess

EARLIER = "MARK-" + hashlib.sha256(b"earlier").hexdigest()
LATER = "MARK-" + hashlib.sha256(b"later").hexdigest()

SHOWS = """
import os
text = open("table.csv").read()
print(text * 20)
value = [text + str(n) for n in range(50)]
"""

# The program has only the digests of the marks, so it finds no copy of its own. `write` copies
# memory in the kernel and returns an error for a missing page instead of ending the process.
SEARCHES = """
import ctypes, gc, hashlib, os, re, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = ctypes.c_void_p
libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
digests = open("digests").read().split()
PAGE, read, write = 4096, *os.pipe()
pattern = re.compile(b"MARK" + b"-[0-9a-f]{64}")
seen, looked_at = set(), 0

def look(page):
    global looked_at, before
    if libc.write(write, page, PAGE) != PAGE:
        before = b""
        return False
    text = os.read(read, PAGE)
    looked_at += 1
    for mark in pattern.findall(before + text):
        seen.add(hashlib.sha256(mark).hexdigest())
    before = text[-80:]
    return True

before = b""
arenas = {id(one) >> 20 for one in gc.get_objects()} | {id(one) >> 20 for one in (digests, pattern)}
arenas |= {number + step for number in arenas for step in (-2, -1, 1, 2)}
for arena in sorted(arenas):
    for page in range(arena << 20, (arena + 1) << 20, PAGE):
        look(page)
end = libc.sbrk(0) // PAGE * PAGE
start = end
while end - start < 64 << 20 and look(start - PAGE):
    start -= PAGE
for page in range(start, end, PAGE):
    look(page)
value = {"looked at": looked_at, "seen": [digest in seen for digest in digests]}
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[SandboxProcess]:
    tried = choose(backends())
    if tried[-1].why is not None:
        pytest.skip("; ".join(f"{one.backend.name}: {one.why}" for one in tried))
    made = SandboxProcess(tried[-1].backend, warm=False)
    yield made
    made.close()


def test_a_program_finds_no_text_of_the_previous_program(worker: SandboxProcess) -> None:
    for number in range(3):
        files = {"table.csv": EARLIER.encode()}
        ran = worker.run(Execute(f"# {EARLIER} {number}", files, runner=SHOWS))
        assert ran.outcome == "ok"
        assert EARLIER in ran.output
    digests = " ".join(hashlib.sha256(mark.encode()).hexdigest() for mark in (EARLIER, LATER))
    # The search sees the text of its own program, so it works.
    ran = worker.run(Execute(f"# {LATER}", {"digests": digests.encode()}, runner=SEARCHES))
    assert (ran.outcome, ran.error) == ("ok", "")
    assert ran.value["looked at"] > 500
    assert ran.value["seen"] == [False, True]
