"""User data: images from arrays, folders, torch datasets and Hugging Face datasets."""
