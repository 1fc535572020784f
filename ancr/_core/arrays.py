"""Arrays of any library: which library they belong to, whether they are valid, and the operations for higher layers.

NumPy arrays are processed here, by BLAS and the numba kernels of `ancr._core.array_kernels`; arrays of all other
libraries by `ancr._core.array_api`. Higher layers use these functions and the namespace ``xp`` of the array API
standard.

The rows of NumPy arrays are processed in blocks. A block goes from matrix product to decision in one thread, with BLAS
on one thread inside, so that its arrays stay in that core's cache and no thread waits for another. (Numba's own
threading layers abort when two Python threads enter them at once, and OpenBLAS's threads keep spinning after a product,
taking the cores from the work that follows.)
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock, get_ident
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import get_config
from threadpoolctl import ThreadpoolController

from ancr._core import array_api
from ancr._core.array_api import Array, Namespace
from ancr._core.budgets import in_blocks_that_fit, working_bytes
from ancr._core.threads import share_out

Result = TypeVar("Result")
# Rows per block: enough for matrix products at full speed, few enough to stay in cache.
BLOCK_ROWS = 384


def is_non_numpy(array: Any) -> bool:
    """Whether this is an array of a library other than NumPy, to be processed on its own device.

    Lists, data frames and sparse matrices become NumPy arrays, as everywhere in scikit-learn; Dask arrays hold NumPy
    blocks.
    """
    if isinstance(array, (np.ndarray, list, tuple)):
        return False
    return _library_of(array) is not None


# By the type of an array, which decides both: a solver on a device asks hundreds of times per call.
_LIBRARIES: dict[type, Namespace | None] = {}


def _library_of(array: Any) -> Namespace | None:
    """The array API namespace of a non-NumPy array; None for anything else."""
    kind = type(array)
    if kind not in _LIBRARIES:
        from array_api_compat import array_namespace, is_array_api_obj, is_dask_array, is_numpy_array

        elsewhere = is_array_api_obj(array) and not is_numpy_array(array) and not is_dask_array(array)
        _LIBRARIES[kind] = array_namespace(array) if elsewhere else None
    return _LIBRARIES[kind]


def namespace(array: Any) -> Namespace:
    """The array API namespace of an array; NumPy's for anything that is not an array yet."""
    if is_non_numpy(array):
        return _library_of(array)
    import array_api_compat.numpy as xp

    return xp


def device(array: Any) -> Any:
    """The device of an array; None for anything that is not an array yet."""
    from array_api_compat import device, is_array_api_obj

    return device(array) if is_array_api_obj(array) else None


def to_numpy(array: Any) -> Any:
    """A NumPy copy of a non-NumPy array; anything else unchanged."""
    if not is_non_numpy(array):
        return array
    from array_api_compat import to_device

    xp = namespace(array)
    # The library's name for host memory.
    host = xp.Device("CPU_DEVICE") if xp.__name__.endswith("array_api_strict") else "cpu"
    return np.asarray(to_device(without_gradient(array), host))


def without_gradient(array: Array) -> Array:
    """A tensor that torch records operations on, without the record: torch gives no NumPy array of it otherwise."""
    return array.detach() if getattr(array, "requires_grad", False) else array


def like(values: Any, array: Array) -> Array:
    """Values of any library as an array of ``array``'s library and device."""
    if not is_non_numpy(array):
        return to_numpy(values)
    if is_non_numpy(values) and namespace(values) is namespace(array) and device(values) == device(array):
        return values
    return namespace(array).asarray(to_numpy(values), device=device(array))


def is_single(dtype: Any) -> bool:
    """Whether this is single precision, in any library."""
    return "float32" in str(dtype)


