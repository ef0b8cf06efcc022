"""Turn a case into a record: prompt, conversation, score. Imports nothing of pytest."""
