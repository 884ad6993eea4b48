"""Training of a study by several workers: processes of this machine, or a Ray cluster."""
