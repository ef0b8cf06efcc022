"""The papers' analyses, tables, figures and leaderboards of one run, or of runs of several models.

`write_report` writes, for each benchmark in the runs, every table as CSV and Markdown and every
figure as PNG and SVG into `<out>/<benchmark>/`, the leaderboard into `<out>/`, and
`<out>/README.md`, which lists the runs and their differences.
"""
