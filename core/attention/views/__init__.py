"""Attention to look at and to download: pages, pictures, tables and recipes."""
