"""The fourth axis: how a code becomes one decision value a class. Larger is better.

With c_i the entries of c on class i, a class wins by the smallest

    res   ‖y − X_i c_i‖
    reg   ‖y − X_i c_i‖² / ‖c_i‖²
    pro   ‖Xc − X_i c_i‖²

or by the largest

    label   Σ c_i, the summed entries of the class
"""

import numpy as np
from scipy import sparse

from ancr._parallel import read_only

# Samples a class, on average, from which a matrix product a class is quicker than a loop.
_LARGE_CLASS = 8
# A squared norm below this is zero; it keeps 0/0 and x/0 finite.
_NO_CODE = {np.dtype(kind): np.finfo(kind).eps ** 2 for kind in (np.float32, np.float64)}


def residual_decision(dictionary, queries, codes, linear=None):
    """−‖y − X_i c_i‖."""
    return -class_residuals(dictionary, queries, codes, linear)


def regularised_decision(dictionary, queries, codes, linear=None):
    """−log of ‖y − X_i c_i‖² / ‖c_i‖², which spans many orders of magnitude. A class without code comes last."""
    squares, norms = class_squares(dictionary, queries, codes, linear)
    return log_ratio(norms, squares)


def log_ratio(norms, squares):
    """log(norms / squares), finite where either is zero."""
    floor = _NO_CODE[squares.dtype]
    return np.log(np.maximum(norms, floor)) - np.log(np.maximum(squares, floor))


def probabilistic_decision(dictionary, queries, codes, linear=None):
    """−‖Xc − X_i c_i‖²: how far class i alone falls short of what all classes represent together."""
    return -_squares(dictionary, codes @ dictionary.atoms, codes)


def label_decision(dictionary, queries, codes, linear=None):
    """Σ c_i: the weight that the code gives a class."""
    codes = codes.toarray() if sparse.issparse(codes) else codes
    # reduceat has no empty sums, and a class that is only known by name has no atom.
    return np.stack([codes[:, block].sum(axis=1) for block in dictionary.blocks], axis=1)


RULES = {
    "res": residual_decision,
    "reg": regularised_decision,
    "pro": probabilistic_decision,
    "label": label_decision,
}


def class_residuals(dictionary, queries, codes, linear=None):
    """‖y − X_i c_i‖ for every query and class: (n_queries, n_classes)."""
    return np.sqrt(_squares(dictionary, queries, codes, linear))


def class_squares(dictionary, targets, codes, linear=None):
    """‖t − X_i c_i‖² and ‖c_i‖² for every target t and class i, by the cheapest way.

    ``linear`` is Xᵀt of every target, for a caller who has it.
    """
    if sparse.issparse(codes):
        return _through_support(dictionary, targets, codes)
    norms = np.empty((len(codes), dictionary.n_classes), codes.dtype)
    for k, block in enumerate(dictionary.blocks):
        norms[:, k] = _row_dots(codes[:, block], codes[:, block])
    return _squares(dictionary, targets, codes, linear), norms


def _squares(dictionary, targets, codes, linear=None):
    """‖t − X_i c_i‖² alone."""
    if sparse.issparse(codes):
        return _through_support(dictionary, targets, codes)[0]
    # The d-vector X_i c_i of every class is written, read and squared: measured, as costly as 4 products an entry.
    spared = 4 * dictionary.n_classes * dictionary.n_features
    spared += 0 if linear is None else dictionary.atoms.size
    if (np.diff(dictionary.bounds) ** 2).sum() < spared:
        return _through_class_grams(dictionary, targets, codes, linear)
    return _through_class_vectors(dictionary, targets, codes)


def _through_support(dictionary, targets, codes):
    from ancr._kernels import sparse_class_squares

    squares = np.empty((len(targets), dictionary.n_classes), targets.dtype)
    norms = np.empty_like(squares)
    codes.sort_indices()  # a class must come in one run
    arrays = (codes.indptr, codes.indices, codes.data, targets, dictionary.atoms, dictionary.labels)
    sparse_class_squares(*map(read_only, arrays), squares, norms)
    return squares, norms


def _row_dots(left, right):
    return np.einsum("ij,ij->i", left, right)


def _through_class_vectors(dictionary, targets, codes):
    squares = np.empty((len(targets), dictionary.n_classes), targets.dtype)
    for k, block in enumerate(dictionary.blocks):
        misfit = targets - codes[:, block] @ dictionary.atoms[block]
        squares[:, k] = _row_dots(misfit, misfit)
    return squares


def _class_forms(dictionary, codes, linear):
    """linear_iᵀc_i and c_iᵀ(X_iᵀX_i)c_i of every class: by matrix products for large classes, else by a kernel."""
    from ancr._kernels import class_quadratics

    cross = np.empty((len(codes), dictionary.n_classes), codes.dtype)
    squares = np.empty_like(cross)
    if dictionary.n_atoms < _LARGE_CLASS * dictionary.n_classes:
        class_quadratics(codes, linear, *dictionary.flat_block_grams, dictionary.bounds, cross, squares)
        return cross, squares
    for k, (block, gram) in enumerate(zip(dictionary.blocks, dictionary.block_grams, strict=True)):
        part = codes[:, block]
        cross[:, k], squares[:, k] = _row_dots(part, linear[:, block]), _row_dots(part, part @ gram)
    return cross, squares


def _through_class_grams(dictionary, targets, codes, linear):
    """‖t‖² − 2·tᵀX_i c_i + c_iᵀ(X_iᵀX_i)c_i, and the direct formula wherever that difference cancels."""
    linear = targets @ dictionary.atoms.T if linear is None else linear
    cross, squares = _class_forms(dictionary, codes, linear)
    squares += _row_dots(targets, targets)[:, None]
    spread = squares.copy()
    squares -= 2.0 * cross
    # Below this share of what was added up, too few digits are left to take a square root of.
    cancelled = squares < np.finfo(squares.dtype).eps ** 0.375 * spread
    for k in np.flatnonzero(cancelled.any(axis=0)):
        rows, block = np.flatnonzero(cancelled[:, k]), dictionary.blocks[k]
        misfit = targets[rows] - codes[rows, block] @ dictionary.atoms[block]
        squares[rows, k] = _row_dots(misfit, misfit)
    return squares
