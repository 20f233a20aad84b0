"""Home: the family at a glance, and the four doors."""

from core.ui.page import header

header("Transformer Atlas", "Explore the architectures of the Transformer family by running them.")
