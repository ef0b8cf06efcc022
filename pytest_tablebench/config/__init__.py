"""Options, the settings made of them, and what must never be written down."""