def check_same_kind(queries: Any, atoms: Array, what: str = "queries", whose: str = "atoms") -> None:
    """Raise if the queries have another library or device than the atoms."""
    elsewhere = is_non_numpy(queries) or is_non_numpy(atoms)
    if elsewhere and (namespace(queries) is not namespace(atoms) or device(queries) != device(atoms)):
        raise ValueError(
            f"{what} must use the same namespace and the same device as {whose}: expected {describe(atoms)}, got "
            f"{describe(queries)}. Convert the queries, or fit again with samples of their kind."
        )


def describe(array: Any) -> str:
    """Library, type and device of an array, for messages."""
    kind = type(array)
    where = f" on {device(array)}" if is_non_numpy(array) else ""
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}{where}"


def concat(parts: Sequence[Array]) -> Array:
    """Rows of all parts, one after the other, dense or CSR; a single part is not copied."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))  # SciPy 1.11 gives a matrix
    return namespace(parts[0]).concat(list(parts), axis=0)


def concat_columns(parts: Sequence[Array]) -> Array:
    """Columns of all dense parts, side by side; a single part is not copied."""
    return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(list(parts), axis=1)


def take_rows(rows: Array, chosen: slice | Array) -> Array:
    """Some rows, dense or CSR of any library, by a slice or by positions."""
    if is_non_numpy(rows) and not isinstance(chosen, slice):
        return namespace(rows).take(rows, like(chosen, rows), axis=0)
    return rows[chosen] if rows.ndim == 1 else rows[chosen, :]


def take_columns(rows: Array, chosen: Array) -> Array:
    """Some columns of rows, dense or CSR of any library, by positions."""
    if sparse.issparse(rows):
        return rows[:, chosen]
    if is_non_numpy(rows):
        return namespace(rows).take(rows, like(chosen, rows), axis=1)
    return np.ascontiguousarray(rows[:, chosen])


def submatrix(matrix: Array, chosen: Array) -> Array:
    """Some rows of a matrix and the same columns, by positions."""
    if is_non_numpy(matrix):
        return take_columns(take_rows(matrix, chosen), chosen)
    return matrix[np.ix_(chosen, chosen)]


def add_to_diagonal(matrix: Array, value: float | Array) -> Array:
    """``matrix + value·I``, in place for NumPy matrices; ``value`` may be an array with an entry per row."""
    if is_non_numpy(matrix):
        xp = namespace(matrix)
        return matrix + value * xp.eye(matrix.shape[0], dtype=matrix.dtype, device=device(matrix))
    matrix[np.diag_indices_from(matrix)] += np.asarray(value, matrix.dtype)
    return matrix


def in_double(rows: Array) -> Array:
    """Rows, CSR or of any library, in double precision; not copied if they already are."""
    if sparse.issparse(rows):
        return rows.astype(np.float64, copy=False)
    xp = namespace(rows)
    return xp.astype(rows, xp.float64, copy=False)


def row_major(matrix: Array, dtype: Any) -> Array:
    """The matrix in a precision and, if the library has memory layouts, in row-major order."""
    if is_non_numpy(matrix):
        return namespace(matrix).astype(matrix, dtype, copy=False)
    return np.ascontiguousarray(matrix, dtype)


def dense(rows: Array) -> Array:
    """CSR rows as a NumPy array; anything else unchanged."""
    return rows.toarray() if sparse.issparse(rows) else rows


def row_sums(rows: Array) -> Array:
    """Sum of each row, CSR or of any library."""
    if sparse.issparse(rows):
        return np.asarray(rows.sum(axis=1)).ravel()
    return namespace(rows).sum(rows, axis=1)


def row_dots(left: Array, right: Array) -> Array:
    """Inner product of each row of ``left``, dense or CSR, with the same row of the dense ``right``."""
    if sparse.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    if is_non_numpy(left):
        return namespace(left).vecdot(left, right, axis=-1)
    return np.einsum("ij,ij->i", left, right)


def row_squares(rows: Array) -> Array:
    """Squared norm of each row, dense or CSR."""
    return row_dots(rows, rows)


def squares_in_double(rows: Array) -> Array:
    """Squared norm of each dense row, accumulated in double precision."""
    if is_non_numpy(rows):
        return row_squares(in_double(rows))
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def squared_distances(rows: Array, others: Array) -> Array:
    """‖x − y‖² of each row with each of the others, from differences, so that nothing cancels."""
    if not is_non_numpy(rows):
        return cdist(rows, others, "sqeuclidean")
    row_bytes = 2 * others.shape[0] * others.shape[1] * 8
    return concat(map_rows(lambda block: array_api.squared_distances(rows[block, :], others), rows, row_bytes))


def with_diagonal(matrix: Array, values: Array) -> Array:
    """The matrix with other numbers on its diagonal, in place for NumPy."""
    if is_non_numpy(matrix):
        xp = namespace(matrix)
        on_it = xp.eye(matrix.shape[0], dtype=xp.bool, device=device(matrix))
        return xp.where(on_it, xp.astype(values, matrix.dtype)[:, None], matrix)
    matrix[np.diag_indices_from(matrix)] = values
    return matrix


def softmax(values: Array) -> Array:
    """exp(v) / Σ exp(v) of each row."""
    xp = namespace(values)
    weights = xp.exp(values - xp.max(values, axis=1, keepdims=True))
    return weights / xp.sum(weights, axis=1, keepdims=True)


def log_softmax(values: Array) -> Array:
    """Logarithm of `softmax`, finite where that is too small for its precision."""
    xp = namespace(values)
    values = values - xp.max(values, axis=1, keepdims=True)
    return values - xp.log(xp.sum(xp.exp(values), axis=1, keepdims=True))


def entry_of_each_row(values: Array, columns: np.ndarray) -> Array:
    """``values[i, columns[i]]``, for columns as a NumPy array."""
    return namespace(values).take_along_axis(values, like(columns, values)[:, None], axis=1)[:, 0]


@cache
def _blas_pools() -> list[Any]:
    return [pool for pool in ThreadpoolController().lib_controllers if pool.user_api == "blas"]


def _set_blas_threads(counts: Sequence[int]) -> None:
    for pool, count in zip(_blas_pools(), counts, strict=True):
        # Since version 3.7 threadpoolctl lets the first thread that sets OpenBLAS's limit own it, and ignores all
        # others in silence. The counting below is what makes this safe from any thread.
        release = getattr(pool, "clear_controlling_thread", lambda force: None)
        release(force=True)
        pool.set_num_threads(count)
        release(force=True)


class _SingleThreadedBLAS:
    """Limit BLAS to one thread while any caller is inside.

    The limit belongs to the whole process. Callers from several threads are counted: the first sets it, and the last
    lifts it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before: list[int] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._before = [pool.num_threads for pool in _blas_pools()]
                _set_blas_threads([1] * len(self._before))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    _set_blas_threads(self._before)

    def limits(self) -> list[int]:
        """Threads of each BLAS library as the user set them, whoever is inside."""
        with self._lock:
            return self._before if self._inside else [pool.num_threads for pool in _blas_pools()]

    def lift(self) -> None:
        """Forget all callers: after a fork, those of other threads do not exist."""
        inside, self._inside, self._lock = self._inside, 0, Lock()
        if inside:
            _set_blas_threads(self._before)


