"""What heads do, as numbers: over texts, over annotated sentences, and in the files that keep them."""
