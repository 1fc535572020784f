"""The paper's methods as presets: a quadratic, a set, and the defaults their authors chose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ancr.axes.rules import Rule
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.solvers import Solver


@dataclass(kw_only=True, eq=False, repr=False)
class PenalisedClassifier(BaseRepresentationClassifier):
    """Parameters of the methods that pay λ for a code and have a solver of one kind."""

    alpha: float = 1e-3
    solver: str | Solver = "exact"
    rule: str | Rule = "res"


@dataclass(kw_only=True, eq=False, repr=False)
class ConstrainedClassifier(BaseRepresentationClassifier):
    """Parameters of the methods whose set has inequalities: ADMM's, and a relaxation."""

    solver: str | Solver = "exact"
    rule: str | Rule = "res"
    rho: float = 1.0
    max_iter: int | None = None
    tol: float | None = None
    relaxation: float | None = None
    code: str | None = None

    @property
    def solver_options(self) -> dict[str, Any]:
        """ADMM's options, too."""
        return {**super().solver_options, "rho": self.rho, "max_iter": self.max_iter}


@dataclass(kw_only=True, eq=False, repr=False)
class CRCClassifier(PenalisedClassifier):
    """Collaborative representation classifier: ridge regression on all training samples.

        c = argmin ‖y − Xc‖² + λ‖c‖² = (XᵀX + λI)⁻¹Xᵀy

    Rule ``reg``: the class with the smallest ‖y − X_i c_i‖² / ‖c_i‖². One factorisation of size min(n, d) at fit,
    two products of n × d per query. The fastest of the family, and the yardstick for the others.

    Parameters
    ----------
    alpha : float, default=1e-3
        The paper's λ ≥ 0.
    solver : {"exact", "closed_form"}, default="exact"
        How the code is found.
    rule : {"res", "reg", "pro", "label"}, default="reg"
        How the code becomes a decision.
    space : str, callable or Space, default="linear"
        Where samples live, see `RepresentationClassifier`.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes, which multiply those of their samples: ``"balanced"`` is n/(K·n_k) for a class of n_k
        among n samples. See ``docs/imbalance.md``.
    temperature : float or Temperatures, default=0.1
        Divides the decision values in `predict_proba`; a search learns several, with weights.

    References
    ----------
    L. Zhang, M. Yang, X. Feng: Sparse representation or collaborative representation: which helps face
    recognition? ICCV 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import CRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> CRCClassifier().fit(X[:300], y[:300]).predict(X[300:303])
    array([7, 3, 5])
    """

    quadratic, constraint = "ridge", "free"

    rule: str | Rule = "reg"


@dataclass(kw_only=True, eq=False, repr=False)
class ACRClassifier(PenalisedClassifier):
    """Affine collaborative representation: CRC whose code sums to one.

        c = argmin ‖y − Xc‖² + λ‖c‖²   s.t. 1ᵀc = 1

    Rule ``res``. The paper prints a closed form with one n × n inverse *per query*; the same optimum is the free
    code of the centred query over the centred atoms plus 1/n, so it costs what CRC costs.

    Parameters
    ----------
    alpha : float, default=1e-3
        The paper's λ ≥ 0.
    solver : {"exact", "closed_form"}, default="exact"
        How the code is found.
    rule : {"res", "reg", "pro", "label"}, default="res"
        How the code becomes a decision.
    space : str, callable or Space, default="linear"
        Where samples live, see `RepresentationClassifier`.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes, which multiply those of their samples: ``"balanced"`` is n/(K·n_k) for a class of n_k
        among n samples. See ``docs/imbalance.md``.
    temperature : float or Temperatures, default=0.1
        Divides the decision values in `predict_proba`; a search learns several, with weights.

    References
    ----------
    H. Yin, X. Wu, Z. Feng, J. Kittler: Affine non-negative collaborative representation based pattern
    classification, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import ACRClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = ACRClassifier().fit(X[:500], y[:500])
    >>> bool(clf.score(X[500:700], y[500:700]) > 0.85)
    True
    """

    quadratic, constraint = "ridge", "affine"


