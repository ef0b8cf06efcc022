"""The engine on a Dask cluster: the broker of `local`, whose calls are made by Dask's workers.

docs/cluster.md tells how it is used, docs/engine.md how it works. Whoever runs items sees no
difference: the broker is asked as on one machine, and alone decides which call starts when.
"""