_single_threaded_blas = _SingleThreadedBLAS()
# Threads, by their identifiers, whose blocks get no helpers.
_alone_now: set[int] = set()


def _start_anew() -> None:
    _alone_now.clear()
    _single_threaded_blas.lift()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


@contextmanager
def _alone() -> Iterator[None]:
    """Blocks that the current thread starts in here get no helpers."""
    thread = get_ident()
    outermost = thread not in _alone_now
    _alone_now.add(thread)
    try:
        yield
    finally:
        if outermost:
            _alone_now.discard(thread)


@cache
def _cores() -> int:
    """The cores of this process; asked once, since joblib reads files for it."""
    return cpu_count()


def thread_count() -> int:
    """Threads that a call in the current thread may use.

    One inside a block of another call. Otherwise the cores, or ``ANCR_NUM_THREADS`` where that is set, and no more than
    the limit of BLAS if it is below the cores. Following BLAS means following ``threadpool_limits``,
    ``OMP_NUM_THREADS`` and joblib's workers, which set it to keep nested parallelism from oversubscribing the cores.
    """
    if get_ident() in _alone_now:
        return 1
    cores = _cores()
    limits = [limit for limit in _single_threaded_blas.limits() if limit and limit < cores]
    return min([_forced_count() or cores, *limits])


