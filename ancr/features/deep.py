"""Deep features: vectors of images from a network, computed once and cached."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags

from ancr._core.files import PathLike
from ancr._core.locations import cache_home
from ancr.features.backbones import check_name, check_weights_in_reach, choose_device, layers_of, load_backbone
from ancr.features.decoding import Picture, UnreadableImageError
from ancr.features.extraction import Extractor, fit_fisher_mixture, resolve_precision
from ancr.features.images import as_image_list, content_digest, image_name
from ancr.features.store import FeatureStore

POOLINGS = ("average", "bilinear", "fisher")
# Batches between two writes to the cache; a killed run loses at most this many.
BATCHES_PER_BLOCK = 4
# Local descriptors that the mixture of Fisher vectors is fitted to.
N_DESCRIPTORS = 100_000


class DeepFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Vectors of images from a layer of a network, with a cache on disk.

    Images are decoded by other processes, one fewer than there are cores and at most 8, or as many as the environment
    variable ``ANCR_NUM_THREADS`` allows; for two batches or fewer, by this one. A terminal shows a progress bar.

    Parameters
    ----------
    backbone : str, default="vgg19"
        ``"vgg16"``, ``"vgg19"``, ``"alexnet"``, or any timm model name (``"timm/…"`` forces timm).
    layer : {"fc6", "fc7", "pool", "conv"} or None, default=None
        Fully connected layers are taken after their ReLU; ``"pool"`` is timm's pooled vector; ``"conv"`` is the
        last convolution, which is pooled to a vector. None means ``"conv"`` if a pooling is given, otherwise
        ``"fc7"`` or ``"pool"``.
    pooling : {"average", "bilinear", "fisher"} or None, default=None
        For ``layer="conv"``: global average, B-CNN, or FV-CNN (for which ``fit`` learns a mixture). None means
        the average.
    weights : str, path-like or None, default="default"
        ``"default"``, a name in torchvision or timm, or a local file. None means random weights.
    image_size : int or None, default=None
        Side length of the square input; None means the backbone's default. B-CNN was published with 448.
    n_modes : int, default=64
        Number of Gaussians of a Fisher vector; they are fitted to 100,000 local descriptors.
    batch_size : int, default=32
        Images per batch.
    device : str, default="auto"
        ``"auto"`` is a CUDA GPU, otherwise an Apple GPU, otherwise the CPU; or a device name of torch.
    precision : {"auto", "float32", "float16", "bfloat16"}, default="auto"
        ``"auto"`` is mixed precision with ``float16`` on a CUDA GPU, and ``float32`` elsewhere.
    cache_dir : path-like, "auto" or None, default="auto"
        Folder for cached vectors; ``"auto"`` is ``features`` in the cache folder, None disables the cache.
    on_error : {"raise", "nan"}, default="raise"
        For an unreadable image: raise an error, or return a row of NaN and list it in ``unreadable_``.
    random_state : int, default=0
        Seed of random weights and of Fisher mixtures.

    Attributes
    ----------
    unreadable_ : dict
        Name of each image of the last call that could not be read, with the reason.
    n_computed_, n_cached_ : int
        Images of the last call that were computed, and that were found in the cache.
    network_ : torch.nn.Module
        The whole network, in evaluation mode.
    mixture_ : GaussianMixture
        Mixture of Fisher vectors; only with ``pooling="fisher"``.

    Examples
    --------
    >>> features = DeepFeatures("vgg19", layer="fc7")  # doctest: +SKIP
    >>> features.fit_transform(["cat.jpg", "dog.jpg"]).shape  # doctest: +SKIP
    (2, 4096)
    """

    def __init__(
        self,
        backbone: str = "vgg19",
        *,
        layer: str | None = None,
        pooling: str | None = None,
        weights: PathLike | None = "default",
        image_size: int | None = None,
        n_modes: int = 64,
        batch_size: int = 32,
        device: str = "auto",
        precision: str = "auto",
        cache_dir: PathLike | None = "auto",
        on_error: str = "raise",
        random_state: int = 0,
    ) -> None:
        self.backbone = backbone
        self.layer = layer
        self.pooling = pooling
        self.weights = weights
        self.image_size = image_size
        self.n_modes = n_modes
        self.batch_size = batch_size
        self.device = device
        self.precision = precision
        self.cache_dir = cache_dir
        self.on_error = on_error
        self.random_state = random_state

    def fit(self, X: Sequence[Picture] | np.ndarray, y: Any = None) -> Self:
        """Load the network and, for Fisher vectors, learn the mixture of local descriptors.

        Parameters
        ----------
        X : sequence of images
            Paths or arrays; used only for Fisher vectors.
        y : None
            Ignored.
        """
        extractor = self._extractor()
        if self._pooling == "fisher":
            images = as_image_list(X)
            drawn: list[np.ndarray] = []
            self.unreadable_: dict[str, str] = {}
            random, each = np.random.default_rng(self.random_state), max(1, N_DESCRIPTORS // max(1, len(images)))
            for batch in extractor.raw_batches(images):
                self._note_unreadable(images, batch.reasons)
                local = () if batch.output is None else batch.output.cpu().numpy()
                drawn += [image[random.permutation(len(image))[:each]] for image in local]
            descriptors = np.concatenate(drawn) if drawn else np.empty((0, 0))
            self.mixture_ = fit_fisher_mixture(descriptors, self.n_modes, self.random_state)
        return self

    def transform(self, X: Sequence[Picture] | np.ndarray) -> np.ndarray:
        """Compute the vectors of images.

        Parameters
        ----------
        X : sequence of images
            Paths, or contents of files as bytes; arrays (height, width[, channels]) of uint8, uint16 or floats in
            [0, 1]; or a stack of such arrays.

        Returns
        -------
        ndarray of shape (n_images, n_features), float32
            One row per image; rows of NaN for unreadable images if ``on_error="nan"``.
        """
        extractor = self._extractor()
        if self._pooling == "fisher" and not hasattr(self, "mixture_"):
            raise NotFittedError("pooling='fisher' learns a mixture: call fit first")
        images = as_image_list(X)
        self.unreadable_ = {}
        folder = cache_home() / "features" if self.cache_dir == "auto" else self.cache_dir
        store = FeatureStore(folder, extractor.identity)
        digests = self._digests(images)
        self._compute_missing(images, digests, store, extractor)
        features = self._gather(images, digests, store)
        self._n_features_out = features.shape[1]
        return features

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.no_validation = True
        tags.requires_fit = self.pooling == "fisher"
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # The network is loaded again when needed; its weights are not pickled.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if not name.startswith("_network")}

    @property
    def network_(self) -> Any:
        """The whole network, in evaluation mode."""
        self._extractor()
        return self._network.module

    @property
    def _layer(self) -> str:
        return self.layer or ("conv" if self.pooling else layers_of(self.backbone)[0])

    @property
    def _pooling(self) -> str | None:
        return (self.pooling or "average") if self._layer == "conv" else None

    def _check(self) -> None:
        check_name(self.backbone)
        layers = layers_of(self.backbone)
        _check_choice("layer", self.layer, (None, *layers))
        _check_choice("pooling", self.pooling, (None, *POOLINGS))
        _check_choice("on_error", self.on_error, ("raise", "nan"))
        _check_choice("precision", self.precision, ("auto", "float32", "float16", "bfloat16"))
        if self.pooling and self._layer != "conv":
            raise ValueError(f"pooling={self.pooling!r} needs layer='conv', but layer={self.layer!r}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size={self.batch_size}, but expected at least 1")

    def _extractor(self) -> Extractor:
        """Check the parameters, and load the network unless it is loaded already."""
        wanted = (self.backbone, self._layer, self.weights, self.image_size, self.random_state)
        if getattr(self, "_network_for", None) != wanted:
            check_weights_in_reach(self.backbone, self.weights)
        self._check()
        if getattr(self, "_network_for", None) != wanted:
            self._network, self._network_for = load_backbone(*wanted), wanted
        return Extractor(
            self._network,
            self._pooling,
            getattr(self, "mixture_", None) if self._pooling == "fisher" else None,
            self.batch_size,
            choose_device(self.device),
            resolve_precision(self.precision, self.device),
        )

    def _digests(self, images: list[Picture]) -> list[bytes | None]:
        """Content digest of each image; None if the file cannot be opened."""
        digests: list[bytes | None] = []
        for i, image in enumerate(images):
            try:
                digests.append(content_digest(image))
            except OSError as error:
                self._note_unreadable(images, {i: str(error)})
                digests.append(None)
        return digests

    def _compute_missing(
        self, images: list[Picture], digests: list[bytes | None], store: FeatureStore, extractor: Extractor
    ) -> None:
        """Compute the vectors that the store lacks, once for identical images, and store them block by block."""
        first: dict[bytes, int] = {}
        for i, digest in enumerate(digests):
            if digest is not None and digest not in store:
                first.setdefault(digest, i)
        unknown, todo = list(first), list(first.values())
        self.n_computed_, self.n_cached_ = 0, len(images) - len(todo)
        block: list[bytes] = []
        rows: list[np.ndarray] = []
        for batch in extractor.batches([images[i] for i in todo]) if todo else ():
            self._note_unreadable(images, {todo[i]: reason for i, reason in batch.reasons.items()})
            self.n_computed_ += len(batch.positions)
            block += [unknown[i] for i in batch.positions]
            rows.append(batch.output)
            # A block is a whole number of batches, so a run that continues after a kill forms the same batches and
            # gives the same floating-point results.
            if len(rows) == BATCHES_PER_BLOCK:
                _store(store, block, rows)
                block, rows = [], []
        _store(store, block, rows)

    def _gather(self, images: list[Picture], digests: list[bytes | None], store: FeatureStore) -> np.ndarray:
        features = store.gather(digests)
        if not features.size:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in list(self.unreadable_.items())[:3])
            raise UnreadableImageError(f"none of {len(images)} images could be read. {reasons}")
        # images that an earlier run could not read are stored as NaN
        unreadable = np.flatnonzero(np.isnan(features[:, 0]))
        self._note_unreadable(images, dict.fromkeys(unreadable, "unreadable in an earlier run"))
        return features

    def _note_unreadable(self, images: list[Picture], reasons: Mapping[int, str]) -> None:
        for i, reason in reasons.items():
            name = image_name(images[i], i)
            if self.on_error == "raise":
                raise UnreadableImageError(f"{name} cannot be read: {reason}")
            self.unreadable_.setdefault(name, reason)


def _check_choice(name: str, value: Any, choices: Sequence[str | None]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r}, but expected one of {', '.join(map(str, choices))}")


def _store(store: FeatureStore, block: list[bytes], rows: list[np.ndarray]) -> None:
    width = max((part.shape[1] for part in rows), default=0)
    if width:  # a block without any readable image has no width and is tried again next time
        filled = [part if part.shape[1] else np.full((len(part), width), np.nan) for part in rows]
        store.add(block, np.concatenate(filled))
