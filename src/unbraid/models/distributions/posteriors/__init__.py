"""Families of latents, and what an encoder says of each image with them."""
