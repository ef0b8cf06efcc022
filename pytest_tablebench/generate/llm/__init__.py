"""Questions written by models: one proposes them, others examine each before it is kept.

The subtasks are in `subtasks.toml`, the prompts in `en.toml` and `zh.toml`.
"""
