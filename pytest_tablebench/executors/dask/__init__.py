"""The engine on a Dask cluster: the broker of `local` with Dask workers as callers.

docs/many-machines.md describes its use, docs/engine.md its design. Processes that run cases talk
to the same broker as on one machine, and the broker alone decides which call starts when.
"""
