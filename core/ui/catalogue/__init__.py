"""The sections of the page Catalogue, and what its calculators share."""
