"""Wire dialects by name."""
