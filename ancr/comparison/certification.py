"""How many of a classifier's decisions rest on a certified optimum, found out while it predicts."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from ancr._core.arrays import concat
from ancr.certificate.solution import Solution
from ancr.classifiers.base import BaseRepresentationClassifier


def predict_certified(classifier: Any, queries: np.ndarray) -> tuple[Any, Callable[[], float | None]]:
    """``(labels, share)``: what ``classifier.predict`` returns, and a function for the share of certified queries.

    Sparse solutions are kept, and verified together when the share is asked for, because a certificate prepares the
    whole dictionary once. Dense codes of a set with inequalities come from ADMM stopped outside the set and are not
    certified. The share is None for closed forms and for classifiers of other packages.
    """
    steps, final = (classifier[:-1], classifier[-1]) if isinstance(classifier, Pipeline) else (None, classifier)
    final = getattr(final, "best_estimator_", final)
    if not isinstance(final, BaseRepresentationClassifier):
        return classifier.predict(queries), lambda: None
    proofs: list[Any] = []
    infeasible: list[np.ndarray] = []

    def decide(solution: Solution) -> Any:
        if sparse.issparse(solution.proof.sorted_codes):
            proofs.append(solution.proof)
        elif solution.problem.constraint.has_inequalities:
            infeasible.append(np.zeros(len(solution.queries), bool))
        return final.winners(solution)

    samples = queries if steps is None else steps.transform(queries)
    labels = final.labels(concat(final.map_solutions("predict", samples, decide)))

    def share() -> float | None:
        certified = np.concatenate([*infeasible, *([proofs[0].join(proofs).verify()] if proofs else [])] or [[]])
        return float(certified.mean()) if len(certified) else None

    return labels, share
