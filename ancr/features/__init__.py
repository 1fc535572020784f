"""Features: from raw samples to the vectors of a dictionary."""

from ancr.features.deep import DeepFeatures
from ancr.features.eigenfaces import Eigenfaces
from ancr.features.images import UnreadableImageError

__all__ = ["DeepFeatures", "Eigenfaces", "UnreadableImageError"]
