"""The code that runs inside the sandbox: the warm process, and the programs that it forks.

It needs only the standard library of Python 3.11, so that it runs in any container. It loads numpy,
pandas and matplotlib in advance if they are installed.
"""
