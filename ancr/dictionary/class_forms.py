"""c_iᵀ(X_iᵀX_i)c_i for each class: by one matrix product per class or, for many small classes, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ancr._core.arrays import Array, device, is_non_numpy, read_only

if TYPE_CHECKING:
    from ancr.dictionary.atoms import BaseDictionary

# Average number of samples per class from which one matrix product per class is quicker than a loop.
_LARGE_CLASS = 8


def class_forms(dictionary: BaseDictionary, codes: Array) -> Array:
    """c_iᵀ(X_iᵀX_i)c_i for each class i of dense codes: (n_queries, n_classes)."""
    if is_non_numpy(codes) and (places := dictionary.once("places", lambda: _places(dictionary))) is not None:
        return _at_once(dictionary, places, codes)
    if is_non_numpy(codes) or dictionary.n_atoms >= _LARGE_CLASS * dictionary.n_classes:
        pairs = zip(dictionary.blocks, dictionary.block_grams, strict=True)
        images = dictionary.xp.concat([codes[:, block] @ gram for block, gram in pairs], axis=1)
        return dictionary.class_dots(codes, images)
    from ancr._core import array_kernels

    starts = np.concatenate([[0], np.cumsum(np.diff(dictionary.bounds) ** 2)])
    flat = dictionary.once("flat_grams", lambda: np.concatenate([gram.ravel() for gram in dictionary.block_grams]))
    forms = np.empty((len(codes), dictionary.n_classes), codes.dtype)
    array_kernels.class_forms(*map(read_only, (codes, flat, starts, dictionary.bounds)), forms)
    return forms


def _places(dictionary: BaseDictionary) -> Array | None:
    """The atom at each place of each class, all classes as long as the longest; None if that wastes much memory."""
    sizes = np.diff(dictionary.bounds)
    longest = int(sizes.max())
    if longest * dictionary.n_classes > 2 * dictionary.n_atoms:
        return None
    places = np.arange(longest)
    return dictionary.like(np.where(places < sizes[:, None], dictionary.bounds[:-1, None] + places, 0).ravel())


def _padded_grams(dictionary: BaseDictionary) -> Array:
    """X_iᵀX_i of each class, zero beyond its atoms: (n_classes, longest, longest)."""
    longest = int(np.diff(dictionary.bounds).max())
    shape, where = (dictionary.n_classes, longest, longest), device(dictionary.atoms)
    padded = dictionary.xp.zeros(shape, dtype=dictionary.dtype, device=where)
    for k, gram in enumerate(dictionary.block_grams):
        padded[k, : gram.shape[0], : gram.shape[0]] = gram
    return padded


def _at_once(dictionary: BaseDictionary, places: Array, codes: Array) -> Array:
    """The forms by one batched product, for libraries where each call costs more than a small class."""
    xp, padded = dictionary.xp, dictionary.once("padded_grams", lambda: _padded_grams(dictionary))
    entries = xp.reshape(xp.take(codes, places, axis=1), (codes.shape[0], dictionary.n_classes, -1))
    entries = xp.permute_dims(entries, (1, 0, 2))
    return xp.permute_dims(xp.vecdot(entries @ padded, entries, axis=-1), (1, 0))
