"""A quadratic: (1 − β)‖y − Xc‖² + βΣ‖y − X_i c_i‖² + λ‖c‖², CRC at β = 0, NSC at β = 1."""

from ancr.axes.quadratics import Quadratic


def between_crc_and_nsc(alpha, beta, n_classes):
    """The weights of H = (1 − β)XᵀX + β·blockdiag(X_iᵀX_i) + λI and b = Xᵀy."""
    return Quadratic(ridge=alpha, gram=1.0 - beta, blocks=beta)
