"""How published files come here, and how they are known to be the published ones."""
