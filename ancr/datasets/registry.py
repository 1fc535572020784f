"""Facts about each data set, from ``registry.toml``: home page, files, checksums, licence, size and folder tree.

Also which of them are on this machine, and where.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ancr._core.files import PathLike
from ancr._core.locations import DataNotFoundError, WrongTreeError, data_homes, describe_tree


@dataclass(frozen=True)
class RemoteFile:
    """One public file of a data set.

    Parameters
    ----------
    url : str
        Public address.
    file : str
        Path relative to the data home; an archive is unpacked into the folder of that path.
    known_hash : str or None
        ``"sha256:…"`` or ``"md5:…"`` in pooch's notation; None if no checksum is published.
    archive : bool
        Unpack after the download and delete the archive.
    """

    url: str
    file: str
    known_hash: str | None = None
    archive: bool = False


@dataclass(frozen=True)
class DatasetInfo:
    """One entry of the registry.

    ``roots`` are the folders, relative to a data home, that may hold the set; ``markers`` are the files that such
    a folder must contain; ``tree`` shows its layout.
    """

    name: str
    title: str
    home_page: str
    licence: str
    citation: str
    description: str
    size: str
    tree: str
    roots: Sequence[str] = ()
    markers: Sequence[str] = ()
    sources: Sequence[RemoteFile] = ()
    unavailable: str = ""

    @property
    def loader(self) -> str:
        """Name of its loader in `ancr.datasets`."""
        return f"load_{self.name}"

    @property
    def folder(self) -> str:
        """Folder of the set in a data home."""
        return self.roots[0].split("/")[0]

    @property
    def how_to_get(self) -> str:
        """One line that says how to get the data set."""
        if self.unavailable:
            return self.unavailable
        if not self.sources:
            return "Ships with scikit-learn: no download needed."
        return f"Download it with `ancr fetch {self.name}` ({self.size}), or manually from {self.home_page}"


def _read() -> dict[str, DatasetInfo]:
    facts = tomllib.loads(files("ancr.datasets").joinpath("registry.toml").read_text(encoding="utf-8"))
    read = {name: tuple(RemoteFile(**source) for source in entry.pop("sources", ())) for name, entry in facts.items()}
    return {name: DatasetInfo(name=name, sources=sources, **facts[name]) for name, sources in read.items()}


REGISTRY = _read()


def dataset_info(name: str) -> DatasetInfo:
    """Registry entry of a name.

    Raises
    ------
    ValueError
        If the name is unknown; the message lists the known names.

    Examples
    --------
    >>> from ancr.datasets import dataset_info
    >>> dataset_info("cub200").title
    'CUB-200-2011'
    """
    if name not in REGISTRY:
        raise ValueError(f"name={name!r} is not one of the data sets {', '.join(REGISTRY)}")
    return REGISTRY[name]


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
    return [Present(info, found_tree(info, data_home), _features(info, data_home)) for info in REGISTRY.values()]


def found_tree(info: DatasetInfo, data_home: PathLike | None) -> Path | None:
    """The folder that `find_tree` finds; None if the data set is not there."""
    try:
        return find_tree(info, data_home)
    except DataNotFoundError:
        return None


def _features(info: DatasetInfo, data_home: PathLike | None) -> dict[str, Path]:
    if not info.roots:
        return {}
    folders = [home / info.folder for home in data_homes(data_home)]
    return {file.stem: file for folder in reversed(folders) for file in sorted(folder.glob("*.npz"))}
