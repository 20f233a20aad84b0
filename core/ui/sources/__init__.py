"""The page of sources: where they err, the five documents, and every citation of the catalogue."""
