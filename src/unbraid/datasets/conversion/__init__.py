"""What the readers of published files share."""
