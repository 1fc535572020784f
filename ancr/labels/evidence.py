r"""How suspicious a label is by the difference between given labels and random ones.

Whether a label is right depends on the value of its class as well as on those of the others, and on which opinion is
asked; how much on each differs from data set to data set. It can be learned without knowing which labels are wrong:
most given labels are right, and labels drawn at random are wrong. For each opinion d a label k has three features,

    d_k,    max_{j ≠ k} d_j,    T·log Σ_{j ≠ k} exp(d_j/T),

and a logistic regression tells the given labels from random ones. Its log-odds for "random" are the score. Wrong labels
among the given ones pull all scores towards "random", but hardly change their order.

This is the best order for labels that are wrong at random. A label that was mistaken for a similar class looks like
those of its class, and not like a random one; for such see `ancr.labels.repetition`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression

from ancr.labels.odds import all_others, best_other
from ancr.labels.suspicion import random_labels
from ancr.selection.temperature import fit_temperature

# Random labels for each sample.
_DRAWS = 5
# Features have variance one and are few: a weak penalty only keeps weights finite where all labels are told apart.
_PENALTY = 0.01


def evidence_against(opinions: list[np.ndarray], labels: np.ndarray) -> np.ndarray:
    """Log-odds that a label is a random one, for every label on every sample.

    Parameters
    ----------
    opinions : list of ndarray of shape (n_samples, n_classes)
        Decision values of samples that were held out.
    labels : ndarray of shape (n_samples,)
        Index of the given class.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.evidence import evidence_against
    >>> random = np.random.default_rng(0)
    >>> truth = random.integers(0, 4, 200)
    >>> decisions = np.eye(4)[truth] + 0.3 * random.normal(size=(200, 4))
    >>> given = truth.copy()
    >>> given[:10] = (given[:10] + 1) % 4
    >>> against = evidence_against([decisions], given)[np.arange(200), given]
    >>> bool(against[:10].min() > np.median(against[10:]))
    True
    """
    n, n_classes = opinions[0].shape
    drawn = [labels, *(random_labels(labels, n_classes, seed) for seed in range(_DRAWS))]
    rows = np.arange(n)
    columns = [np.concatenate([values[rows, k] for k in drawn]) for values in _features(opinions, labels)]
    table = np.column_stack(columns)
    middle, spread = table.mean(axis=0), np.maximum(table.std(axis=0), 1e-300)
    is_random = np.repeat([0, 1], [n, _DRAWS * n])
    weights = np.repeat([1.0, 1.0 / _DRAWS], [n, _DRAWS * n])
    learner = LogisticRegression(C=1.0 / _PENALTY, max_iter=1000)
    learned = learner.fit((table - middle) / spread, is_random, sample_weight=weights)
    against = np.full((n, n_classes), float(learned.intercept_[0]))
    for weight, values, mean, scale in zip(learned.coef_[0], _features(opinions, labels), middle, spread, strict=True):
        against += weight * (values - mean) / scale
    return against


def _features(opinions: list[np.ndarray], labels: np.ndarray) -> Iterator[np.ndarray]:
    """One after another, since each is as large as the decision values."""
    for decisions in opinions:
        yield decisions
        yield best_other(decisions)
        yield all_others(decisions, fit_temperature(decisions, labels)[0])
