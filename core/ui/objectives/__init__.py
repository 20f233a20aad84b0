"""The page Pretraining objectives: one file per section."""
