"""A whole model as one picture."""
