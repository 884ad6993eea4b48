"""Codes, ELBOs and traversals of trained models."""
