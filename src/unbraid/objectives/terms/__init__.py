"""Terms that several objectives are made of."""
