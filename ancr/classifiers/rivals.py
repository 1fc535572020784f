"""The methods that the paper compares ANCR with, as choices on the axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from ancr._core.arrays import Array
from ancr.axes.problem import Problem
from ancr.axes.quadratics import times_square
from ancr.axes.rules import Rule, log_ratio
from ancr.axes.sets import Set
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.presets import PenalisedClassifier
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.products import Queries
from ancr.solvers import Solver, SparseAugmented, make_solver


@dataclass(kw_only=True, eq=False, repr=False)
class NSCClassifier(PenalisedClassifier):
    """Nearest subspace classifier: each class represents the query by itself.

        c_i = argmin ‖y − X_i c_i‖² + λ‖c_i‖²   for each class i

    Rule ``res``. One small factorisation per class at fit, one product of n × d per query. Use it as the baseline
    without collaboration: it needs enough samples per class to span what the class can look like.

    Parameters
    ----------
    alpha : float, default=1e-5
        λ ≥ 0; 0 is plain least squares.
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
    K. Lee, J. Ho, D. Kriegman: Acquiring linear subspaces for face recognition under variable lighting. IEEE TPAMI 27,
    2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import NSCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> NSCClassifier().fit(X[:300], y[:300]).predict(X[300:303])
    array([7, 3, 5])
    """

    quadratic, constraint = "subspace", "free"

    alpha: float = 1e-5


@dataclass(kw_only=True, eq=False, repr=False)
class SRCClassifier(PenalisedClassifier):
    """Sparse representation classifier: the lasso on all training samples.

        c = argmin ‖y − Xc‖² + λ‖c‖₁

    Rule ``reg`` by default, as the printed numbers require; the method's authors use ``res``. The exact solver costs
    n × (atoms in use) per round, and takes a handful of rounds for each query. Use it when a query should be explained
    by as few samples as possible, with weights of either sign.

    Parameters
    ----------
    alpha : float, default=1e-3
        λ ≥ 0.
    solver : {"exact", "interior_point"} or Solver, default="exact"
        ``"exact"``: the optimum, certified. ``"interior_point"``: a method that stops at a relative duality gap of
        ``tol``. The published numbers come from such a solver stopped at 0.01; its iterates are dense, cost O(nd²) per
        iteration, and classify differently from the optimum.
    rule : {"res", "reg", "pro", "label"}, default="reg"
        How the code becomes a decision.
    tol : float or None, default=None
        Relative duality gap to reach. None means, for the exact solver, 1e-8, in float32 1e-6; for the interior point
        0.01. Below 1e-5 rounding keeps the interior point from reaching it.
    space : str, callable or Space, default="linear"
        Where samples live, see `RepresentationClassifier`.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes, which multiply those of their samples: ``"balanced"`` is n/(K·n_k) for a class of n_k
        among n samples. See ``docs/imbalance.md``.
    temperature : float or Temperatures, default=0.1
        Divides the decision values in `predict_proba`; a search learns several, with weights.

    References
    ----------
    J. Wright, A. Yang, A. Ganesh, S. Sastry, Y. Ma: Robust face recognition via sparse representation. IEEE TPAMI 31,
    2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import SRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> SRCClassifier(alpha=1e-2).fit(X[:300], y[:300]).predict(X[300:303])
    array([7, 3, 5])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRepresentationClassifier._parameter_constraints,
        "solver": [StrOptions({"exact", "interior_point"}), Solver],
    }
    quadratic, constraint = "l1", "free"

    rule: str | Rule = "reg"
    tol: float | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class _ClassTermClassifier(PenalisedClassifier):
    """Parameters that ProCRC and CCRC share."""

    beta: float = 1e-3
    constraint: str | Set = "free"
    tol: float | None = None
    code: str | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class ProCRCClassifier(_ClassTermClassifier):
    """Probabilistic collaborative representation.

        c = argmin ‖y − Xc‖² + λ‖c‖² + βΣ‖Xc − X_i c_i‖²
          = [(β(K−2)+1)XᵀX + β·blockdiag(X_iᵀX_i) + λI]⁻¹Xᵀy

    Rule ``pro``, as its authors use it: the smallest ‖Xc − X_i c_i‖². (The paper's AR numbers need ``reg``.) One
    n × n factorisation at fit, two products of n × d per query. Use it as a stronger CRC where classes overlap. On the
    other sets, such as ``constraint="simplex"``, it is a classifier nobody has published.

    Parameters
    ----------
    alpha, beta : float, default=1e-3
        λ ≥ 0 and β ≥ 0.
    constraint : {"free", "affine", "nonnegative", "simplex", "capped_simplex"}, default="free"
        The set that c must lie in.
    solver, tol, code
        See `RepresentationClassifier`.
    rule : {"res", "reg", "pro", "label"}, default="pro"
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
    S. Cai, L. Zhang, W. Zuo, X. Feng: A probabilistic collaborative representation based approach for pattern
    classification. CVPR 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import ProCRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = ProCRCClassifier().fit(X[:500], y[:500])
    >>> bool(clf.score(X[500:700], y[500:700]) > 0.85)
    True
    """

    quadratic = "probabilistic"

    rule: str | Rule = "pro"


