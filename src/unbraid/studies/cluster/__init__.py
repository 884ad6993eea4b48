"""Fleets of a study as pieces of work for many processes: of this machine, or of a Ray cluster."""
