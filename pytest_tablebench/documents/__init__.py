"""Documents of plain values, and their writers for terminal, Markdown and HTML."""
