"""The page About, sources: errors in the sources, and every citation of the catalogue."""
