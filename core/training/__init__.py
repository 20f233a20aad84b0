"""A small language model from random weights, trained on a visitor's own text."""
