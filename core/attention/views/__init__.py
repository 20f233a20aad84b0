"""Attention to look at and to take away: pages, pictures, tables and recipes."""
