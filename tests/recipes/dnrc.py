"""A preset: discriminative non-negative representation, min ‖y − Xc‖² + λΣᵢⱼ‖X_i c_i + X_j c_j‖², c ≥ 0."""

from dataclasses import dataclass

from ancr.axes.quadratics import Quadratic
from ancr.classifiers.base import BaseRepresentationClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class DNRCClassifier(BaseRepresentationClassifier):
    """H = XᵀX + 2λ(K·blockdiag(X_iᵀX_i) + XᵀX) and b = Xᵀy, for K classes; rule ``res``.

    J. Xu et al.: Discriminative non-negative representation based classifier for image recognition.
    """

    alpha: float = 1e-3  # fields are parameters, in addition to space, class_weight and temperature
    constraint = "nonnegative"  # other attributes are what the method fixes

    @staticmethod
    def quadratic(alpha, beta, n_classes):
        """λ pulls the parts that classes represent away from each other."""
        return Quadratic(gram=1.0 + 2.0 * alpha, blocks=2.0 * alpha * n_classes)
