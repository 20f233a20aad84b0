"""The page of vectors: one section a file."""
