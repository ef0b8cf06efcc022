"""What has no room of its own: seeds, names, escaping, interrupts."""
