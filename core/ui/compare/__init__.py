"""Sections of the page Catalogue: a table of all systems, two module trees side by side, sizes and costs."""
