"""The page Representations: one file per section."""
