"""The page of tokenisers: one section a file."""
