"""Decoding taken apart: rules one by one, several at once, beam search as a tree, a draft that is checked."""
