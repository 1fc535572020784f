"""All memory limits, how much memory a block of work may take where an array lives, and what to do if there is less."""

import mmap
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn import get_config

from ancr._core.array_api import Array

# Bytes of a kernel's Gram matrix above which it is not made: landmarks take its place.
LARGEST_GRAM = 2**31
# Bytes of H above which the exact solver does not keep it, on the host and on a device: it then goes through the atoms.
LARGEST_H_ON_HOST, LARGEST_H_ON_DEVICE = 2**30, 2**33
# Entries of dense codes that are in memory at once where a relaxed solution is certified.
DENSE_CODES_AT_ONCE = 2**24
# Bytes of kernel values worked on at once: what stays in a core's cache between the steps of one formula.
CACHED_BYTES = 2**20
# scikit-learn's own ``working_memory``, in MiB: any other value was set on purpose.
_UNCHANGED = 1024
# Share of a device's free memory for one block; the rest is for what several steps of the work hold at once.
_SHARE = 0.25
Result = TypeVar("Result")


def working_bytes(array: Array) -> int:
    """Bytes that a block of work on this array may take.

    scikit-learn's ``working_memory`` or, on a device and unless that has been changed, a quarter of what is free.
    """
    given = get_config()["working_memory"]
    free = free_bytes(array) if given == _UNCHANGED else None
    return int(given * 2**20) if free is None else int(_SHARE * free)


def free_bytes(array: Array) -> int | None:
    """Free memory of the device of an array, what its library keeps for reuse included; None for the host's."""
    from array_api_compat import is_cupy_array, is_torch_array

    if is_torch_array(array) and array.device.type == "cuda":
        import torch

        kept = torch.cuda.memory_reserved(array.device) - torch.cuda.memory_allocated(array.device)
        return torch.cuda.mem_get_info(array.device)[0] + kept
    if is_cupy_array(array):
        import cupy

        return array.device.mem_info[0] + cupy.get_default_memory_pool().free_bytes()
    return None


def release(array: Array) -> None:
    """Give memory that a library keeps for reuse back to the device of an array."""
    from array_api_compat import is_cupy_array, is_torch_array

    if is_torch_array(array) and array.device.type == "cuda":
        import torch

        torch.cuda.empty_cache()
    elif is_cupy_array(array):
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()


def forget_read(rows: Any) -> None:
    """Give back the memory that holds what was read of a memory map; a map that keeps its changes to itself is left."""
    file: Any = getattr(rows, "_mmap", None)
    if isinstance(rows, np.memmap) and rows.mode != "c" and hasattr(file, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        file.madvise(mmap.MADV_DONTNEED)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception, of any library, says that memory is not enough."""
    named = type(error).__name__ == "OutOfMemoryError"
    return named or isinstance(error, MemoryError) or "ALLOC_FAILED" in str(error)


def in_blocks_that_fit(work: Callable[[slice], Result], blocks: Sequence[slice], rows: Array) -> list[Result]:
    """``[work(block) for block in blocks]``; where memory is not enough, blocks are halved and the work is repeated.

    One warning for all blocks says so.
    """
    waiting, warned = deque(blocks), False
    results: list[Result] = []
    while waiting:
        block, failed = waiting.popleft(), False
        try:
            results.append(work(block))
        except Exception as error:
            failed = is_out_of_memory(error)
            if not failed or block.stop - block.start < 2:
                raise
        if failed:  # only here, where the exception no longer holds the arrays of the work
            release(rows)
            half = -(-(block.stop - block.start) // 2)
            waiting = deque(piece for whole in (block, *waiting) for piece in _cut(whole, half))
            if not warned:
                warnings.warn(
                    f"out of memory with {block.stop - block.start} rows at once: going on with {half}; "
                    "sklearn.set_config(working_memory=...) in MiB sets what a block may take",
                    UserWarning,
                    stacklevel=4,
                )
            warned = True
    return results


def _cut(block: slice, size: int) -> list[slice]:
    return [slice(start, min(start + size, block.stop)) for start in range(block.start, block.stop, size)]
