"""`RepresentationClassifier`: any space, quadratic, set, solver and rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ancr.axes.quadratics import Quadratic
from ancr.axes.rules import Rule
from ancr.axes.sets import Set
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.solvers import Solver


@dataclass(kw_only=True, eq=False, repr=False)
class RepresentationClassifier(BaseRepresentationClassifier):
    """Classifier with all axes open.

    A query y is coded by

        c = argmin cᵀHc − 2bᵀc   over a set,

    where the quadratic gives H and b, and the rule turns c into one score per class. The named classifiers are
    presets of this one; combinations that have no name are made here. Wherever a name is accepted, so is an object of
    your own: a function for the quadratic, a `Set`, a `Solver`, a `Rule` (see ``CONTRIBUTING.md``).

    Parameters
    ----------
    quadratic : {"ridge", "least_squares", "l1", "subspace", "probabilistic", "competitive"} or callable
        ``"ridge"``: ‖y − Xc‖² + λ‖c‖²; ``"least_squares"``: ‖y − Xc‖²; ``"l1"``: ‖y − Xc‖² + λ‖c‖₁;
        ``"subspace"`` (NSC): Σ‖y − X_i c_i‖² + λ‖c‖²; ``"probabilistic"`` (ProCRC): ridge + βΣ‖Xc − X_i c_i‖²;
        ``"competitive"`` (CCRC): ridge + βΣ‖y − X_i c_i‖².
    constraint : {"free", "affine", "nonnegative", "simplex", "capped_simplex"} or Set, default="free"
        The set that c must lie in: anywhere; Σc = 1; c ≥ 0; both.
    alpha : float, default=1e-3
        The paper's λ ≥ 0. Not used by ``"least_squares"``.
    beta : float, default=1e-3
        Weight β ≥ 0 of the class terms of ``"probabilistic"`` and ``"competitive"``.
    solver : {"exact", "closed_form", "admm", "interior_point"} or Solver, default="exact"
        ``"exact"``: the optimum, on every plain set; ``"admm"``: the paper's Algorithm 1, for sets with inequalities;
        ``"closed_form"``: what ``"exact"`` uses on the free and affine sets; ``"interior_point"``: for ``"l1"``. An
        object has options of its own: ``ADMM(rho=0.1, max_iter=5)``.
    rule : {"res", "reg", "pro", "label"} or Rule, default="res"
        Class residual ‖y − X_i c_i‖; its square over ‖c_i‖²; ‖Xc − X_i c_i‖²; or the sum of the class's entries.
    tol : float or None, default=None
        Exact: the relative gap that a query must reach; None means 1e-8, in float32 1e-6. ADMM: the tolerance on
        max(‖z−c‖, ‖z−z_prev‖, ‖c−c_prev‖); None means 1e-5, in float32 1e-4. A query that does not meet it is reported
        by a `ConvergenceWarning`. For solvers given by name; an object has its own.
    relaxation : float or None, default=None
        γ > 0 lets a code leave the non-negative or simplex set, at the price γ/2·dist². The problems form one convex
        family from γ → 0, the free set, to None, which means γ = ∞; `ANCRClassifierCV` chooses from it.
    code : {"c", "z"} or None, default=None
        ADMM and a relaxation give two codes to classify with: z lies in the set, c only near it. None means c with
        a relaxation and z for ADMM (the paper used c).
    space : {"linear", "rbf", "poly", "precomputed"}, callable or Space, default="linear"
        Where samples live: the kernel of a `Space`, by name or as a function, which takes samples at unit norm; or a
        `Space` with a power, a width, landmarks. With ``"precomputed"``, `fit` takes the square matrix of the samples'
        inner products and `predict` rows of inner products with the training samples; the square k(y, y) of a query
        is then taken to be the mean of the samples' own.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes, which multiply those of their samples: ``"balanced"`` is n/(K·n_k) for a class of n_k
        among n samples. See ``docs/imbalance.md``.
    temperature : float or Temperatures, default=0.1
        Divides the decision values in `predict_proba`; a search learns several, with weights.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    space_ : Space
        Where samples live, with ``gamma_``, ``landmarks_`` and ``error_``.
    dictionary_ : BaseDictionary
        Atoms and class blocks.
    solver_ : object
        The solver, prepared for the dictionary.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string names.
    n_iter_ : int
        Always 1: fitting is one factorisation. Iterations per query are in ``ancr.solve(...).n_iter``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import RepresentationClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = RepresentationClassifier(constraint="affine", rule="pro").fit(X[::2], y[::2])
    >>> clf.predict(X[1::50])
    array([0, 1, 2])
    """

    quadratic: str | Callable[..., Quadratic] = "ridge"
    constraint: str | Set = "free"
    alpha: float = 1e-3
    beta: float = 1e-3
    solver: str | Solver = "exact"
    rule: str | Rule = "res"
    tol: float | None = None
    relaxation: float | None = None
    code: str | None = None
