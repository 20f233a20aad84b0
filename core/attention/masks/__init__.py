"""Attention masks to explore: named patterns, applied to a text, edited by hand, and followed through layers.

``kinds`` has the patterns of :mod:`core.patterns` with their settings, and encodes a choice as a URL parameter;
``axes`` has the tokens of rows and columns; ``board`` builds the matrix and its receptive field. All with numpy alone.
"""
