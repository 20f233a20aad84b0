"""The page of generation: one section a file."""
