"""What items compute and draw (counted with the items), and metrics, a reader and a classifier (counted apart)."""
