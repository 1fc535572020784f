"""One door to arrays that are not NumPy's: whose they are, whether they will do, and which leaves work on them.

All code above the leaves is written once, against the namespace ``xp`` of the array API standard. NumPy arrays get
numba's leaves (`ancr._leaves_numpy`), every other array those of the standard (`ancr._leaves_array`).
"""

import numpy as np

# What to use instead of a method that runs on NumPy arrays alone.
RIDGE_FAMILY = ", or choose a method of the ridge family, such as ANCRClassifier"


def is_foreign(array):
    """Whether this is an array of another library than NumPy, to be computed on where it lives.

    Lists, data frames and sparse matrices become NumPy arrays as everywhere in scikit-learn; Dask arrays hold NumPy
    blocks.
    """
    if isinstance(array, (np.ndarray, list, tuple)):
        return False
    from array_api_compat import is_array_api_obj, is_dask_array, is_numpy_array

    return is_array_api_obj(array) and not is_numpy_array(array) and not is_dask_array(array)


def namespace(array):
    """The array API namespace of an array, NumPy's for whatever is no array yet."""
    if is_foreign(array):
        from array_api_compat import array_namespace

        return array_namespace(array)
    import array_api_compat.numpy as xp

    return xp


def leaves(array):
    """The numeric leaves for this kind of array."""
    if is_foreign(array):
        from ancr import _leaves_array as module
    else:
        from ancr import _leaves_numpy as module
    return module


def device(array):
    """Where an array lives; None for what is no array yet."""
    from array_api_compat import device, is_array_api_obj

    return device(array) if is_array_api_obj(array) else None


def to_numpy(array):
    """A NumPy copy of a foreign array; anything else as it is."""
    if not is_foreign(array):
        return array
    from array_api_compat import to_device

    xp = namespace(array)
    # What the library calls the host's memory.
    host = xp.Device("CPU_DEVICE") if xp.__name__.endswith("array_api_strict") else "cpu"
    return np.asarray(to_device(array, host))


def like(values, array):
    """A NumPy array, or foreign values, as an array of ``array``'s library and device."""
    if not is_foreign(array):
        return to_numpy(values)
    if is_foreign(values) and namespace(values) is namespace(array) and device(values) == device(array):
        return values
    return namespace(array).asarray(to_numpy(values), device=device(array))


def is_single(dtype):
    """Whether this is single precision, in any library."""
    return "float32" in str(dtype)


def check_rows(samples, name="X", dtype=None):
    """Validate a foreign array of samples: two axes, at least one row and feature, all numbers finite.

    float32 stays float32, anything else real becomes float64, or all becomes ``dtype``. scikit-learn's own check knows
    foreign arrays only while its ``array_api_dispatch`` is on; this one does the same at any time.
    """
    xp = namespace(samples)
    if samples.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {samples.ndim}D array instead: {name} must hold one sample a row. Reshape it "
            "with shape (-1, 1) if it has a single feature or (1, -1) if it is a single sample."
        )
    for axis, what in enumerate(("sample", "feature")):
        if not samples.shape[axis]:
            shape = tuple(samples.shape)
            raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
    if not xp.isdtype(samples.dtype, "numeric") or xp.isdtype(samples.dtype, "complex floating"):
        raise ValueError(f"{name} must hold real numbers, got dtype {samples.dtype}")
    dtype = dtype or (samples.dtype if is_single(samples.dtype) else xp.float64)
    samples = xp.astype(samples, dtype, copy=False)
    if not bool(xp.all(xp.isfinite(samples))):
        raise ValueError(f"Input {name} contains NaN, infinity or a value too large for {dtype}.")
    return samples


def check_same_kind(queries, atoms, what="queries", whose="atoms"):
    """Raise where queries are of another library or on another device than the atoms."""
    foreign = is_foreign(queries) or is_foreign(atoms)
    if foreign and (namespace(queries) is not namespace(atoms) or device(queries) != device(atoms)):
        raise ValueError(
            f"{what} must use the same namespace and the same device as {whose}: expected {_describe(atoms)}, got "
            f"{_describe(queries)}. Convert the queries, or fit again with samples of their kind."
        )


def needs_numpy(array, method, instead=""):
    """Raise where a method that runs on NumPy arrays alone is given others; ``instead`` names another way."""
    if is_foreign(array):
        raise NotImplementedError(
            f"{method} runs on NumPy arrays alone, and was given {_describe(array)}. "
            f"Convert the samples to NumPy{instead}."
        )


def _describe(array):
    kind = type(array)
    where = f" on {device(array)}" if is_foreign(array) else ""
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}{where}"


def concat(parts):
    """Rows of all parts, one after the other; a single part is not copied."""
    return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(list(parts), axis=0)


def add_to_diagonal(matrix, value):
    """``matrix + value·I``, in place where the matrix is NumPy's."""
    if is_foreign(matrix):
        xp = namespace(matrix)
        return matrix + float(value) * xp.eye(matrix.shape[0], dtype=matrix.dtype, device=device(matrix))
    matrix[np.diag_indices_from(matrix)] += matrix.dtype.type(value)
    return matrix
