"""The sections of Calculators."""
