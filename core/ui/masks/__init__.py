"""The masks: who may look at whom, drawn, joined, changed by hand, followed through layers, and counted."""
