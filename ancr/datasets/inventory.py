"""The data sets of the registry that are on this machine."""

from dataclasses import dataclass
from pathlib import Path

from ancr._core.locations import DataNotFoundError, data_homes, find_tree
from ancr.datasets.registry import REGISTRY, DatasetInfo


@dataclass(frozen=True)
class Present:
    """Location of a data set: its own files, and its stored features by name."""

    info: DatasetInfo
    root: Path | None
    features: dict[str, Path]


def inventory(data_home=None):
    """Search for every data set of the registry.

    Parameters
    ----------
    data_home : path-like or None
        The only folder to search; None searches all data homes.

    Returns
    -------
    list of Present
        One entry per data set, in the order of the registry.
    """
    return [Present(info, _root(info, data_home), _features(info, data_home)) for info in REGISTRY.values()]


def _root(info, data_home):
    try:
        return find_tree(info, data_home)
    except DataNotFoundError:
        return None


def _features(info, data_home):
    if not info.roots:
        return {}
    folders = [home / info.folder for home in data_homes(data_home)]
    return {file.stem: file for folder in reversed(folders) for file in sorted(folder.glob("*.npz"))}
