"""Sections of the page Catalogue: the live models, and two of them on one sentence."""
