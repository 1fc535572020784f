"""Options, messages and streams that several commands share."""

import codecs
import csv
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ancr._core.messages import one_line
from ancr._core.spreadsheet import harmless

if TYPE_CHECKING:
    from ancr.samples.column_plan import ColumnPlan
    from ancr.samples.sample_set import Samples

FILE = click.Path(dir_okay=False, path_type=Path)
DATA_HOME = click.option(
    "--data-home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that holds the data sets. Default: $ANCR_DATA, then the platform's cache folder.",
)
STRICT = click.option(
    "--strict", is_flag=True, help="Stop at an image that cannot be read. Default: skip it and name it."
)
WEIGHTS = click.option(
    "--weights", help="Weights of the network: a file, or a name in torchvision or timm. Default: the pretrained ones."
)
_SAMPLES = (
    click.argument("data", type=click.Path(path_type=Path)),
    click.option(
        "--label", help="Column or array that holds the labels. Default: target, labels, y, label, gnd, Y or class."
    ),
    click.option("--features", help="For images: pixels, hog, or a network such as vgg19. Default: hog."),
    WEIGHTS,
    STRICT,
    click.option(
        "--groups",
        metavar="COLUMN",
        help="For a table: a column of groups, such as patients; folds keep groups together, and it is not a feature.",
    ),
    click.option(
        "--standardize/--no-standardize",
        default=None,
        help="Scale each column of a table to zero mean and unit variance. Default: the training samples decide.",
    ),
)
# Of tables alone.
_COLUMNS = (
    click.option("--drop", multiple=True, metavar="COLUMN", help="A column to leave out; may be repeated."),
    click.option("--id", "id_", metavar="COLUMN", help="A column that names the rows."),
    click.option(
        "--column",
        "kinds",
        multiple=True,
        metavar="COLUMN=KIND",
        help="How to read a column: number, yes/no, date, category, text, or text:MODEL, the folder or name of a "
        "sentence-transformers model on this machine; may be repeated. Default: recognised by its values.",
    ),
    click.option(
        "--columns",
        "plan_file",
        type=FILE,
        help='A TOML file whose table [columns] has lines such as name = "kind"; "drop" and "id" are kinds, too.',
    ),
)
# Characters of our own messages, for terminals that do not have them.
_PLAIN = dict(zip("±–−…×τλ‖’★≈µ", ["+-", "-", "-", "...", "x", "tau", "lambda", "||", "'", "*", "~", "u"], strict=True))


@dataclass(frozen=True)
class Reading:
    """What a user said about data and its columns.

    Attributes
    ----------
    data : Path
        The data.
    label : str or None
        Column or array of the labels.
    features : str or None
        For images: how they become vectors.
    standardize : bool or None
        What was asked for.
    kinds : dict
        What some columns are.
    strict : bool
        Whether an image that cannot be read is an error.
    """

    data: Path
    label: str | None
    features: str | None
    standardize: bool | None
    kinds: dict[str, str]
    strict: bool = False

    def samples(self) -> "Samples":
        """The samples, with and without labels."""
        from ancr.samples.readers import read_samples

        return read_samples(self.data, self.label, self.features, strict=self.strict, kinds=self.kinds)

    def plan(self, samples: "Samples") -> "ColumnPlan":
        """How columns are prepared, as these samples decide."""
        return samples.plan(self.standardize, self.kinds)


def takes_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what columns are, gathered as ``asked``: ``{column: kind}``."""

    @wraps(command)
    def read(
        drop: tuple[str, ...], id_: str | None, kinds: tuple[str, ...], plan_file: Path | None, **others: Any
    ) -> None:
        with readable_errors():
            asked = asked_kinds(drop, id_, kinds, plan_file)
        command(asked=asked, **others)

    return _decorated(read, _COLUMNS)


def takes_samples(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the argument ``data`` and the options that say how to read it, gathered as ``reading``."""

    @wraps(command)
    def read(
        data: Path,
        label: str | None,
        features: str | None,
        weights: str | None,
        strict: bool,
        groups: str | None,
        standardize: bool | None,
        asked: dict[str, str],
        **others: Any,
    ) -> None:
        asked = {**asked, **({groups: "group"} if groups else {})}
        with readable_errors():
            features = weighted(features, weights)
        command(reading=Reading(data, label, features, standardize, asked, strict), **others)

    return _decorated(takes_columns(read), _SAMPLES)


def weighted(features: str | None, weights: str | None) -> str | None:
    """The features of images, with the weights of a network if a user named any."""
    if weights is None:
        return features
    from ancr.samples.image_vectors import USUAL_FEATURES, with_weights

    return with_weights(features or USUAL_FEATURES, weights)


