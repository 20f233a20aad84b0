"""How each architecture computes its attention: where it stands, its shape, its queries and keys, its scores."""
