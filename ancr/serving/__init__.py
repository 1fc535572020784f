"""A trained model behind HTTP: ``ancr serve``."""
