"""Heads switched off: what the answer of a model loses without them."""
