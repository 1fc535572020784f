r"""A query coded over all labelled samples by a problem that holds only those that matter.

The optimum on the simplex uses some dozens of thousands of samples. So a query is coded over the samples nearest to
it, and every other sample is *priced*: with b the inner products with the query, K the kernel and c the code, sample j
could lower the objective only if

    b_j − (Kc)_j > cᵀ(b − Kc − λc).

Samples for which that holds join, until there is none: then the code is the optimum over all samples. No matrix of all
pairs is needed, so a new label or another λ, width or power costs no more than a query.
"""

import numpy as np

from ancr.axes.spaces import Space
from ancr.classifiers import RepresentationClassifier
from ancr.studio.state import ActionError

_FIRST, _MORE, _ROUNDS = 80, 48, 12
# With wide codes the problem is no longer small; a slider must not be stuck there.
_MOST = 700
_TOO_MANY = (
    "At these settings nearly every labelled sample has a part in the answer, which takes too long to follow a slider. "
    "Choose a smaller width γ or a smaller λ."
)
# Differences in pricing below this share of the largest inner product are rounding in single precision.
_ROUNDING = 3e-6


def applies_to(settings):
    """Whether settings make codes sparse, and decisions independent of samples that a code does not use."""
    return settings["constraint"] == "simplex" and settings["relaxation"] is None and settings["normalize"]


def kernel_of(cross, settings):
    """Inner products in the space of the kernel, from those of unit rows, in place."""
    if settings["kernel"] == "linear":
        return cross
    # ‖x − y‖² = 2 − 2xᵀy for unit rows.
    cross -= 1.0
    cross *= 2.0 * settings["gamma"]
    return np.exp(cross, out=cross)


class Rows:
    """The labelled samples after power, at unit norm, with the inner products of the first of them if they are known.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        All labelled samples.
    labels : ndarray of shape (n,)
        Their classes.
    pairs : ndarray of shape (m, m) or None
        Inner products of the first m rows, which need not be computed again.
    """

    def __init__(self, rows, labels, pairs=None):
        self.rows, self.labels = rows, labels
        self._pairs = np.empty((0, 0), rows.dtype) if pairs is None else pairs

    def cross(self, queries):
        """Inner products of queries with all rows, without a kernel."""
        return queries @ self.rows.T

    def columns(self, chosen):
        """Inner products of some rows with all rows, without a kernel: (n_chosen, n)."""
        known, m = chosen < len(self._pairs), len(self._pairs)
        if not known.any():
            return self.rows[chosen] @ self.rows.T
        found = np.empty((len(chosen), len(self.rows)), self.rows.dtype)
        found[known, :m] = self._pairs[chosen[known]]
        found[known, m:] = self.rows[chosen[known]] @ self.rows[m:].T
        found[~known] = self.rows[chosen[~known]] @ self.rows.T
        return found

    def code(self, query, cross, banned, settings, judge, near=()):
        """Judge a query by a classifier that holds every sample that its code can use.

        Parameters
        ----------
        query : ndarray of shape (1, d)
            The query, after power, at unit norm.
        cross : ndarray of shape (n,)
            Its inner products with the rows.
        banned : ndarray of int
            Rows that must not be used.
        settings : dict
            As in `ancr.studio.state`.
        judge : callable
            ``judge(classifier, chosen)`` returns a `Judgement` whose ``support`` are rows.
        near : sequence of int
            Rows to begin with, besides the nearest: those that mattered at other settings.

        Returns
        -------
        judgement : Judgement
        chosen : ndarray of int
            The rows that mattered.
        """
        cross = kernel_of(cross.copy(), settings)
        open_cross = cross.copy()
        open_cross[banned] = -np.inf
        chosen = self._start(open_cross, np.asarray(near, int))
        for _ in range(_ROUNDS):
            judgement = judge(self._fitted(chosen, settings), chosen)
            joining = self._joining(cross, chosen, banned, judgement, settings)
            if not len(joining):
                break
            chosen = np.concatenate([chosen, joining])
            if len(chosen) > _MOST:
                raise ActionError(_TOO_MANY)
        return judgement, chosen

    def _start(self, cross, near):
        """The nearest rows, and the nearest of each class, without which a class could not be compared."""
        order = np.argsort(-cross, kind="stable")
        order = order[np.isfinite(cross[order])]
        _, first = np.unique(self.labels[order], return_index=True)
        near = near[np.isfinite(cross[near])]
        return np.unique(np.concatenate([order[: 10 if len(near) else _FIRST], order[first], near]))

    def _fitted(self, chosen, settings):
        """The classifier of some rows; they are valid samples already, so nothing is checked again."""
        classifier = RepresentationClassifier(**{name: settings[name] for name in ("alpha", "rule", "constraint")})
        space = Space(settings["kernel"], gamma=settings["gamma"]).prepare(self.rows[chosen])
        classifier.n_features_in_ = self.rows.shape[1]
        return classifier.learn(space, space.dictionary(self.rows[chosen], self.labels[chosen]))

    def _joining(self, cross, chosen, banned, judgement, settings):
        code, support = judgement.weights.astype(self.rows.dtype), judgement.support
        pull = cross - code @ kernel_of(self.columns(support), settings)
        level = float(code @ (pull[support] - settings["alpha"] * code))
        pull[banned] = pull[chosen] = -np.inf
        joining = np.argpartition(-pull, min(_MORE, len(pull) - 1))[:_MORE]
        return joining[pull[joining] > level + _ROUNDING * max(1.0, float(np.abs(cross).max()))]
