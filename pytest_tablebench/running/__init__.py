"""From a case to a record: prompt, conversation, score. Knows nothing of pytest."""
