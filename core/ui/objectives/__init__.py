"""The page of objectives: one section a file."""
