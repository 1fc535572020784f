"""Arrays of any library: which library they belong to, whether they are valid, and the operations for higher layers.

NumPy arrays are processed here, by BLAS and the numba kernels of `ancr.backends.kernels`; arrays of all other libraries
by `ancr.backends.array_api`. Higher layers use these functions and the namespace ``xp`` of the array API standard.

The rows of NumPy arrays are processed in blocks, one thread per block; see `ancr.backends.threads`.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

from ancr.backends import array_api
from ancr.backends.threads import share_out, thread_count

# An array of any library that follows the array API standard.
Array = Any
# Rows per block: enough for matrix products at full speed, few enough to stay in cache.
BLOCK_ROWS = 384


def is_foreign(array):
    """Whether this is an array of a library other than NumPy, to be processed on its own device.

    Lists, data frames and sparse matrices become NumPy arrays, as everywhere in scikit-learn; Dask arrays hold NumPy
    blocks.
    """
    if isinstance(array, (np.ndarray, list, tuple)):
        return False
    from array_api_compat import is_array_api_obj, is_dask_array, is_numpy_array

    return is_array_api_obj(array) and not is_numpy_array(array) and not is_dask_array(array)


def namespace(array):
    """The array API namespace of an array; NumPy's for anything that is not an array yet."""
    if is_foreign(array):
        from array_api_compat import array_namespace

        return array_namespace(array)
    import array_api_compat.numpy as xp

    return xp


def device(array):
    """The device of an array; None for anything that is not an array yet."""
    from array_api_compat import device, is_array_api_obj

    return device(array) if is_array_api_obj(array) else None


def to_numpy(array):
    """A NumPy copy of a foreign array; anything else unchanged."""
    if not is_foreign(array):
        return array
    from array_api_compat import to_device

    xp = namespace(array)
    # The library's name for host memory.
    host = xp.Device("CPU_DEVICE") if xp.__name__.endswith("array_api_strict") else "cpu"
    return np.asarray(to_device(array, host))


def like(values, array):
    """NumPy or foreign values as an array of ``array``'s library and device."""
    if not is_foreign(array):
        return to_numpy(values)
    if is_foreign(values) and namespace(values) is namespace(array) and device(values) == device(array):
        return values
    return namespace(array).asarray(to_numpy(values), device=device(array))


def is_single(dtype):
    """Whether this is single precision, in any library."""
    return "float32" in str(dtype)


def check_rows(samples, name="X", dtype=None):
    """Validate an array of another library: two axes, at least one row and one feature, all numbers finite.

    float32 stays float32 and any other real dtype becomes float64, unless ``dtype`` is given. scikit-learn's own check
    accepts foreign arrays only while its ``array_api_dispatch`` is on; this one always does.
    """
    xp = namespace(samples)
    if samples.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {samples.ndim}D array instead: {name} must hold one sample per row. Reshape it "
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
    """Raise if the queries have another library or device than the atoms."""
    foreign = is_foreign(queries) or is_foreign(atoms)
    if foreign and (namespace(queries) is not namespace(atoms) or device(queries) != device(atoms)):
        raise ValueError(
            f"{what} must use the same namespace and the same device as {whose}: expected {describe(atoms)}, got "
            f"{describe(queries)}. Convert the queries, or fit again with samples of their kind."
        )


def needs_numpy(array, method):
    """Raise if a method that supports only NumPy arrays is given others."""
    if is_foreign(array):
        raise ValueError(f"{method} runs on NumPy arrays only, got {describe(array)}; convert the samples to NumPy")


def describe(array):
    """Library, type and device of an array, for messages."""
    kind = type(array)
    where = f" on {device(array)}" if is_foreign(array) else ""
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}{where}"


