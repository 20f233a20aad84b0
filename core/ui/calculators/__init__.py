"""The page of calculators, a file a section."""
