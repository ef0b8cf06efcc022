"""Only what the suites need when they are run from a checkout."""

# Pytest looks for its configuration before plugins add their options, and takes the value in
# `--bench-data ../data` for a path to look from. Should it miss `testpaths` that way, the
# project's own tests are still none of the suites.
collect_ignore = ["tests", "benchmarks"]
