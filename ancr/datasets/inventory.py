"""What of the registry is on this machine."""

from dataclasses import dataclass
from pathlib import Path

from ancr.datasets._locate import DataNotFoundError, data_homes, find_tree
from ancr.datasets.registry import REGISTRY, DatasetInfo


@dataclass(frozen=True)
class Present:
    """Where one data set lies: its own files, and stored features of it by name."""

    info: DatasetInfo
    root: Path | None
    features: dict[str, Path]


def inventory(data_home=None):
    """Look for every data set of the registry.

    Parameters
    ----------
    data_home : path-like or None
        The only folder to look in; None looks in all data homes.

    Returns
    -------
    list of Present
        One a data set, in the registry's order.
    """
    return [Present(info, _root(info, data_home), _features(info, data_home)) for info in REGISTRY.values()]


def _root(info, data_home):
    if not info.roots:
        return None
    try:
        return find_tree(info, data_home)
    except DataNotFoundError:
        return None


def _features(info, data_home):
    if not info.roots:
        return {}
    folders = [home / info.folder for home in data_homes(data_home)]
    return {file.stem: file for folder in reversed(folders) for file in sorted(folder.glob("*.npz"))}
