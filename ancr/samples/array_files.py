"""Arrays from ``.npz``, ``.npy`` and ``.mat`` files that may be damaged or hostile.

Nothing in a file is executed, and memory is bounded: an array is read only if its file holds as many bytes as its shape
declares, and if a compressed file does not expand beyond all proportion.
"""

import math
import struct
import zipfile
import zlib

import numpy as np

from ancr._core.messages import one_line

# A small file may expand to this many bytes, a large one to this many times its size.
_SMALL = 2**28
_RATIO = 100


def read_npz(path, names=None):
    """Arrays of an ``.npz`` file by name.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str or None
        The arrays to read, as far as the file has them; None means all.

    Raises
    ------
    ValueError
        With one line that says what is wrong with the file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            members = {name: info for name, info in members.items() if names is None or name in names}
            check_expansion(path, sum(info.file_size for info in members.values()))
            return {name: _read_member(archive, info) for name, info in members.items()}
    except Exception as error:  # zipfile, zlib and numpy raise many kinds
        raise _unreadable(path, "an .npz", error) from error


def _read_member(archive, info):
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
        raise ValueError(f"array {info.filename!r} is encrypted or compressed in an unusual way")
    with archive.open(info) as member:
        _check_header(member, info.file_size, info.filename)
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _check_header(file, size, name):
    """Read the header of an array, and raise unless the file holds as many bytes as it declares."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"array {name!r} has the unusual format {version}")
    shape, _, dtype = readers[version](file)
    if dtype.hasobject:
        raise ValueError(f"array {name!r} holds Python objects, which are not loaded")
    declared, held = math.prod(shape) * dtype.itemsize, size - file.tell()
    if declared != held:
        raise ValueError(f"array {name!r} of shape {shape} needs {declared} bytes, but the file holds {held}")


def read_npy(path):
    """The array of an ``.npy`` file, mapped from disk unless it is empty."""
    try:
        with path.open("rb") as file:
            _check_header(file, path.stat().st_size, path.name)
            empty = file.tell() == path.stat().st_size
        return np.load(path, allow_pickle=False, mmap_mode=None if empty else "r")
    except Exception as error:
        raise _unreadable(path, "an .npy", error) from error


def check_arrays(path, arrays, names):
    """Raise a ValueError that names the arrays a file should have and lacks."""
    if missing := [name for name in names if name not in arrays]:
        raise ValueError(f"{path} lacks the arrays {', '.join(missing)}")


def read_mat(path, squeeze=False):
    """Variables of a MATLAB file of any version; ``squeeze`` drops axes of length 1, for structs and cells."""
    from scipy.io import loadmat, whosmat

    try:
        with path.open("rb") as file:
            old = file.read(128)[124:128] not in (b"\x00\x02IM", b"\x02\x00MI")
        if not old:  # v7.3 is HDF5
            return _read_hdf5(path)
        check_expansion(path, _uncompressed_size(path))
        check_expansion(path, sum(8 * math.prod(shape) for _, shape, _ in whosmat(path)))
        return {name: value for name, value in loadmat(path, squeeze_me=squeeze).items() if not name.startswith("_")}
    except ImportError:
        raise
    except Exception as error:  # scipy and h5py raise many kinds
        raise _unreadable(path, "a MATLAB", error) from error


def _uncompressed_size(path):
    """Bytes of all compressed variables, counted without keeping them; stops at the limit."""
    total, most = 0, _limit(path)
    with path.open("rb") as file:
        order = ">" if file.read(128)[126:] == b"MI" else "<"
        while len(tag := file.read(8)) == 8 and total <= most:
            kind, size = struct.unpack(f"{order}II", tag)
            if kind != 15:
                file.seek(size, 1)
                continue
            stream = zlib.decompressobj()
            while size > 0 and total <= most and (block := file.read(min(size, 2**16))):
                size -= len(block)
                while block and total <= most:
                    total += len(stream.decompress(block, 2**20))
                    block = stream.unconsumed_tail
    return total


def _read_hdf5(path):
    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"{path} is a MATLAB v7.3 file and needs h5py: pip install 'ancr[data]'") from error
    with h5py.File(path) as file:
        arrays = {name: value for name, value in file.items() if isinstance(value, h5py.Dataset)}
        check_expansion(path, sum(value.nbytes for value in arrays.values()))
        # HDF5 keeps MATLAB's column-major order, so every array comes out transposed
        return {name: np.asarray(value).T for name, value in arrays.items()}


def check_expansion(path, size):
    """Raise a ValueError if a file declares far more bytes than it can honestly hold."""
    if size > _limit(path):
        raise ValueError(
            f"{path} has {path.stat().st_size} bytes and would expand to {size}; the limit is {_limit(path)}"
        )


def _limit(path):
    return max(_SMALL, _RATIO * path.stat().st_size)


def _unreadable(path, kind, error):
    if isinstance(error, OSError) and error.filename:  # the system's own message about the file
        return error
    message = one_line(error)
    return ValueError(message if str(path) in message else f"{path} is not {kind} file that can be read: {message}")
