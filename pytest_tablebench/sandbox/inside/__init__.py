"""What runs on the other side: the warm process, and the programs that it forks.

Needs nothing but the standard library of Python 3.11, so that it runs in any container; numpy,
pandas and matplotlib are loaded ahead where they are there.
"""
