"""Which gold answers and which judges can be trusted: evidence, ranking, agreement."""
