"""What nets are made of: convolutions, heads, and where their weights start."""
