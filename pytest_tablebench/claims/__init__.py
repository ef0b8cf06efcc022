"""What is said of runs: gates, comparisons, migrations, drift, histories (spec: statistics.md)."""
