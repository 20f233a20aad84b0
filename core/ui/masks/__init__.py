"""Attention masks: drawn, combined, edited, followed through layers, and counted."""
