r"""A query coded over all labelled samples by a problem that holds only those that matter.

The optimum on the simplex uses some dozens of thousands of samples. So a query is coded over the samples nearest to
it, and every other sample is *priced*: with b the inner products with the query, K the kernel and c the code, sample j
could lower the objective only if

    b_j − (Kc)_j > cᵀ(b − Kc − λc).

Samples for which that holds join, until there is none: then the code is the optimum over all samples. No matrix of all
pairs is needed, so a new label or another λ, width or power costs no more than a query.
"""

import numpy as np

from ancr.classifiers import RepresentationClassifier

_FIRST, _MORE, _ROUNDS = 64, 48, 12
# Differences in pricing below this share of the largest inner product are rounding in single precision.
_ROUNDING = 3e-6


def applies_to(settings):
    """Whether settings make codes sparse, and decisions independent of samples that a code does not use."""
    return settings["constraint"] == "simplex" and settings["relaxation"] is None and settings["normalize"]


def products(rows, queries, kernel, gamma):
    """Inner products of unit rows in the space of the kernel: (n_queries, n_rows)."""
    cross = queries @ rows.T
    if kernel == "linear":
        return cross
    # ‖x − y‖² = 2 − 2xᵀy for unit rows.
    cross -= 1.0
    cross *= 2.0 * gamma
    return np.exp(cross, out=cross)


def code_over_few(rows, labels, query, cross, banned, settings):
    """A classifier fitted to those samples that the code of a query can use.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        All labelled samples after power, at unit norm.
    labels : ndarray of shape (n,)
        Their classes.
    query : ndarray of shape (1, d)
        The query, likewise.
    cross : ndarray of shape (n,)
        Its inner products with the rows.
    banned : ndarray of int
        Rows that must not be used.
    settings : dict
        As in `ancr.web.state`.

    Returns
    -------
    classifier : RepresentationClassifier
    chosen : ndarray of int
        The rows that it was fitted to.
    """
    params = {name: settings[name] for name in ("alpha", "kernel", "gamma", "rule", "constraint")}
    open_cross = cross.copy()
    open_cross[banned] = -np.inf
    chosen = _start(open_cross, labels)
    for _ in range(_ROUNDS):
        classifier = RepresentationClassifier(**params).fit(rows[chosen], labels[chosen])
        codes = classifier.codes(query).toarray()[0]
        used = np.flatnonzero(codes)
        code, support = codes[used].astype(rows.dtype), chosen[used]
        pull = cross - code @ products(rows, rows[support], settings["kernel"], settings["gamma"])
        level = float(code @ (pull[support] - settings["alpha"] * code))
        pull[banned] = pull[chosen] = -np.inf
        joining = np.argpartition(-pull, min(_MORE, len(pull) - 1))[:_MORE]
        joining = joining[pull[joining] > level + _ROUNDING * max(1.0, float(np.abs(cross).max()))]
        if not len(joining):
            return classifier, chosen
        chosen = np.concatenate([chosen, joining])
    return classifier, chosen


def _start(cross, labels):
    """The nearest rows, and the nearest of each class, without which a class could not be compared."""
    order = np.argsort(-cross, kind="stable")
    order = order[np.isfinite(cross[order])]
    _, first = np.unique(labels[order], return_index=True)
    return np.unique(np.concatenate([order[:_FIRST], order[first]]))
