"""Attention that computes fewer scores: layouts and counts; BigBird, Longformer, Reformer over their own modules."""
