"""The page Compare: a table of all systems, and two module trees side by side."""
