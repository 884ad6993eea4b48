"""Families of latents and their posteriors."""
