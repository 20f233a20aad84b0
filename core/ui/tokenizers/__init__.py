"""The page of tokenizers: one section per file."""
