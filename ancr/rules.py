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

from ancr._arrays import leaves, namespace, to_numpy
from ancr._parallel import read_only
from ancr.solvers.two_parts import TwoParts

# With fewer classes even one of them, by itself, costs too much.
MANY_CLASSES = 64


def residual_decision(dictionary, queries, codes, linear=None):
    """−‖y − X_i c_i‖."""
    return -class_residuals(dictionary, queries, codes, linear)


def regularised_decision(dictionary, queries, codes, linear=None):
    """−log of ‖y − X_i c_i‖² / ‖c_i‖², which spans many orders of magnitude. A class without code comes last."""
    squares, norms = class_squares(dictionary, queries, codes, linear)
    return log_ratio(norms, squares)


def log_ratio(norms, squares):
    """log(norms / squares), finite where either is zero."""
    xp = namespace(squares)
    # A code of this size is none, in either precision: how much its class loses by must not depend on that.
    norms = xp.clip(norms, 1e-14, None)
    return xp.log(norms) - xp.log(xp.clip(squares, float(xp.finfo(squares.dtype).eps) ** 2, None))


def probabilistic_decision(dictionary, queries, codes, linear=None):
    """−‖Xc − X_i c_i‖²: how far class i alone falls short of what all classes represent together."""
    return -_squares(dictionary, codes @ dictionary.atoms, codes)


def label_decision(dictionary, queries, codes, linear=None):
    """Σ c_i: the weight that the code gives a class."""
    codes = codes.toarray() if sparse.issparse(codes) else codes
    return leaves(codes).class_sums(dictionary, codes)


RULES = {
    "res": residual_decision,
    "reg": regularised_decision,
    "pro": probabilistic_decision,
    "label": label_decision,
}


def class_residuals(dictionary, queries, codes, linear=None):
    """‖y − X_i c_i‖ for every query and class: (n_queries, n_classes)."""
    return namespace(queries).sqrt(_squares(dictionary, queries, codes, linear))


def class_squares(dictionary, targets, codes, linear=None):
    """‖t − X_i c_i‖² and ‖c_i‖² for every target t and class i, by the cheapest way.

    ``linear`` is Xᵀt of every target, for a caller who has it.
    """
    if sparse.issparse(codes):
        return _through_support(dictionary, targets, codes)
    norms = leaves(codes).class_dots(dictionary, codes, codes)
    return _squares(dictionary, targets, codes, linear), norms


def classes_can_be_skipped(dictionary, codes):
    """Whether `nearest_class` serves these codes and costs less than all class residuals."""
    small = (np.diff(dictionary.bounds) ** 2).sum() < dictionary.n_atoms * dictionary.n_features
    return small and dictionary.n_classes >= MANY_CLASSES and isinstance(codes, (np.ndarray, TwoParts))


def nearest_class(dictionary, queries, codes, most=None):
    """Number of the class with the least ‖y − X_i c_i‖, without the residuals of those that are out of the question.

    Codes in `TwoParts` are not made whole: an estimate of them is enough to tell. Where two classes are as near, up to
    rounding, or more than ``most`` (one in 32, and one) cannot be ruled out, the number is −1.
    """
    most = 1 + dictionary.n_classes // 32 if most is None else most
    return leaves(queries).nearest_class(dictionary, queries, codes, most)


def _squares(dictionary, targets, codes, linear=None):
    """‖t − X_i c_i‖² alone."""
    if sparse.issparse(codes):
        return _through_support(dictionary, targets, codes)[0]
    # The d-vector X_i c_i of every class is written, read and squared: measured, as costly as 4 products an entry.
    spared = 4 * dictionary.n_classes * dictionary.n_features
    spared += 0 if linear is None else dictionary.n_atoms * dictionary.n_features
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


def _misfit_squares(dictionary, k, targets, codes):
    """‖t − X_k c_k‖² from the d-vector of class k itself."""
    block = dictionary.blocks[k]
    misfit = targets - codes[:, block] @ dictionary.atoms[block, :]
    return leaves(misfit).row_dots(misfit, misfit)


def _through_class_vectors(dictionary, targets, codes):
    squares = [_misfit_squares(dictionary, k, targets, codes) for k in range(dictionary.n_classes)]
    return namespace(targets).stack(squares, axis=1)


def _through_class_grams(dictionary, targets, codes, linear):
    """‖t‖² − 2·tᵀX_i c_i + c_iᵀ(X_iᵀX_i)c_i, and the direct formula wherever that difference cancels."""
    xp, own = namespace(targets), leaves(targets)
    linear = targets @ dictionary.atoms.T if linear is None else linear
    spread = own.class_forms(dictionary, codes) + own.row_dots(targets, targets)[:, None]
    squares = spread - 2.0 * own.class_dots(dictionary, codes, linear)
    # Below this share of what was added up, too few digits are left to take a square root of.
    cancelled = squares < float(xp.finfo(squares.dtype).eps) ** 0.375 * spread
    for k in np.flatnonzero(to_numpy(xp.any(cancelled, axis=0))).tolist():
        mask, column = cancelled[:, k], squares[:, k]
        (rows,) = xp.nonzero(mask)
        column[mask] = _misfit_squares(dictionary, k, xp.take(targets, rows, axis=0), xp.take(codes, rows, axis=0))
        squares[:, k] = column
    return squares
