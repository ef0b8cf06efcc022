"""Small helpers for all rooms: seeds, names, escaping, interrupts."""
