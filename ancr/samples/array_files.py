"""Arrays from ``.npz``, ``.npy`` and ``.mat`` files that may be damaged. Nothing in a file is executed."""

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ancr._core.messages import one_line


def read_npz(path: Path, names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Arrays of an ``.npz`` file by name.

    Parameters
    ----------
    path : Path
        The file.
    names : iterable of str or None
        The arrays to read, as far as the file has them; None means all.

    Raises
    ------
    ValueError
        With one line that says what is wrong with the file.
    """
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):  # NumPy would take it for a pickle, and advise to load it unsafely
                raise ValueError("it is not a zip archive")
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            return {name: archive[name] for name in archive.files if names is None or name in names}
    except Exception as error:  # zipfile, zlib and numpy raise many kinds
        raise _unreadable(path, "an .npz", error) from error


def read_npy(path: Path) -> np.ndarray:
    """The array of an ``.npy`` file, mapped from disk."""
    try:
        return np.lib.format.open_memmap(path, "r")
    except Exception as error:
        raise _unreadable(path, "an .npy", error) from error


def check_arrays(path: Path, arrays: Mapping[str, np.ndarray], names: Iterable[str]) -> None:
    """Raise a ValueError that names the arrays a file should have and lacks."""
    if missing := [name for name in names if name not in arrays]:
        raise ValueError(f"{path} lacks the arrays {', '.join(missing)}")


def read_mat(path: Path, squeeze: bool = False) -> dict[str, np.ndarray]:
    """Variables of a MATLAB file of any version; ``squeeze`` drops axes of length 1, for structs and cells."""
    from scipy.io import loadmat

    try:
        with path.open("rb") as file:
            is_hdf5 = file.read(128)[124:128] in (b"\x00\x02IM", b"\x02\x00MI")  # v7.3
        if is_hdf5:
            return _read_hdf5(path)
        return {name: value for name, value in loadmat(path, squeeze_me=squeeze).items() if not name.startswith("_")}
    except ImportError:
        raise
    except Exception as error:  # scipy and h5py raise many kinds
        raise _unreadable(path, "a MATLAB", error) from error


def _read_hdf5(path: Path) -> dict[str, np.ndarray]:
    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"{path} is a MATLAB v7.3 file and needs h5py: pip install h5py") from error
    with h5py.File(path) as file:
        # HDF5 keeps MATLAB's column-major order, so every array comes out transposed
        return {name: np.asarray(value).T for name, value in file.items() if isinstance(value, h5py.Dataset)}


def _unreadable(path: Path, kind: str, error: Exception) -> Exception:
    if isinstance(error, OSError) and error.filename:  # the system's own message about the file
        return error
    message = one_line(error)
    return ValueError(message if str(path) in message else f"{path} is not {kind} file that can be read: {message}")


def numeric_matrix(where: object, vectors: np.ndarray) -> np.ndarray:
    """The vectors as they are, if they are rows of real numbers."""
    vectors = np.asarray(vectors)
    if vectors.ndim != 2:
        raise ValueError(f"{where}: the vectors have {vectors.ndim} dimensions, but expected 2")
    if vectors.dtype.kind not in "biuf":
        raise ValueError(f"{where}: the vectors are of type {vectors.dtype}, but expected real numbers")
    if not vectors.shape[1]:
        raise ValueError(f"{where}: the vectors have no columns")
    return vectors


def check_finite(where: object, vectors: np.ndarray, in_memory: bool = False) -> None:
    """Raise a ValueError that names the first value that is missing or infinite.

    Rows and columns of a file count from 1; an array in memory is shown as Python would index it.
    """
    finite = np.isfinite(vectors)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        cell = f"{where}[{row}, {column}]" if in_memory else f"{where}, row {row + 1}, column {column + 1}"
        raise ValueError(
            f"{cell}: the value is {vectors[row, column]:g}, the first of "
            f"{np.count_nonzero(~finite)} missing or infinite values; fill them in or remove the rows"
        )


def as_float(vectors: np.ndarray) -> np.ndarray:
    """Keep single and double precision; half precision, used to save disk space, becomes single; all else double."""
    if vectors.dtype in (np.float32, np.float64):
        return np.asarray(vectors)
    return vectors.astype(np.float32 if vectors.dtype == np.float16 else np.float64)
