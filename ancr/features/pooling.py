"""Pooling: from local descriptors (positions × channels) to one vector per image."""

from types import ModuleType
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture

from ancr.features._torch import import_torch


def average_pooling(descriptors: Any) -> Any:
    """Mean over positions.

    Parameters
    ----------
    descriptors : torch.Tensor of shape (n_images, n_positions, n_channels)
        Output of a convolution.
    """
    return descriptors.mean(dim=1)


def bilinear_pooling(descriptors: Any) -> Any:
    """B-CNN: the mean outer product of a descriptor with itself, signed square root, then unit ℓ2 norm.

        B = (1/P) Σ_p x_p x_pᵀ,   b = vec(B),   b ← sign(b)·√|b|,   b ← b/‖b‖

    Parameters
    ----------
    descriptors : torch.Tensor of shape (n_images, n_positions, n_channels)
        Output of a convolution.

    References
    ----------
    T.-Y. Lin, A. RoyChowdhury, S. Maji: Bilinear CNN models for fine-grained visual recognition. ICCV 2015.
    """
    torch = import_torch()
    outer = descriptors.transpose(1, 2) @ descriptors / descriptors.shape[1]
    flat = outer.flatten(1)
    return torch.nn.functional.normalize(flat.sign() * flat.abs().sqrt(), dim=1)


def fit_fisher_mixture(descriptors: np.ndarray, n_modes: int, random_state: int) -> GaussianMixture:
    """Fit the Gaussian mixture of Fisher vectors, with diagonal covariances, to local descriptors.

    Parameters
    ----------
    descriptors : ndarray of shape (n_descriptors, n_channels)
        Descriptors of the training images.
    n_modes : int
        Number of Gaussians.
    random_state : int
        Seed of the initial values.
    """
    if len(descriptors) < n_modes:
        raise ValueError(f"n_modes={n_modes}, but the images give only {len(descriptors)} local descriptors")
    options = {"covariance_type": "diag", "random_state": random_state}
    return _skimage().learn_gmm(np.asarray(descriptors, np.float64), n_modes=n_modes, gm_args=options)


def fisher_pooling(descriptors: np.ndarray, mixture: GaussianMixture) -> np.ndarray:
    """FV-CNN: gradient of the mixture's log-likelihood, signed square root, then unit ℓ2 norm.

    Parameters
    ----------
    descriptors : ndarray of shape (n_images, n_positions, n_channels)
        Output of a convolution.
    mixture : sklearn.mixture.GaussianMixture
        Result of :func:`fit_fisher_mixture`, with K modes.

    Returns
    -------
    ndarray of shape (n_images, K + 2·K·n_channels)
        Gradients with respect to mixture weights, means and variances.

    References
    ----------
    M. Cimpoi, S. Maji, A. Vedaldi: Deep filter banks for texture recognition and segmentation. CVPR 2015.
    """
    encode = _skimage().fisher_vector
    return np.stack([encode(image.astype(np.float64), mixture, improved=True) for image in descriptors])


def _skimage() -> ModuleType:
    try:
        from skimage import feature
    except ImportError as error:
        message = "pooling='fisher' needs scikit-image: pip install 'ancr[features]'"
        raise ImportError(message) from error
    return feature
