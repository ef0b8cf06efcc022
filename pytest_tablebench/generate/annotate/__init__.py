"""RealHiTBench's annotation: questions by task, answers of several models, rated by a judge.

The tasks are in `tasks.toml`, the prompts in `prompts.toml`. Spec: realhitbench.md section 8.
"""
