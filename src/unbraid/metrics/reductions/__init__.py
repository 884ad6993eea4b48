"""What metrics reduce codes to, each shared by several."""
