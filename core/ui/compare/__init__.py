"""The page that compares: one table of all systems, and two trees laid side by side."""
