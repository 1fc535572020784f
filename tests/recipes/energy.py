"""A rule: the class with the most energy in the code."""

from ancr.axes.rules import Rule


class Energy(Rule):
    """‖c_i‖², the squared norm of the entries of each class."""

    name = "energy"

    def scores(self, queries, codes):
        """One score per class, larger is better."""
        return queries.dictionary.class_norms(codes)
