"""The dictionary: atoms, their classes and inner products, with coordinates or from a Mercer kernel alone."""
