"""Tables: reading, writing, structure and perturbations."""
