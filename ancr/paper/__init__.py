"""The paper: its protocols, methods, printed numbers, tables, figures and report."""
