"""Representations: a word's vectors by layer, the sum of input embeddings, and position encodings."""
