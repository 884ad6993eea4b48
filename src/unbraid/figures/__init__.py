"""Pictures of what a model does, drawn from plain arrays and texts."""
