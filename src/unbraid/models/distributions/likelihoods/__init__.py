"""How probable an image is, given what a decoder says of it."""
