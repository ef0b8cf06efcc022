"""Export runs to the formats of other tools, and import runs from some of them.

An exporter is a function `write_*`. The readers of other tools' files are
in `every_eval_ever_reader`, `lm_eval` and `helm`.
"""
