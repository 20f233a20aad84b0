"""The page Decoding: one file per section."""
