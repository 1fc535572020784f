"""Histograms of oriented gradients: features of photographs without a network, in NumPy."""

import numpy as np
from numpy.typing import ArrayLike

SIDE = 64
_CELL, _BINS = 8, 9


def hog(image: ArrayLike) -> np.ndarray:
    """Histogram of oriented gradients of a grey image of 64 × 64 pixels.

    Cells of 8 × 8 pixels count gradients in nine directions, a gradient between two directions in both; blocks of 2 × 2
    cells are scaled to unit length, clipped at 0.2 and scaled again, as by Dalal and Triggs (2005).

    Parameters
    ----------
    image : ndarray of shape (64, 64)
        Grey values.

    Returns
    -------
    ndarray of shape (1764,)

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.features.hog import hog
    >>> stripes = np.tile([0.0, 0.0, 1.0, 1.0], (64, 16))
    >>> int(hog(stripes).reshape(-1, 9)[0].argmax())
    0
    """
    pixels = np.asarray(image, float)
    if pixels.shape != (SIDE, SIDE):
        raise ValueError(f"image must have {SIDE} × {SIDE} pixels, got {pixels.shape}")
    down, right = np.gradient(pixels)
    length = np.hypot(down, right)
    # The direction without its sign, in units of one bin; each gradient counts in the two nearest bins.
    place = (np.arctan2(down, right) % np.pi) * (_BINS / np.pi)
    lower = np.floor(place).astype(int)
    share = place - lower
    cells = SIDE // _CELL
    rows, columns = np.indices(pixels.shape) // _CELL
    cell = (rows * cells + columns) * _BINS
    counts = np.bincount((cell + lower % _BINS).ravel(), (length * (1.0 - share)).ravel(), cells * cells * _BINS)
    counts += np.bincount((cell + (lower + 1) % _BINS).ravel(), (length * share).ravel(), cells * cells * _BINS)
    counts = counts.reshape(cells, cells, _BINS)
    blocks = np.concatenate([counts[:-1, :-1], counts[:-1, 1:], counts[1:, :-1], counts[1:, 1:]], axis=2)
    blocks = np.minimum(_unit(blocks), 0.2)
    return _unit(blocks).ravel()


def _unit(blocks: np.ndarray) -> np.ndarray:
    return blocks / np.sqrt((blocks**2).sum(axis=2, keepdims=True) + 1e-10)
