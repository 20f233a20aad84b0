"""The page Sources and errata: errors in the sources, the five documents, and every citation of the catalogue."""
