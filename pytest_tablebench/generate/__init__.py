"""Questions from tables: drawn by rule, written and examined by models, or probes of plain reading.

Answers of questions by rule are computed in two independent ways, which have to agree.
"""
