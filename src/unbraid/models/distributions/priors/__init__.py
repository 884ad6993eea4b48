"""What a code looks like before any image is seen."""
