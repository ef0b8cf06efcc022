"""Reports: read records and summaries, compute nothing."""
