"""Interventions on a live model: what its prediction becomes when one part of a pass is another."""
