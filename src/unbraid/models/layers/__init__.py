"""Layers of nets: convolutions, heads and initial weights."""
