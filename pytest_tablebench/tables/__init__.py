"""Tables, how they are read, and how they are perturbed."""
