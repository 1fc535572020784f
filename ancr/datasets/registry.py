"""Facts about each data set, from ``registry.toml``: home page, files, checksums, licence, size and folder tree."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files


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
    roots: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    sources: tuple[RemoteFile, ...] = ()
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
    found = {}
    for name, entry in facts.items():
        sources = tuple(RemoteFile(**source) for source in entry.pop("sources", ()))
        roots, markers = (tuple(entry.pop(key, ())) for key in ("roots", "markers"))
        found[name] = DatasetInfo(name=name, roots=roots, markers=markers, sources=sources, **entry)
    return found


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
