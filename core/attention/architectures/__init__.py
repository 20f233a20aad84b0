"""How each architecture computes its attention: its modules, its shape, its queries and keys, its scores."""
