"""Pictures in files: decoded, resized, and looked through where they are a user's own."""
