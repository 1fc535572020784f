"""The temperature that turns decision values into probabilities: the most likely one, and those that are likely."""

import numpy as np
from scipy.special import betaincinv

from ancr._core.arrays import (
    Array,
    entry_of_each_row,
    log_softmax,
    namespace,
    row_dots,
    row_sums,
    softmax,
    to_numpy,
)
from ancr.classifiers.probabilities import Temperatures


def fit_temperature(decisions: Array, labels: np.ndarray, start: float | None = None) -> tuple[float, Array]:
    """The T > 0 for which softmax(decisions / T) is most likely, and the log loss of each sample.

    The loss is convex in 1/T, and Newton's iteration needs only means and variances of the decisions. This ranks
    settings; probabilities come from `likely_temperatures`, since the best T of answers that are all right is zero.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_classes)
        Decision values, of any library.
    labels : ndarray of shape (n_samples,)
        Index of the right class.
    start : float or None
        A temperature to start from.

    Returns
    -------
    temperature : float
    losses : array of shape (n_samples,)
    """
    xp = namespace(decisions)
    values = decisions - xp.max(decisions, axis=1, keepdims=True)
    picked = entry_of_each_row(values, labels)
    spread = -float(xp.mean(values)) or 1.0
    lowest, highest = 1e-3 / spread, 1e4 / spread
    inverse = float(np.clip(1.0 / (start or spread), lowest, highest))
    for _ in range(30):
        parts = softmax(inverse * values) * values
        means = row_sums(parts)
        slope = float(xp.mean(means - picked))
        curvature = float(xp.mean(row_dots(parts, values) - means**2))
        # Far from the optimum Newton overshoots: change by at most a factor of four per step.
        step = inverse - slope / max(curvature, 1e-300)
        new = float(np.clip(step, max(lowest, inverse / 4), min(highest, inverse * 4)))
        if abs(new - inverse) <= 1e-3 * inverse:
            break
        inverse = new
    return 1.0 / inverse, -entry_of_each_row(log_softmax(inverse * values), labels)


# What other data sets needed: T is about 0.6 times the mean margin, within a factor of two either way in two of three.
_USUAL, _FACTOR = -0.5, 0.7
# Before any answer is seen, 1 in 100 is taken to be wrong for reasons that no margin shows: Beta(1/2, 50).
_WRONG_ANYHOW = betaincinv(0.5, 50.0, (np.arange(8) + 0.5) / 8)
# Temperatures tried, first over the whole prior and then where the posterior has its mass.
_TRIED, _FINE = 33, 25
# Shares of the posterior's mass between which temperatures are joined to one.
_CUTS = (0.005, 0.05, 0.25, 0.75, 0.95, 0.995)


def likely_temperatures(decisions: Array, labels: np.ndarray) -> Temperatures:
    r"""The temperatures that held-out answers leave likely, for probabilities averaged over them.

    n right answers of n do not say that the next one is right: the most likely temperature would be zero, and each
    error to come would be certain. So the answers are weighed against a prior, in the model

        p = (1 − ε)·softmax(d/T) + ε/K,    log(T/m) ~ N(−½, 0.7²),    ε ~ Beta(½, 50),

    with m the mean margin between the two largest decision values, which makes T independent of their unit. The
    posterior mean of p is a mean of softmaxes, in which T = ∞ has the weight E[ε]. It is computed on a grid and
    summarised in a few temperatures. For the choice of the prior see ``docs/background/choosing.md``.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_classes)
        Decision values of held-out samples, of any library.
    labels : ndarray of shape (n_samples,)
        Index of the right class. The only sample of a class says nothing: held out, it cannot be recognised.

    Returns
    -------
    Temperatures

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.selection.temperature import likely_temperatures
    >>> labels = np.arange(60) % 2
    >>> perfect = np.eye(2)[labels]
    >>> few, more = (likely_temperatures(perfect[:n], labels[:n]) for n in (4, 60))
    >>> few.probabilities(perfect[:1]).round(2), more.probabilities(perfect[:1]).round(2)
    (array([[0.89, 0.11]]), array([[0.99, 0.01]]))
    """
    values = np.asarray(to_numpy(decisions), float)
    values = values - values.max(axis=1, keepdims=True)
    known = np.bincount(labels)[labels] > 1
    margin = -float(np.sort(values, axis=1)[:, -2].mean()) or 1.0
    places = np.linspace(_USUAL - 5 * _FACTOR, _USUAL + 5 * _FACTOR, _TRIED)
    mass = _posterior(values[known] / margin, labels[known], places).sum(axis=1)
    likely = np.flatnonzero(mass > 1e-6 * mass.max())
    low, high = places[max(likely[0] - 1, 0)], places[min(likely[-1] + 1, _TRIED - 1)]
    places = np.linspace(low, high, _FINE)
    joint = _posterior(values[known] / margin, labels[known], places)
    return _summary(margin * np.exp(places), joint @ (1.0 - _WRONG_ANYHOW), float(joint.sum(axis=0) @ _WRONG_ANYHOW))


def _posterior(values: np.ndarray, labels: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Posterior weights of log(T/m) at these places (rows) and of ε (columns), which sum to one."""
    wrong, logs = _WRONG_ANYHOW[:, None], []
    for place in places:
        shares = np.exp(entry_of_each_row(log_softmax(values / np.exp(place)), labels))
        likelihood = np.log((1.0 - wrong) * shares + wrong / values.shape[1]).sum(axis=1)
        logs.append(likelihood - 0.5 * ((place - _USUAL) / _FACTOR) ** 2)
    weights = np.exp(np.array(logs) - np.max(logs))
    return weights / weights.sum()


def _summary(temperatures: np.ndarray, weights: np.ndarray, floor: float) -> Temperatures:
    """Neighbouring temperatures joined, tails apart from the middle, and ∞ with the weight of the floor."""
    middles = np.cumsum(weights / weights.sum()) - 0.5 * weights / weights.sum()
    parts = np.searchsorted(_CUTS, middles)
    joined = np.bincount(parts, weights)
    means = np.bincount(parts, weights * np.log(temperatures)) / np.maximum(joined, 1e-300)
    used = joined > 0.0
    return Temperatures((*np.exp(means[used]).tolist(), np.inf), (*joined[used].tolist(), floor))
