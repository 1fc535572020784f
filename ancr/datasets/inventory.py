"""The data sets of the registry that are on this machine."""

from dataclasses import dataclass
from pathlib import Path

from ancr._core.files import PathLike
from ancr._core.locations import DataNotFoundError, WrongTreeError, data_homes, describe_tree
from ancr.datasets.registry import REGISTRY, DatasetInfo


@dataclass(frozen=True)
class Present:
    """Location of a data set: its own files, and its stored features by name."""

    info: DatasetInfo
    root: Path | None
    features: dict[str, Path]


def find_tree(info: DatasetInfo, data_home: PathLike | None = None) -> Path:
    """Root of an image data set: the first candidate folder that has all of its marker files.

    Parameters
    ----------
    info : DatasetInfo
        Registry entry; ``info.roots`` are the accepted folder names, ``info.markers`` the files they must contain.
    data_home : path-like or None
        The only folder to search; None searches all of :func:`data_homes`.

    Raises
    ------
    WrongTreeError
        If a candidate folder exists but lacks a marker.
    DataNotFoundError
        If no candidate exists at all.
    """
    candidates = [home / root for home in data_homes(data_home) for root in info.roots]
    if data_home is not None and Path(data_home).name in {Path(root).name for root in info.roots}:
        candidates.append(Path(data_home).expanduser())  # the folder of the data set itself was given
    present = [folder for folder in candidates if folder.is_dir()]
    for folder in present:
        if all((folder / marker).exists() for marker in info.markers):
            return folder
    if present:
        missing = [marker for marker in info.markers if not (present[0] / marker).exists()]
        raise WrongTreeError(
            f"{present[0]} does not have the layout of {info.title}: {', '.join(missing)} missing.\n"
            f"Expected:\n{info.tree}\nFound:\n{describe_tree(present[0])}\n{info.how_to_get}"
        )
    looked = ", ".join(map(str, candidates))
    raise DataNotFoundError(
        f"{info.title} not found. Searched for {looked}.\nExpected tree:\n{info.tree}\n{info.how_to_get}"
    )


def inventory(data_home: PathLike | None = None) -> list[Present]:
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


def _root(info: DatasetInfo, data_home: PathLike | None) -> Path | None:
    try:
        return find_tree(info, data_home)
    except DataNotFoundError:
        return None


def _features(info: DatasetInfo, data_home: PathLike | None) -> dict[str, Path]:
    if not info.roots:
        return {}
    folders = [home / info.folder for home in data_homes(data_home)]
    return {file.stem: file for folder in reversed(folders) for file in sorted(folder.glob("*.npz"))}
