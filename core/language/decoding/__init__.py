"""Decoding strategies: logits processors, sampling, beam search as a tree, speculative decoding."""
