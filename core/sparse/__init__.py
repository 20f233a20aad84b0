"""Attention that computes fewer scores: costs, and BigBird, Longformer, Reformer over their own modules."""