@dataclass(kw_only=True, eq=False, repr=False)
class CCRCClassifier(_ClassTermClassifier):
    """Competitive collaborative representation.

        c = argmin ‖y − Xc‖² + λ‖c‖² + βΣ‖y − X_i c_i‖²
          = (1+β)[XᵀX + β·blockdiag(X_iᵀX_i) + λI]⁻¹Xᵀy

    Rule ``res``. One n × n factorisation at fit, two products of n × d per query. Each class is pulled to represent the
    query alone as well, between CRC (β = 0) and NSC (β → ∞).

    Parameters
    ----------
    alpha, beta : float, default=1e-3
        λ ≥ 0 and β ≥ 0.
    constraint : {"free", "affine", "nonnegative", "simplex", "capped_simplex"}, default="free"
        The set that c must lie in.
    solver, tol, code
        See `RepresentationClassifier`.
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
    H. Yuan, X. Li, F. Xu, Y. Wang, L. L. Lai, Y. Y. Tang: A collaborative-competitive representation based classifier
    model. Neurocomputing 275, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import CCRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = CCRCClassifier().fit(X[:500], y[:500])
    >>> bool(clf.score(X[500:700], y[500:700]) > 0.85)
    True
    """

    quadratic = "competitive"


@dataclass(kw_only=True, eq=False, repr=False)
class CROCClassifier(BaseRepresentationClassifier):
    """Collaborative representation optimised classifier: NSC and CRC in one rule.

        [(1−w)·‖y − X_i ĉ_i‖² + w·‖y − X_i c_i‖²] / ‖c_i‖²,   smallest wins,

    with c the CRC code and ĉ_i the code of class i alone. Costs one CRC and one NSC. Use it to interpolate between
    the two: w = 0 leaves the subspaces to decide, w = 1 the collaboration.

    Parameters
    ----------
    alpha : float, default=1e-3
        λ ≥ 0 of the collaborative code.
    weight : float, default=0.5
        w in [0, 1].
    subspace_alpha : float, default=1e-4
        λ ≥ 0 of the class codes.
    space : str, callable or Space, default="linear"
        Where samples live, see `RepresentationClassifier`.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes, which multiply those of their samples: ``"balanced"`` is n/(K·n_k) for a class of n_k
        among n samples. See ``docs/imbalance.md``.
    temperature : float or Temperatures, default=0.1
        Divides the decision values in `predict_proba`; a search learns several, with weights.

    References
    ----------
    Y. Chi, F. Porikli: Classification and boosting with multiple collaborative representations. IEEE TPAMI 36, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import CROCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = CROCClassifier().fit(X[:500], y[:500])
    >>> bool(clf.score(X[500:700], y[500:700]) > 0.85)
    True
    """

    quadratic, constraint = "ridge", "free"

    alpha: float = 1e-3
    weight: float = 0.5
    subspace_alpha: float = 1e-4

    @property
    def rule(self) -> Rule:  # type: ignore[override]
        """CROC's rule."""
        return Mixed(self.weight, self.subspace_alpha)


class Mixed(Rule):
    """CROC's rule: the residuals of the code at hand and of each class alone, mixed, over ‖c_i‖².

    Parameters
    ----------
    weight : float
        Weight of the code's residuals; the class subspaces have the rest.
    subspace_alpha : float
        λ of the class codes.
    """

    name = "mixed"
    learns = True

    def __init__(self, weight: float = 0.5, subspace_alpha: float = 1e-4) -> None:
        self.weight, self.subspace_alpha = weight, subspace_alpha

    def set_up(self, dictionary: BaseDictionary) -> None:
        """Prepare to code queries over each class alone."""
        alpha = float(times_square(self.subspace_alpha, dictionary.units))
        problem = Problem.of(dictionary, "subspace", "free", alpha=alpha)
        self._alone = make_solver("closed_form", problem)

    def scores(self, queries: Queries, codes: Any) -> Array:
        """log ‖c_i‖² − log [(1−w)·‖y − X_i ĉ_i‖² + w·‖y − X_i c_i‖²]."""
        subspaces = queries.class_misfits(self._alone.solve_block(queries).sorted_codes)
        together = queries.class_misfits(codes)
        mixed = (1.0 - self.weight) * subspaces + self.weight * together
        return log_ratio(queries.dictionary.class_norms(codes), mixed)


@dataclass(kw_only=True, eq=False, repr=False)
class SACRCClassifier(BaseRepresentationClassifier):
    """Sparsity augmented collaborative representation.

        c = CRC code + k-sparse code of orthogonal matching pursuit

    Rule ``label``: the class with the largest sum of entries. CRC's cost plus k rows of the Gram matrix per query. Use
    it when a dense code alone blurs the class and a sparse one alone is too sure of itself.

    Parameters
    ----------
    alpha : float, default=1e-3
        λ ≥ 0 of the collaborative code.
    n_nonzero : int, default=50
        Atoms in the sparse code, the method's k.
    rule : {"res", "reg", "pro", "label"}, default="label"
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
    N. Akhtar, F. Shafait, A. Mian: Efficient classification with sparsity augmented collaborative representation.
    Pattern Recognition 65, 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import SACRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = SACRCClassifier().fit(X[:500], y[:500])
    >>> bool(clf.score(X[500:700], y[500:700]) > 0.7)
    True
    """

    quadratic, constraint = "ridge", "free"
    printed_as = "SA-CRC"

    alpha: float = 1e-3
    n_nonzero: int = 50
    rule: str | Rule = "label"

    @property
    def solver(self) -> Solver:  # type: ignore[override]
        """CRC's code and a sparse one."""
        return SparseAugmented(self.n_nonzero)
