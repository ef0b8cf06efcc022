"""Questions from tables: drawn by rule, written by models, or probes of plain reading."""
