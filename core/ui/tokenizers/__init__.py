"""The page Tokenizers: one file per section."""
