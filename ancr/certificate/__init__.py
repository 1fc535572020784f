"""Proofs: what counts as solved, bounds on f(c) − f*, and solutions that certify themselves."""
