"""The page About and sources: errors in the sources, and every citation of the catalogue."""
