"""Functions of trained models: codes, the ELBO and traversals."""
