"""Runs or any decoder in, one HTML file out that decodes codes in the browser."""