def concat(parts):
    """Rows of all parts, one after the other, dense or CSR; a single part is not copied."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return namespace(parts[0]).concat(list(parts), axis=0)


def add_to_diagonal(matrix, value):
    """``matrix + value·I``, in place for NumPy matrices."""
    if is_foreign(matrix):
        xp = namespace(matrix)
        return matrix + float(value) * xp.eye(matrix.shape[0], dtype=matrix.dtype, device=device(matrix))
    matrix[np.diag_indices_from(matrix)] += matrix.dtype.type(value)
    return matrix


def in_double(rows):
    """Rows, CSR or of any library, in double precision; not copied if they already are."""
    if sparse.issparse(rows):
        return rows.astype(np.float64, copy=False)
    xp = namespace(rows)
    return xp.astype(rows, xp.float64, copy=False)


def dense(rows):
    """CSR rows as a NumPy array; anything else unchanged."""
    return rows.toarray() if sparse.issparse(rows) else rows


def row_sums(rows):
    """Sum of each row, CSR or of any library."""
    if sparse.issparse(rows):
        return np.asarray(rows.sum(axis=1)).ravel()
    return namespace(rows).sum(rows, axis=1)


def row_dots(left, right):
    """Inner product of each row of ``left``, dense or CSR, with the same row of the dense ``right``."""
    if sparse.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    if is_foreign(left):
        return namespace(left).vecdot(left, right, axis=-1)
    return np.einsum("ij,ij->i", left, right)


def row_squares(rows):
    """Squared norm of each row, dense or CSR."""
    return row_dots(rows, rows)


def read_only(array):
    """A read-only view, for a kernel that does not write to it.

    Arrays that joblib shares between processes are read-only; if all arrays are, one compiled kernel serves all.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def map_rows(work, rows, row_bytes=0, block_rows=BLOCK_ROWS):
    """``[work(block) for block in slices that cover the rows]``, in threads for NumPy arrays.

    Parameters
    ----------
    work : callable
        Takes a slice of rows and returns the result of that block.
    rows : array of shape (n_rows, …)
        The array to process; only its length and library matter here.
    row_bytes : int
        Memory needed per row during the work; all blocks in progress together stay within scikit-learn's
        ``working_memory``.
    block_rows : int
        Maximum number of rows per block; on an accelerator blocks are as large as memory allows.

    Returns
    -------
    list
        Results in the order of the rows.
    """
    n_rows = rows.shape[0]
    if not n_rows:
        return []
    foreign = is_foreign(rows)
    n_threads = 1 if foreign else thread_count()
    block_rows = n_rows if foreign else block_rows
    budget = int(get_config()["working_memory"] * 2**20 // max(1, n_threads * row_bytes))
    rounds = -(-n_rows // (n_threads * max(1, min(block_rows, budget))))
    size = -(-n_rows // (n_threads * rounds))  # every thread gets the same number of equal blocks
    blocks = [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
    if foreign:
        return [work(block) for block in blocks]
    return share_out(work, blocks, n_threads)


def unit_rows(rows, copy=True):
    """Rows scaled to unit ℓ2 norm, at every scale; only rows that are exactly zero stay zero.

    Norms are accumulated in double precision. Without ``copy``, in place where the library can.
    """
    if is_foreign(rows):
        return array_api.unit_rows(rows)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    lost = np.flatnonzero(~((norms > 1e-140) & (norms < 1e140)))
    if len(lost):  # squares overflow, vanish or are zero: scale by the largest entry first
        rows = rows.copy() if copy else rows
        largest = np.abs(rows[lost]).max(axis=1)
        # Twice, because the reciprocal of a subnormal number is infinite and so is the norm of the largest numbers.
        rows[lost] /= np.where(largest > 0.0, largest, 1.0)[:, None]
        norms[lost] = np.sqrt(np.einsum("ij,ij->i", rows[lost], rows[lost], dtype=np.float64))
        norms[norms == 0.0] = 1.0
        return np.divide(rows, norms[:, None], out=rows, casting="same_kind")
    return np.divide(rows, norms[:, None], out=np.empty_like(rows) if copy else rows, casting="same_kind")


def project_simplex(points, radius=1.0):
    """Each row projected on the simplex of this radius."""
    if is_foreign(points):
        return array_api.project_simplex(points, radius)
    from ancr.backends.kernels import project_simplex_rows

    points = np.ascontiguousarray(points)
    out = np.empty_like(points)
    project_simplex_rows(points, radius, out)
    return out


def product_with_atoms(codes, atoms):
    """``codes @ atoms`` for dense codes, skipping zeros if most entries of NumPy codes are zero."""
    if is_foreign(codes) or 4 * np.count_nonzero(codes) > codes.size:
        return codes @ atoms
    from ancr.backends.kernels import product_without_zeros

    product = np.empty((len(codes), atoms.shape[1]), atoms.dtype)
    product_without_zeros(*map(read_only, (codes, atoms)), product)
    return product
