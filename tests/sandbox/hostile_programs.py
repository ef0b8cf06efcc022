"""Programs that try to leave the sandbox; each prints `ESCAPED` if it has reached a target."""

from __future__ import annotations

START = """
import json, os, sys
world = json.load(open("world.json"))
def escaped(what=""):
    print("ESCAPED", what)
def tries(how, *given, **named):
    try:
        found = how(*given, **named)
    except (OSError, ValueError, ImportError, AttributeError) as error:
        print("denied:", type(error).__name__)
        return None
    escaped(found)
    return found
def call(number, *given):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.syscall(number, *given)
    if found >= 0:
        escaped(number)
    return found
def here(x86_64, aarch64):
    return x86_64 if os.uname().machine == "x86_64" else aarch64
"""

CLONES = (
    "534189f931dbbf000f050031f631d24531d24531c0b8380000000f05"
    "85c0740d7802ffc341ffc975dd89d85bc3b8220000000f05ebf7"
)
"""x86_64: calls `clone` for threads that sleep without a stack, and returns the number of them."""

STOPPED = frozenset({"timeout"})
DENIED = frozenset({"ok", "error"})
MEMORY = frozenset({"memory", "error", "killed"})

# Name: the allowed outcomes, and the program.
HOSTILE: dict[str, tuple[frozenset[str], str]] = {
    # Files of others
    "reads a secret": (DENIED, "tries(lambda: open(world['secret']).read())"),
    "reads the passwords": (DENIED, "tries(lambda: open('/etc/passwd').read())"),
    "reads a key of the user's": (
        DENIED,
        "tries(lambda: open(os.path.join(world['home'], '.ssh/id')).read())",
    ),
    "lists a folder": (
        DENIED,
        "tries(os.listdir, world['folder'])\nabove, name = os.path.split(world['folder'])\n"
        "tries(lambda: os.listdir(above).index(name))\n"
        "tries(lambda: os.listdir('/').index('var'))",
    ),
    "reads by a symbolic link": (
        DENIED,
        "tries(os.symlink, world['secret'], 'link')\ntries(lambda: open('link').read())",
    ),
    "reads by a hard link": (DENIED, "tries(os.link, world['secret'], 'link')"),
    "keeps a link for whoever reads the result": (
        DENIED,
        "tries(os.symlink, world['secret'], 'kept')",
    ),
    "keeps a pipe for whoever reads the result": (DENIED, "tries(os.mkfifo, 'kept')"),
    "walks out of its folder": (DENIED, "tries(lambda: open('../' * 30 + world['secret']).read())"),
    "changes its folder": (
        DENIED,
        "os.chdir(world['folder'])\ntries(lambda: open('secret').read())",
    ),
    "writes a file elsewhere": (DENIED, "tries(open, world['folder'] + '/new', 'w')"),
    "writes into the store": (DENIED, "tries(open, world['store'], 'a')"),
    "shortens the store": (DENIED, "tries(os.truncate, world['store'], 0)"),
    "removes the store": (
        DENIED,
        "tries(os.unlink, world['store'])\ntries(os.rename, world['store'], world['store'] + 'x')",
    ),
    "replaces the store": (
        DENIED,
        "open('mine', 'w').close()\ntries(os.replace, 'mine', world['store'])",
    ),
    "takes the store's rights": (
        DENIED,
        "tries(os.chmod, world['store'], 0)\ntries(os.chown, world['store'], 1, 1)\n"
        "tries(os.utime, world['store'])\ntries(os.setxattr, world['store'], 'user.a', b'b')",
    ),
    "writes into the library": (DENIED, "import json\ntries(open, json.__file__, 'a')"),
    "reads the package and its questions": (
        DENIED,
        "tries(lambda: open(world['gold']).read())\n"
        "tries(lambda: os.listdir(world['package']).index('datasets'))\n"
        "tries(os.listdir, os.path.dirname(world['gold']))",
    ),
    "imports what it may not": (
        DENIED,
        "import importlib\n"
        "for name in ('pytest', 'pip', 'litellm', 'pytest_tablebench.datasets'):\n"
        "    tries(importlib.import_module, name)\n"
        "importlib.invalidate_caches()\ntries(importlib.import_module, 'yaml')",
    ),
    "searches the folders of packages": (
        DENIED,
        "import sysconfig\n"
        "for path in {*sys.path, *sysconfig.get_paths().values(), '/usr/lib/python3'}:\n"
        "    names = []\n"
        "    for below in (path, path + '/site-packages', path + '/dist-packages'):\n"
        "        try: names += os.listdir(below)\n"
        "        except OSError: pass\n"
        "    if 'pip' in names or 'pytest' in names: escaped(path)",
    ),
    "opens a folder for its path alone": (
        DENIED,
        "tries(os.open, world['folder'], os.O_PATH)\ntries(os.open, '/', os.O_PATH)\n"
        "call(437, -100, world['folder'].encode(), b'\\0' * 2 + b'\\x20' + b'\\0' * 21, 24)",
    ),
    "locks a library": (
        DENIED,
        "import fcntl\nfile = open(json.__file__)\n"
        "tries(fcntl.flock, file, fcntl.LOCK_SH | fcntl.LOCK_NB)\n"
        "tries(fcntl.lockf, file, fcntl.LOCK_SH | fcntl.LOCK_NB)\n"
        "tries(fcntl.fcntl, file, 37, b'\\0' * 32)\n"  # F_OFD_SETLK
        "tries(fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_RDLCK)",
    ),
    "watches a folder": (
        DENIED,
        "import fcntl\nfolder = os.open('.', os.O_RDONLY)\n"
        "tries(fcntl.fcntl, folder, fcntl.F_NOTIFY, 0x3f)\ncall(here(253, 26), 0)\n"
        "call(here(294, 26), 0)",
    ),
    "makes a device": (DENIED, "tries(os.mknod, 'disk', 0o60666, os.makedev(254, 0))"),
    # The environment and other processes
    "reads its environment": (
        DENIED,
        "if world['word'] in repr(dict(os.environ)): escaped()\n"
        "tries(lambda: open('/proc/self/environ').read().index(world['word']))",
    ),
    "reads its parent's environment": (
        DENIED,
        "tries(lambda: open(f'/proc/{os.getppid()}/environ').read())\n"
        "tries(lambda: open(f\"/proc/{world['pid']}/environ\").read())",
    ),
    "reads its parent's memory": (
        DENIED,
        "tries(lambda: open(f'/proc/{os.getppid()}/mem', 'r+b'))\n"
        "call({'x86_64': 101}.get(os.uname().machine, 117), 16, os.getppid(), 0, 0)",
    ),
    "lists processes": (DENIED, "tries(lambda: os.listdir('/proc').index(str(world['pid'])))"),
    "kills its parent": (DENIED, "tries(os.kill, os.getppid(), 9)"),
    "kills the run": (DENIED, "tries(os.kill, world['pid'], 9)"),
    "kills everybody": (DENIED, "tries(os.kill, -1, 9)"),
    "stops the run by way of a file": (
        DENIED,
        "import fcntl\nread, write = os.pipe()\n"
        "tries(fcntl.fcntl, read, fcntl.F_SETOWN, world['pid'])",
    ),
    "slows the run down": (DENIED, "tries(os.setpriority, os.PRIO_PROCESS, world['pid'], 19)"),
    "leaves its session": (DENIED, "tries(os.setsid)\ntries(os.setpgid, 0, 0)"),
    "forks": (DENIED, "tries(os.fork)"),
    "is a fork bomb": (
        frozenset({"ok", "error", "timeout", "memory"}),
        "for _ in range(1000): tries(os.fork)",
    ),
    "leaves a process behind": (
        DENIED,
        "import subprocess\ntries(subprocess.Popen, ['/bin/sleep', '60'], start_new_session=True)",
    ),
    "becomes another program": (DENIED, "tries(os.execv, '/bin/sh', ['sh', '-c', 'echo ESCAPED'])"),
    "starts a shell": (DENIED, "os.system('echo ESCAPED')"),
    "uses multiprocessing": (
        DENIED,
        "import multiprocessing\n"
        "tries(multiprocessing.get_context('fork').Process(target=escaped).start)",
    ),
    "shares memory with others": (
        DENIED,
        "call(here(29, 194), 0, 4096, 0o1600)\ncall(here(31, 195), 0, 14, bytes(200))\n"
        "call(here(30, 196), 0, 0, 0)",
    ),
    "reads the messages of others": (
        DENIED,
        "call(here(68, 186), 0, 0o1600)\ncall(here(71, 187), 0, 12, bytes(200))\n"
        "call(here(240, 180), b'a', 0o102, 0o600, 0)",
    ),
    "counts with others": (
        DENIED,
        "call(here(64, 190), 0, 1, 0o1600)\ncall(here(66, 191), 0, 0, 19, bytes(200))",
    ),
    "reads the limits of the run": (
        DENIED,
        "import resource\ntries(resource.prlimit, world['pid'], resource.RLIMIT_NOFILE)",
    ),
    # System calls by number
    "forks by ctypes": (DENIED, "import ctypes\nif ctypes.CDLL(None).fork() >= 0: escaped()"),
    "clones by number": (
        DENIED,
        "call({'x86_64': 56}.get(os.uname().machine, 220), 17, 0, 0, 0, 0)\ncall(435, 0, 0)",
    ),
    "sets itself free": (
        DENIED,
        "call({'x86_64': 272}.get(os.uname().machine, 97), 0x10000000)\n"
        "call({'x86_64': 317}.get(os.uname().machine, 277), 1, 0, 0)",
    ),
    "raises its limits": (
        DENIED,
        "import resource\n"
        "tries(resource.setrlimit, resource.RLIMIT_CPU, (60, 60))\n"
        "tries(resource.setrlimit, resource.RLIMIT_NOFILE, (4096, 4096))",
    ),
    "becomes root": (DENIED, "tries(os.setuid, 0)\ntries(os.setresuid, 0, 0, 0)"),
    "asks the kernel's newest doors": (DENIED, "for n in (425, 428, 434, 438, 600): call(n, 0, 0)"),
    # The network
    "connects to a server": (
        DENIED,
        "import socket\ntries(socket.create_connection, ('127.0.0.1', world['port']), 1)",
    ),
    "sends a datagram": (
        DENIED,
        "import socket\ntries(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
        ".sendto(b'x', ('127.0.0.1', world['port'])))",
    ),
    "listens": (
        DENIED,
        "import socket\ntries(socket.create_server, ('127.0.0.1', 0))\n"
        "tries(socket.socket, socket.AF_UNIX)\ntries(socket.socketpair)",
    ),
    # Resources
    "never ends": (STOPPED, "while True: pass"),
    "sleeps for ever": (STOPPED, "import time\ntime.sleep(60)"),
    "never ends in C": (STOPPED, "sum(range(10 ** 12))"),
    "minds no signal": (
        STOPPED,
        "import signal\n"
        "for n in range(1, 65):\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "while True: pass",
    ),
    "closes its pipes and goes on": (
        STOPPED,
        "os.closerange(0, 64)\nwhile True: pass",
    ),
    "takes all memory": (MEMORY, "a = bytearray(10 ** 11)"),
    "takes memory by and by": (MEMORY, "a = []\nwhile True: a.append(bytearray(10 ** 6))"),
    "recurses in C": (
        frozenset({"ok", "error", "killed", "memory", "timeout"}),
        "sys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()",
    ),
    "prints without end": (frozenset({"output"}), "while True: print('x' * 10 ** 5)"),
    "prints a gigabyte at once": (
        frozenset({"output", "memory"}),
        "for _ in range(1000): os.write(1, b'x' * 10 ** 6)",
    ),
    "fills the disk": (
        frozenset({"files", "error"}),
        "while True:\n"
        "    for n in range(10):\n"
        "        with open(f'{n}', 'ab') as file: file.write(b'x' * 10 ** 6)",
    ),
    "fills the disk and ends": (
        frozenset({"files"}),
        "data = bytearray(7 * 10 ** 6)\n"
        "files = [os.open(f'{n}', os.O_CREAT | os.O_WRONLY) for n in range(2)]\n"
        "for file in files: os.write(file, data)",
    ),
    "fills the disk with a file that has no name": (
        frozenset({"files", "error"}),
        "files = [os.open('.', os.O_TMPFILE | os.O_RDWR) for _ in range(5)]\n"
        "while True:\n"
        "    for file in files: os.write(file, b'x' * 10 ** 5)",
    ),
    "fills the disk beyond the end of a file": (
        frozenset({"files", "error", "ok"}),
        "file = os.open('a', os.O_CREAT | os.O_RDWR)\n"
        "call(here(285, 47), file, 1, 0, 10 ** 8)\n"
        "tries(os.posix_fallocate, file, 0, 10 ** 8)",
    ),
    "fills the disk where nobody may look": (
        frozenset({"files", "error"}),
        "os.mkdir('a', 0o300)\nn = 0\n"
        "while True:\n"
        "    n += 1\n"
        "    with open(f'a/{n % 10}', 'ab') as file: file.write(b'x' * 10 ** 6)",
    ),
    "fills the disk deeper than a path is long": (
        frozenset({"files", "error"}),
        "for _ in range(18):\n    os.mkdir('d' * 250)\n    os.chdir('d' * 250)\n"
        "while True:\n"
        "    with open('a', 'ab') as file: file.write(b'x' * 10 ** 5)\n"
        "    if os.stat('a').st_size > 4 * 10 ** 6: open('a', 'w').close()",
    ),
    "makes folders without rights": (
        frozenset({"ok", "files"}),
        "for n in range(5):\n    os.mkdir(f'{n}', 0)\n    os.mkdir(f'{n}b')\n"
        "    os.mkdir(f'{n}b/c', 0o100)",
    ),
    "makes folders as deep as it can": (
        frozenset({"ok", "files", "error"}),
        "for _ in range(3000):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)",
    ),
    "makes files without end": (
        frozenset({"files", "error"}),
        "n = 0\nwhile True:\n    n += 1\n    os.mkdir('d')\n    os.chdir('d')",
    ),
    "opens files without end": (DENIED, "a = [open('world.json') for _ in range(10 ** 4)]"),
    "keeps memory where no limit looks": (
        DENIED,
        "call({'x86_64': 319}.get(os.uname().machine, 279), b'a', 0)\n"
        "call({'x86_64': 29}.get(os.uname().machine, 194), 0, 10 ** 9, 0o1000)",
    ),
    "ends at once": (frozenset({"killed"}), "os._exit(0)"),
    "crashes": (frozenset({"killed"}), "import ctypes\nctypes.string_at(0)"),
    **{
        f"sends itself signal {number}": (
            frozenset({"killed"}),
            f"os.kill(os.getpid(), {number})\nimport time\ntime.sleep(5)",
        )
        for number in (9, 32, 33, 34, 50, 63, 64)
    },
    "minds no limit of processor time": (
        STOPPED,
        "import signal, time\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        "while time.process_time() < 1.1: pass",
    ),
    "burns processors in threads": (
        STOPPED,
        "import hashlib, signal, threading, time\n"
        "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        "def burn():\n"
        "    while time.process_time() < 1.2: hashlib.sha256(b'x' * 10 ** 6).digest()\n"
        "threads = [threading.Thread(target=burn) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()",
    ),
    "leaves a thread": (
        DENIED,
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    ),
    "fills the machine with threads": (
        DENIED | {"threads"},
        "import ctypes, mmap\n"
        f"code = bytes.fromhex('{CLONES}')\n"
        "page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)\n"
        "page.write(code)\n"
        "start = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "if os.uname().machine == 'x86_64':\n"
        "    started = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(start)(1000)\n"
        "    if started > 200: escaped(started)\n"
        "    print(started)",
    ),
    # Reports of the program about itself
    "says that there is no sandbox": (
        frozenset({"killed"}),
        "os.write(3, b'absent\\n\"\"\\nnull')\nos._exit(0)",
    ),
    "says what is no message": (frozenset({"killed"}), "os.write(3, b'\\xff' * 100)\nos._exit(0)"),
    "says more than it may": (
        frozenset({"output"}),
        "while True: os.write(3, b'[' * 10 ** 4)",
    ),
    "says what lies too deep": (
        frozenset({"error"}),
        "os.write(3, b'ok\\n\"\"\\n' + b'[' * 50000 + b']' * 50000)\nos._exit(0)",
    ),
}
