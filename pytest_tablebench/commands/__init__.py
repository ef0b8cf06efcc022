"""What the larger commands of `tablebench` do: they return lines, `cli` prints them."""
