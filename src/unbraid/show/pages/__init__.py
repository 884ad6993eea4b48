"""Templates of HTML pages, and functions that render templates, SVG and pictures. Pages load no external files."""
