"""HTML pages: reports of runs, explorers of decoders, and pages about datasets."""
