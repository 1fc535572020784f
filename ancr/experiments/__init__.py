"""Experiments: protocol × methods × data set → cells → tables, figures, report."""
