"""How the pixels of a data set may lie in memory."""
