"""Pages: reports and explorers."""
