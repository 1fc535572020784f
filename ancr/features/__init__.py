"""Features: from raw samples to the vectors of a dictionary."""

from ancr.features.decoding import UnreadableImageError
from ancr.features.deep import DeepFeatures
from ancr.features.eigenfaces import Eigenfaces

__all__ = ["DeepFeatures", "Eigenfaces", "UnreadableImageError"]
