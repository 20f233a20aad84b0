"""Attention masks: drawn, edited, and followed through layers."""
