"""Vectors: what a word is to a model, layer by layer; what they are the sum of, and how they know their positions."""
