"""Templates of pages, and what fills them: one HTML file each, without a script from elsewhere."""
