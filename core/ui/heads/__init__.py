"""The heads panel that every branch page shows."""
