"""What is done with a model that has been trained: encode, decode, its ELBO, its batch statistics."""
