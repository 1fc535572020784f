"""The training samples that decided a prediction."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ancr.backends.arrays import to_numpy


@dataclass(frozen=True)
class Explanation:
    """The training samples with the largest weights in one query's code, largest first.

    Attributes
    ----------
    label : object
        The predicted class.
    indices : ndarray of int
        Positions of the samples among those given to `fit`.
    weights : ndarray
        Their entries in the code.
    labels : ndarray
        Their classes.
    shares : ndarray
        How much of the query's norm each sample explains for its class: by how much the class residual
        ‖y − X_i c_i‖ would grow without it, over ‖y‖.
    """

    label: object
    indices: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    shares: np.ndarray

    def __str__(self):
        lines = [f"{self.label}"]
        for index, weight, label, share in zip(self.indices, self.weights, self.labels, self.shares, strict=True):
            lines.append(f"  sample {index:>6}  class {label!s:<12}  weight {weight:+.4f}  share {share:+.1%}")
        return "\n".join(lines)


def explain_block(dictionary, queries, codes, predicted, top):
    """One `Explanation` per query, for a block of queries, as NumPy arrays for codes of any library."""
    codes, norms = sparse.csr_array(to_numpy(codes)), np.sqrt(to_numpy(dictionary.squared_norms(queries)))
    ends = zip(codes.indptr[:-1], codes.indptr[1:], predicted, strict=True)
    return [
        _explain(dictionary, queries, row, norms[row] or 1.0, codes.indices[a:b], codes.data[a:b], label, top)
        for row, (a, b, label) in enumerate(ends)
    ]


def _explain(dictionary, queries, row, norm, support, weights, label, top):
    strongest = np.argsort(-np.abs(weights), kind="stable")[:top]
    shares = np.empty(len(strongest))
    for place, i in enumerate(strongest):
        own = np.flatnonzero(dictionary.labels[support] == dictionary.labels[support[i]])
        own = np.concatenate([[i], own[own != i]])
        with_it, without = dictionary.lengths_with_and_without(queries, row, support[own], weights[own], 0)
        shares[place] = (without - with_it) / norm
    chosen = support[strongest]
    return Explanation(
        label,
        dictionary.order[chosen],
        weights[strongest],
        to_numpy(dictionary.classes)[dictionary.labels[chosen]],
        shares,
    )
