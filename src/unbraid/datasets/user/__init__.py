"""A user's own images: a way to bring them is one file."""
