r"""How suspicious each label is, from decision values of samples that were held out.

*Odds.* With d_k the decision value of class k and T a temperature at which softmax(d/T) best predicts the given labels,

    s_k = T·log mean_{j ≠ k} exp(d_j/T) − d_k,

the log-odds against label k, up to a constant. A wrong label lies far below *all* others, a confused one just below
the best: the mean tells them apart better than the best other class alone. This is the better order where wrong labels
repeat each other: see `ancr.labels.errors`.

*Evidence.* Whether a label is right depends on the value of its class as well as on those of the others, and on which
opinion is asked; how much on each differs from data set to data set. It can be learned without knowing which labels are
wrong: most given labels are right, and labels drawn at random are wrong. For opinion d, label k has three features,

    d_k,    max_{j ≠ k} d_j,    T·log Σ_{j ≠ k} exp(d_j/T),

and a logistic regression tells the given labels from random ones. Its log-odds for "random" are the score. Wrong labels
among the given ones would teach it that given labels look like random ones; so as soon as a first round has said how
likely each label is to be right, a given label counts that much. This is the best order for labels that are wrong at
random. A label that was mistaken for a similar class looks like those of its class, and not like a random one.

*Patterns.* A sample that is taken for another class is often not alone: others of its class are taken for the same one,
to the same extent. So with D_i all decision values of sample i, m_k their mean over the samples of class k, and S their
covariance within classes, shrunk towards a multiple of I,

    q_ik = −½(D_i − m_k)ᵀS⁻¹(D_i − m_k) + log(n_k/n),

the discriminant of Gaussian classes. The mean of the own class is taken without the sample itself, which makes
D_i − m_k larger by n_k/(n_k − 1); D_i itself is from a code without the sample.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from ancr.selection.temperature import fit_temperature

# Random labels for each sample.
_DRAWS = 5
# Of the logistic regression, whose features have variance one and say nearly the same: with hardly any penalty, a few
# hundred samples, wrong labels among them, settle on large weights that nearly cancel.
_PENALTY = 1.0
# Share of the shrunken covariance that is a multiple of I: with many classes of a few samples it is poorly known.
_SHRINKAGE = 0.6


def odds_against(decisions: np.ndarray, temperature: float) -> np.ndarray:
    """s_k of every class for every sample, of shape (n_samples, n_classes).

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values of samples that were held out.
    temperature : float
        T.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.suspicion import odds_against
    >>> odds_against(np.array([[0.0, 1.0]]), temperature=1.0).tolist()
    [[1.0, -1.0]]
    """
    number = max(decisions.shape[1] - 1, 1)
    return all_others(decisions, temperature) - temperature * np.log(number) - decisions


def all_others(decisions: np.ndarray, temperature: float) -> np.ndarray:
    """T·log Σ_{j ≠ k} exp(d_j/T) for every class k."""
    rows, top = np.arange(len(decisions)), decisions.argmax(axis=1)
    values = decisions / temperature
    total = logsumexp(values, axis=1)
    with np.errstate(divide="ignore"):
        # No class but the largest has more than half of the sum, so that nothing cancels.
        sums = total[:, None] + np.log1p(-np.minimum(np.exp(values - total[:, None]), 1.0))
    values[rows, top] = -np.inf
    sums[rows, top] = logsumexp(values, axis=1)
    return temperature * sums


def best_other(decisions: np.ndarray) -> np.ndarray:
    """max_{j ≠ k} d_j for every class k."""
    rows, top = np.arange(len(decisions)), decisions.argmax(axis=1)
    best = np.repeat(decisions[rows, top][:, None], decisions.shape[1], axis=1)
    rest = decisions.copy()
    rest[rows, top] = -np.inf
    best[rows, top] = rest.max(axis=1)
    return best


def random_labels(labels: np.ndarray, n_classes: int, seed: int = 0) -> np.ndarray:
    """For each label another one, drawn at random."""
    return (labels + np.random.default_rng(seed).integers(1, n_classes, len(labels))) % n_classes


def evidence_against(opinions: list[np.ndarray], labels: np.ndarray, trusted: np.ndarray | None = None) -> np.ndarray:
    """Log-odds that a label is a random one, for every label on every sample.

    Parameters
    ----------
    opinions : list of ndarray of shape (n_samples, n_classes)
        Decision values of samples that were held out.
    labels : ndarray of shape (n_samples,)
        Index of the given class.
    trusted : ndarray of shape (n_samples,) or None
        How likely each label is to be right, as far as that is known; None where all count alike.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.suspicion import evidence_against
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
    trusted = np.ones(n) if trusted is None else trusted / trusted.mean()
    weights = np.append(trusted, np.full(_DRAWS * n, 1.0 / _DRAWS))
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


def by_patterns(decisions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """q_ik for all samples and classes.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples, n_classes)
        Decision values of samples that were held out.
    labels : ndarray of shape (n_samples,)
        Index of the given class. A class without samples gets the lowest value of all.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.labels.suspicion import by_patterns
    >>> usual = np.array([[1.0, 0.8, 0.0], [0.9, 1.0, 0.1], [0.0, 0.1, 1.0]])  # class 1 is often taken for class 0
    >>> decisions = np.repeat(usual, 10, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(30, 3))
    >>> by_patterns(decisions, np.repeat([0, 1, 2], 10)).shape
    (30, 3)
    """
    n, n_classes = decisions.shape
    decisions = decisions - decisions.mean(axis=0)  # nothing depends on an offset, and squares lose no digits to it
    members = np.bincount(labels, minlength=n_classes)
    member_of = np.zeros((n_classes, n))
    member_of[labels, np.arange(n)] = 1.0
    means = member_of @ decisions / np.maximum(members, 1)[:, None]
    apart = decisions - means[labels]
    covariance = apart.T @ apart / n
    level = float(np.trace(covariance)) / n_classes or 1.0
    shrunk = (1.0 - _SHRINKAGE) * covariance + _SHRINKAGE * level * np.eye(n_classes)
    root = np.linalg.cholesky(shrunk)
    points, centres = (solve_triangular(root, values.T, lower=True).T for values in (decisions, means))
    squares = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * points @ centres.T
    own = members[labels]
    squares[np.arange(n), labels] *= (own / np.maximum(own - 1, 1)) ** 2
    values = -0.5 * squares + np.log(np.maximum(members, 1) / n)
    values[:, members == 0] = values.min()
    return values
