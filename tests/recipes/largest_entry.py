"""A rule: the class of the sample with the largest weight."""

import numpy as np

from ancr.backends.arrays import dense
from ancr.rules import Rule


class LargestEntry(Rule):
    """max c_i, the largest entry of each class."""

    name = "largest entry"

    def scores(self, dictionary, queries, codes, linear=None):
        """One score per class, larger is better."""
        codes = dense(codes)
        return np.stack([codes[:, block].max(axis=1, initial=0.0) for block in dictionary.blocks], axis=1)
