"""Labels: which of those given are wrong, and which to ask for next."""
