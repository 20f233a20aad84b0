"""The sections of the page Fine-tuning."""