@dataclass(kw_only=True, eq=False, repr=False)
class ANCRClassifier(ConstrainedClassifier):
    """Affine non-negative collaborative representation, the paper's method.

        c = argmin ‖y − Xc‖² + λ‖c‖²   s.t. c ≥ 0, 1ᵀc = 1        (Eq. 2)

    The query is a weighted mean of training samples, most of them with weight zero: the samples that decided can
    be shown. Rule ``res``. The exact solver costs n·d per query plus n·s per round for the s atoms in use, about what
    CRC costs. Use it where classes are well sampled and an answer has to be explained.

    ``ANCRClassifier(alpha=1e-4, solver="admm", rho=1e-2, max_iter=5, code="c")`` is what the authors' script ran
    on AR: five iterations, classified with an iterate outside the simplex. That is a different classifier from
    the optimum of Eq. 2, better on AR and worse on USPS.

    Parameters
    ----------
    alpha : float, default=1e-3
        The paper's λ ≥ 0.
    solver : {"exact", "admm"}, default="exact"
        How the code is found.
    rule : {"res", "reg", "pro", "label"}, default="res"
        How the code becomes a decision.
    rho : float, default=1.0
        ADMM's penalty ρ.
    max_iter : int or None, default=None
        ADMM's iterations. If given without ``tol``, exactly that many are run, without a warning.
    tol : float or None, default=None
        Exact: the relative gap to reach, by default 1e-8, in float32 1e-6. ADMM: its tolerance. A query
        that misses it is reported by a `ConvergenceWarning`.
    relaxation : float or None, default=None
        γ > 0 lets the code leave the set at the price γ/2·dist²(c, set): CRC at γ → 0, the hard constraint at None or
        infinity. `ANCRClassifierCV` chooses it on the training set.
    code : {"c", "z"} or None, default=None
        ADMM and a relaxation give two codes to classify with: z lies in the set, c only near it. None means c with
        a relaxation and z for ADMM.
    space : str, callable or Space, default="linear"
        Where samples live, see `RepresentationClassifier`.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes, which multiply those of their samples: ``"balanced"`` is n/(K·n_k) for a class of n_k
        among n samples. See ``docs/imbalance.md``.
    temperature : float or Temperatures, default=0.1
        Divides the decision values in `predict_proba`; a search learns several, with weights.

    References
    ----------
    H. Yin, X. Wu, Z. Feng, J. Kittler: Affine non-negative collaborative representation based pattern
    classification, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ANCRClassifier().fit(X[::2], y[::2]).predict(X[1::50])
    array([0, 1, 2])
    """

    quadratic, constraint = "ridge", "simplex"

    alpha: float = 1e-3


@dataclass(kw_only=True, eq=False, repr=False)
class NCRClassifier(ANCRClassifier):
    """Non-negative collaborative representation with a ridge, the paper's ablation of ANCR.

        c = argmin ‖y − Xc‖² + λ‖c‖²   s.t. c ≥ 0

    Rule ``res``; the cost is ANCR's. Use it to see what Σc = 1 adds. Parameters as for `ANCRClassifier`.

    References
    ----------
    H. Yin, X. Wu, Z. Feng, J. Kittler: Affine non-negative collaborative representation based pattern
    classification, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import NCRClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = NCRClassifier().fit(X[:500], y[:500])
    >>> bool(clf.score(X[500:700], y[500:700]) > 0.85)
    True
    """

    constraint = "nonnegative"


@dataclass(kw_only=True, eq=False, repr=False)
class NRCClassifier(ConstrainedClassifier):
    """Non-negative representation classifier: non-negative least squares on all training samples.

        c = argmin ‖y − Xc‖²   s.t. c ≥ 0

    Rule ``res``; the cost is ANCR's. Use it where samples are non-negative and there is no λ to choose. Where samples
    represent a query exactly, as standardized ones with d < n do, it has many codes, and which one comes out depends on
    the order of the samples; ``solver=ShortestCode()`` of `ancr.solvers` returns the shortest, which does not.
    Parameters as for `ANCRClassifier`, without ``alpha``.

    References
    ----------
    J. Xu, W. An, L. Zhang, D. Zhang: Sparse, collaborative, or nonnegative representation: which helps pattern
    classification? Pattern Recognition 88, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import NRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = NRCClassifier().fit(X[:500], y[:500])
    >>> bool(clf.score(X[500:700], y[500:700]) > 0.85)
    True
    """

    quadratic, constraint = "least_squares", "nonnegative"
