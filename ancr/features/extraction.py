"""Run batches of images through a network and a pooling, from local descriptors to one vector per image."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture

from ancr._core.arrays import thread_count
from ancr._core.progress import progress_bar
from ancr.features.backbones import Backbone, choose_device, import_torch
from ancr.features.decoding import DECODING, Picture
from ancr.features.images import DecodedImages, collate


@dataclass
class Batch:
    """Result of a batch: output for its readable images (None if there are none), error messages for the others."""

    positions: list[int]
    output: Any
    reasons: dict[int, str]


@dataclass
class Extractor:
    """A network and its pooling, with the settings to run them.

    Parameters
    ----------
    network : Backbone
        The network with its output layer.
    pooling : {"average", "bilinear", "fisher"} or None
        Pooling of local descriptors; None if the network gives vectors.
    mixture : GaussianMixture or None
        Mixture of Fisher vectors.
    batch_size, device, precision
        As in :class:`ancr.features.DeepFeatures`.
    """

    network: Backbone
    pooling: str | None
    mixture: Any
    batch_size: int
    device: Any
    precision: str

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that a vector depends on besides its image."""
        how = {"decoding": DECODING, "pooling": self.pooling, "precision": self.precision}
        identity = {**self.network.identity, **how}
        if self.mixture is not None:
            parts = (self.mixture.weights_, self.mixture.means_, self.mixture.covariances_)
            content = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
            identity["mixture"] = hashlib.blake2b(content, digest_size=16).hexdigest()
        return identity

    def batches(self, images: Sequence[Picture]) -> Iterator[Batch]:
        """Yield batches with vectors (n, width) as NumPy arrays, NaN for unreadable images; no width if all are."""
        for batch in self.raw_batches(images):
            vectors = np.empty((0, 0)) if batch.output is None else self._pool(batch.output)
            rows = np.full((len(batch.positions), vectors.shape[1]), np.nan, np.float32)
            rows[[position not in batch.reasons for position in batch.positions]] = vectors
            yield replace(batch, output=rows)

    def raw_batches(self, images: Sequence[Picture]) -> Iterator[Batch]:
        """Yield batches with the network's output as tensors; other processes decode the next images."""
        self.prepare()
        with progress_bar("images", len(images), enabled=not self._are_few(images)) as advance:
            for positions, tensors, reasons in self._loader(images):
                yield Batch(positions, None if tensors is None else self.run(tensors), reasons)
                advance(len(positions))

    def prepare(self) -> None:
        """Move the network to the device."""
        self.network.module.to(self.device, memory_format=self._layout)

    def run(self, tensors: Any) -> Any:
        """Run the network on preprocessed images in the chosen precision; the output is float32."""
        torch = import_torch()
        precision = getattr(torch, self.precision)
        mixed = torch.autocast(self.device.type, dtype=precision, enabled=precision != torch.float32)
        with torch.inference_mode(), mixed:
            tensors = tensors.to(self.device, non_blocking=True, memory_format=self._layout)
            return self.network.forward(tensors).float()

    @property
    def _layout(self) -> Any:
        """Memory format: channels last is faster on tensor cores."""
        torch = import_torch()
        return torch.channels_last if self.device.type == "cuda" else torch.contiguous_format

    def _are_few(self, images: Sequence[Picture]) -> bool:
        """Whether starting a process takes longer than decoding them."""
        return len(images) <= 2 * self.batch_size

    def _loader(self, images: Sequence[Picture]) -> Any:
        from torch.utils.data import DataLoader

        return DataLoader(
            DecodedImages(images, self.network.transform),
            batch_size=self.batch_size,
            num_workers=0 if self._are_few(images) else min(8, thread_count() - 1),
            collate_fn=collate,
            pin_memory=self.device.type == "cuda",
        )

    def _pool(self, output: Any) -> np.ndarray:
        if self.pooling == "fisher":
            return fisher_pooling(output.cpu().numpy(), self.mixture)
        pool = {"average": average_pooling, "bilinear": bilinear_pooling}.get(str(self.pooling))
        return (pool(output) if pool else output).cpu().numpy()


def resolve_precision(precision: str, device: str) -> str:
    """``"auto"`` is float16 on a CUDA GPU and float32 elsewhere."""
    if precision != "auto":
        return precision
    return "float16" if choose_device(device).type == "cuda" else "float32"


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
        message = "pooling='fisher' needs scikit-image: pip install scikit-image"
        raise ImportError(message) from error
    return feature
