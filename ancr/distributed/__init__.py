"""Dask: many queries over a dictionary that every worker holds, and dictionaries too large for one machine."""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError("ancr.distributed needs Dask: pip install 'dask[array,dataframe]' distributed") from error

from ancr.distributed.queries import DaskClassifier
from ancr.distributed.sharded import ShardedClassifier, ShardedSolution

__all__ = ["DaskClassifier", "ShardedClassifier", "ShardedSolution"]