def _decorated(command: Callable[..., None], options: Sequence[Callable[..., Any]]) -> Callable[..., None]:
    for decorate in reversed(options):
        command = decorate(command)
    return command


def asked_kinds(drop: Iterable[str], name: str | None, pairs: Iterable[str], file: Path | None) -> dict[str, str]:
    """``{column: kind}`` from options and a file; options come last.

    Raises
    ------
    ValueError
        In one line, for what cannot be read.
    """
    asked: dict[str, str] = {}
    if file is not None:
        try:
            asked = tomllib.loads(file.read_text(encoding="utf-8")).get("columns", {})
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"--columns {file}: {one_line(error)}") from error
        if not isinstance(asked, dict) or not all(isinstance(kind, str) for kind in asked.values()):
            raise ValueError(f'--columns {file}: expected a table [columns] of lines name = "kind"')
    for pair in pairs:
        at = pair.find("=text:") if "=text:" in pair else pair.rfind("=")  # the path of a model may have a "=", too
        if at < 0:
            raise ValueError(f"--column {pair!r}, but expected COLUMN=KIND")
        asked[pair[:at]] = pair[at + 1 :]
    return {**asked, **dict.fromkeys(drop, "drop"), **({name: "id"} if name else {})}


# What scikit-learn says where two forests are fitted at once, whose threads take the filters of warnings from each
# other.
_OF_THREADS = "`sklearn.utils.parallel.delayed` should be used with"


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn bad input into one line instead of a traceback, and warnings into lines on stderr, each once."""
    with readable_warnings():
        try:
            yield
        except (ValueError, OSError, ImportError, ArithmeticError, MemoryError) as error:
            raise click.ClickException(_message(error)) from error


@contextmanager
def readable_warnings() -> Iterator[None]:
    """Turn warnings into lines on stderr at the end of the block, each once; around what comes before long work."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        # Where no shared memory can be written, as in some containers; its processes are not used here.
        warnings.filterwarnings("ignore", ".*joblib will operate in serial mode", UserWarning)
        try:
            yield
        finally:
            lines = [one_line(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
            for line in dict.fromkeys(line for line in lines if not line.startswith(_OF_THREADS)):
                click.echo(f"warning: {line}", err=True)


def _message(error: BaseException) -> str:
    """The message of an error in one line; only the trees of folders that we show keep their lines."""
    from ancr._core.locations import WrongTreeError
    from ancr.datasets import DataNotFoundError

    if isinstance(error, MemoryError):
        return f"not enough memory: {one_line(error)}"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, DataNotFoundError | WrongTreeError):
        return str(error)
    return one_line(error)


def say(message: str, err: bool = False) -> None:
    """Print one line, even if a file in it has a line break in its name."""
    click.echo("".join(letter if letter >= " " else repr(letter)[1:-1] for letter in message), err=err)


def say_of(data: Path, samples: "Samples", plan: "ColumnPlan") -> None:
    """Say which samples are left out, what is done with columns and what is doubtful about the data, on stderr."""
    from ancr.samples.doubts import doubts

    for sentence in filter(None, (samples.left_out, plan.reason)):
        say(f"{data}: {sentence}", err=True)
    for doubt in doubts(samples, plan):
        say(f"warning: {data}: {doubt}", err=True)


def check_output(output: Path, *inputs: Path) -> None:
    """Raise before the work if a file cannot be written, or if it would overwrite an input."""
    from ancr._core.files import check_folder

    check_folder(output)
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise ValueError(f"--output {output} would overwrite the input; choose another name")


@contextmanager
def csv_file(path: Path, header: list[str], raw_text: bool) -> Iterator[Callable[[list[str]], object]]:
    """Function that writes a row to a CSV, complete or not at all; ``raw_text`` keeps what a spreadsheet would run."""
    from ancr._core.files import atomic_path

    # A file name that is not UTF-8 is written as the bytes that it has.
    with atomic_path(path) as draft, draft.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        yield lambda row: writer.writerow(row if raw_text else map(harmless, row))


def print_tables(tables: Iterable[Any]) -> None:
    """Print tables; if the output is not a terminal, wide enough for all columns."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = 200
    for table in tables:
        console.print(table)


def spell_out_what_the_terminal_lacks() -> None:
    """Let the standard streams replace characters that their encoding lacks: ± becomes +- on an ASCII terminal."""
    codecs.register_error("ancr.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="ancr.plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, ascii(letter)[1:-1]) for letter in text), error.end
