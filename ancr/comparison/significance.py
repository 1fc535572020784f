r"""Whether one method is better than another, or only looks so on these splits.

Several splits: the corrected resampled t-test. Training parts overlap, so that the differences d₁ … d_k are not
independent; with n_test and n_train samples in each part,

    t = mean(d) / √((1/k + n_test/n_train) · var(d)),   k − 1 degrees of freedom

(C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003). One split: McNemar's
test in its exact form, a binomial test on the samples that exactly one of the two methods gets right. Holm's method
adjusts the p-values of several comparisons.
"""

import numpy as np
from numpy.typing import ArrayLike

T_TEST, MCNEMAR = "corrected resampled t-test", "exact McNemar test"
LEVEL = 0.05


def corrected_t_test(first: ArrayLike, second: ArrayLike, n_train: float, n_test: float) -> float:
    """Two-sided p-value of the corrected resampled t-test; 1 if the two are the same on every split.

    Parameters
    ----------
    first, second : array-like of shape (n_splits,)
        Accuracy of two methods on the same splits.
    n_train, n_test : float
        Samples in a training and in a test part.

    Examples
    --------
    >>> from ancr.comparison.significance import corrected_t_test
    >>> round(corrected_t_test([90, 92, 91, 95, 93], [88, 91, 89, 92, 92], n_train=80, n_test=20), 4)
    0.0327
    """
    from scipy.stats import t as student

    differences = np.asarray(first, float) - np.asarray(second, float)
    count, mean = len(differences), differences.mean()
    if count < 2 or not differences.any():
        return 1.0
    error = np.sqrt((1 / count + n_test / n_train) * differences.var(ddof=1))
    # The same difference on every split would be infinitely significant; a sample of each is what can be told apart.
    statistic = abs(mean) / max(error, 1e-9)
    return float(2 * student.sf(statistic, count - 1))


def exact_mcnemar(first: ArrayLike, second: ArrayLike) -> float:
    """Two-sided p-value of McNemar's exact test.

    Parameters
    ----------
    first, second : array-like of bool of shape (n_samples,)
        Which samples each of two methods gets right.

    Examples
    --------
    >>> from ancr.comparison.significance import exact_mcnemar
    >>> exact_mcnemar([1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 0])
    0.03125
    """
    from scipy.stats import binomtest

    first, second = np.asarray(first, bool), np.asarray(second, bool)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    if only_first + only_second == 0:
        return 1.0
    return float(binomtest(only_first, only_first + only_second).pvalue)


def holm(p_values: ArrayLike) -> list[float]:
    """Adjusted p-values: the chance of a single wrong "worse" among all of them stays below the level.

    Examples
    --------
    >>> from ancr.comparison.significance import holm
    >>> [round(p, 3) for p in holm([0.01, 0.2, 0.03])]
    [0.03, 0.2, 0.06]
    """
    p_values = np.asarray(p_values, float)
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted.tolist()


def wilson_interval(right: float, total: float, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of an accuracy of ``right`` out of ``total``, as shares.

    Examples
    --------
    >>> from ancr.comparison.significance import wilson_interval
    >>> [round(end, 3) for end in wilson_interval(95, 100)]
    [0.888, 0.978]
    """
    share, spread = right / total, z * z / total
    centre = (share + spread / 2) / (1 + spread)
    half = z * np.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return float(centre - half), float(centre + half)
