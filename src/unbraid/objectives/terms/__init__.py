"""Terms shared by several objectives."""
