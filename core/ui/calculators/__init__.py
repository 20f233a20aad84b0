"""The sections of the group Calculators of the page Catalogue."""
