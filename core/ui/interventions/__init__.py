"""Interventions: a part of a live model changed, and what its prediction becomes."""