def _forced_count() -> int:
    text = os.environ.get("ANCR_NUM_THREADS", "").strip()
    if text and not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(f"the environment variable ANCR_NUM_THREADS must be a positive integer, got {text!r}")
    return int(text or 0)


@contextmanager
def blas_threads_for(flops: float) -> Iterator[None]:
    """Keep BLAS and blocks on one thread for work too small to gain from more.

    OpenBLAS's threads spin for some 25 ms after a product before they sleep; after a fit of 10 ms they would
    take a core from the first queries.
    """
    if flops > 1e9:
        yield
    else:
        with _single_threaded_blas(), _alone():
            yield


def read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view, for a kernel that does not write to it.

    Arrays that joblib shares between processes are read-only; if all arrays are, one compiled kernel serves all.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def map_rows(
    work: Callable[[slice], Result], rows: Array, row_bytes: int = 0, block_rows: int = BLOCK_ROWS
) -> list[Result]:
    """``[work(block) for block in slices that cover the rows]``, in threads for NumPy arrays.

    Parameters
    ----------
    work : callable
        Takes a slice of rows and returns the result of that block.
    rows : array of shape (n_rows, …)
        The array to process; only its length and library matter here.
    row_bytes : int
        Memory needed per row during the work; all blocks in progress together stay within scikit-learn's
        ``working_memory``, on a device within `ancr._core.budgets.working_bytes`.
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
    elsewhere = is_non_numpy(rows)
    n_threads = 1 if elsewhere else thread_count()
    block_rows = n_rows if elsewhere else block_rows
    allowed = working_bytes(rows) if elsewhere else int(get_config()["working_memory"] * 2**20)
    budget = allowed // max(1, n_threads * row_bytes)
    rounds = -(-n_rows // (n_threads * max(1, min(block_rows, budget))))
    size = -(-n_rows // (n_threads * rounds))  # every thread gets the same number of equal blocks
    blocks = [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
    if elsewhere:
        return in_blocks_that_fit(work, blocks, rows)

    def alone(block: slice) -> Result:
        with _alone():
            return work(block)

    with _single_threaded_blas():
        return [alone(block) for block in blocks] if n_threads == 1 else share_out(alone, blocks, n_threads)


def unit_rows(rows: Array, copy: bool = True) -> Array:
    """Rows scaled to unit ℓ2 norm, at every scale; only rows that are exactly zero stay zero.

    Norms are accumulated in double precision. Without ``copy``, in place where the library can.
    """
    if is_non_numpy(rows):
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


def project_simplex(points: Array, radius: float = 1.0) -> Array:
    """Each row projected on the simplex of this radius."""
    if is_non_numpy(points):
        return array_api.project_simplex(points, radius)
    from ancr._core.array_kernels import project_simplex_rows

    points = np.ascontiguousarray(points)
    out = np.empty_like(points)
    project_simplex_rows(points, radius, out)
    return out


def product_with_atoms(codes: Array, atoms: Array) -> Array:
    """``codes @ atoms`` for dense codes, skipping zeros if most entries of NumPy codes are zero."""
    if is_non_numpy(codes) or 4 * np.count_nonzero(codes) > codes.size:
        return codes @ atoms
    from ancr._core.array_kernels import product_without_zeros

    product = np.empty((len(codes), atoms.shape[1]), atoms.dtype)
    product_without_zeros(*map(read_only, (codes, atoms)), product)
    return product
