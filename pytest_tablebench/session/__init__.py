"""One process of a run: its role, its state, and what it says in the end."""
