"""Fleets of a study on many workers: processes of this machine, or a Ray cluster."""
