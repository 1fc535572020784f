"""Where data lies on this machine."""

import os
from pathlib import Path


class DataNotFoundError(FileNotFoundError):
    """A data set is not on this machine; the message says where it was looked for."""


def data_homes(data_home=None):
    """Folders to look in: the argument alone if given, else ``ANCR_DATA``, then ``../shared/data``."""
    if data_home is not None:
        return [Path(data_home)]
    homes = [Path(os.environ["ANCR_DATA"])] if os.environ.get("ANCR_DATA") else []
    return [*homes, Path(__file__).resolve().parents[2].parent / "shared" / "data"]


def find_data(name, data_home=None):
    """Path of a file below the first data home that has it.

    Raises
    ------
    DataNotFoundError
        If no home has it.
    """
    homes = data_homes(data_home)
    for home in homes:
        if (home / name).is_file():
            return home / name
    looked = ", ".join(str(home / name) for home in homes)
    raise DataNotFoundError(f"{name} not found. Looked for {looked}. Set ANCR_DATA to the folder that holds it.")
