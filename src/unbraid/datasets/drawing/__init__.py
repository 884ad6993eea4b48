"""Images that are made and not read."""
