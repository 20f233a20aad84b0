"""The parts of the timeline, and the family's picture that Home shows as well."""
