"""The larger commands of `tablebench`. They return lines, and `cli` prints them."""
