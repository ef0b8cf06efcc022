"""Questions from tables: by rule, by models that propose and examine, and of the plainest reading.

What is asked by rule is answered in two independent ways, which have to agree.
"""
