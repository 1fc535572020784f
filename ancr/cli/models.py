"""Commands about models: ``ancr train``, ``ancr predict`` and ``ancr serve``."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ancr.cli.options import FILE, WEIGHTS, Reading, check_output, csv_file, readable_errors, say, say_of, takes_samples

if TYPE_CHECKING:
    from ancr.samples.model_file import Model
    from ancr.samples.sample_set import Samples

_TOP = 5  # training samples that are named for each prediction


@click.command()
@takes_samples
@click.option("-o", "--output", required=True, type=FILE, help="The .npz file to write the model to.")
@click.option(
    "--method",
    help="A name from the tables: ANCR, CRC, NRC and so on; ANCR-CV, CRC-CV and so on choose their settings. Other "
    "methods of a comparison, such as kNN, 'RBF SVM' or Softmax, need skops. Default: ANCR-CV if no setting is given, "
    "otherwise ANCR.",
)
@click.option("--kernel", type=click.Choice(["linear", "rbf", "poly"]), help="Inner product of samples.")
@click.option("--gamma", type=float, help="Width of the kernel: exp(-gamma * distance squared). Default: scale.")
@click.option("--power", type=float, help="Samples become sign(x) * |x|^power first; 0.5 often helps features.")
@click.option("--n-landmarks", type=int, help="Approximate the kernel by this many samples, for large tables.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter, such as alpha=0.01.")
def train(
    reading: Reading,
    output: Path,
    method: str | None,
    kernel: str | None,
    gamma: float | None,
    power: float | None,
    n_landmarks: int | None,
    settings: tuple[str, ...],
) -> None:
    """Train a classifier on DATA, a table or a folder of images, and save it.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr train wine.csv --label target --set alpha=0.01 --output wine-model.npz
      ancr train wine.csv --label target --kernel rbf --gamma 0.1 --output wine-model.npz
    """
    with readable_errors():
        from ancr.classifiers.controls import idle
        from ancr.classifiers.settings import parse_settings
        from ancr.comparison.protocols import method_to_train, name_to_train
        from ancr.samples.model_file import Model

        check_output(output, reading.data)
        space = {"kernel": kernel, "gamma": gamma, "power": power, "n_landmarks": n_landmarks}
        given = {f"space__{name}": value for name, value in space.items() if value is not None}
        params = parse_settings(settings, given)
        method = name_to_train(method or ("ANCR" if params else "ANCR-CV"))
        wanted = method_to_train(method, params)  # an unknown name is reported before data is read
        if "space__gamma" in params and "space__gamma" in idle(wanted):
            raise ValueError("gamma requires a kernel that has a width: give --kernel rbf or --kernel poly")
        everything = reading.samples()
        samples = everything.labelled()
        plan = reading.plan(samples)
        classifier = plan.suited(method_to_train(method, params, plan.spaces))
        model = Model.of(classifier, samples, plan, method)
        fitted = model.build(samples.groups(reading.kinds))  # a model that cannot be fitted must not be saved
        model.settled(fitted).save(output)
    say_of(reading.data, everything, plan)
    if samples.is_train is not None:
        held = f"{len(samples) - samples.is_train.sum()} of {len(samples)}"
        say(f"{reading.data}: is_train sets {held} samples aside, but a model is trained on all of them", err=True)
    say(f"{output}: {method} on {len(model.labels)} samples of {len(set(model.labels))} classes")


@click.command()
@click.argument("model", type=FILE)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=FILE, help="The .csv file to write.")
@click.option("--raw-text", is_flag=True, help="Write text unchanged, even if a spreadsheet would run it.")
@click.option(
    "--explain",
    is_flag=True,
    help="For a table: add the values of the rows that decided, and the columns in which a row differs most from them.",
)
@click.option("--label", help="A column of known labels to score against. Default: the one of the training table.")
@click.option("--id", "id_", metavar="COLUMN", help="A column that names the rows. Default: the identifier, if any.")
@WEIGHTS
@click.option(
    "--strict", is_flag=True, help="Stop at a row or image that cannot be read. Default: leave it out and name it."
)
def predict(
    model: Path,
    data: Path,
    output: Path,
    raw_text: bool,
    explain: bool,
    label: str | None,
    id_: str | None,
    weights: str | None,
    strict: bool,
) -> None:
    """Classify DATA with a MODEL that `ancr train` saved, and write a CSV.

    For each sample there is one line: its label, the probability of that label (calibrated only for ANCR-CV), the
    margin to the second-best class, and the five training samples with the largest weights in its code. Columns of a
    table are found by name. Known labels, from a column or from names of sub-folders, are written to a column
    ``given``, and the last line says how many answers are right, also without samples that equal a training sample.
    Text that a spreadsheet would run as a formula gets a leading apostrophe.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr train wine.csv --label target --output wine-model.npz
      ancr predict wine-model.npz wine.csv --output wine-labels.csv
    """
    with readable_errors():
        from ancr.samples.answers import Score
        from ancr.samples.model_file import Model
        from ancr.samples.readers import read_queries

        check_output(output, model, data)
        trained, score = Model.load(model).with_weights(weights), Score()
        if explain and not trained.explains:
            raise ValueError(f"--explain: {trained.method} names no training samples; train ANCR-CV for that")
        options: dict[str, Any] = {"strict": strict, "label": label or _label_beside(trained, data), "name": id_}
        options["classes"] = set(trained.labels.tolist())
        chunks = read_queries(data, trained.features, trained.plan, trained.samples.shape[1], **options)
        first = next(chunks)
        given = ["given"] if any(each is not None for each in first.labels) else []
        because = [f"{what}_{place}" for place in range(1, _TOP + 1) for what in ("because", "weight")]
        unlike = ["unlike"] if explain and len(trained.plan.used) > 1 else []
        header = ["sample", "label", *given, "probability", "margin", *because, *unlike]
        with csv_file(output, header, raw_text) as write:
            for known, copied, row in _predictions(trained, chain([first], chunks), explain):
                score.add(row[1], known, copied)
                write([*row[:2], *([known or ""] if given else []), *row[2:]])
    say(f"{output}: {score}")


def _label_beside(trained: "Model", data: Path) -> str | None:
    """The column of the labels of the training table, if a table has it, too."""
    from ancr.samples.table_files import TABLES, open_table

    if not trained.label or data.suffix.lower() not in TABLES or not data.is_file():
        return None
    return trained.label if trained.label in open_table(data).columns else None


def _predictions(
    trained: "Model", chunks: Iterable["Samples"], explain: bool
) -> Iterator[tuple[str | None, bool, list[str]]]:
    """Labels that are known, whether training had the very sample, and lines of the output."""
    from ancr.samples.answers import Answers

    answers = Answers(trained)
    called, several = answers.described(explain), explain and len(trained.plan.used) > 1
    for queries in chunks:
        prepared = answers.prepared(queries.vectors)
        found = list(answers.of_prepared(prepared, _TOP))
        reasons = [answer.why for answer in found]
        unlike = _unlike(answers.pipeline[0], prepared, queries, reasons) if several else [[]] * len(found)
        of_each = (queries.labels, answers.trained_on(queries.vectors), queries.names, found, unlike)
        for known, copied, name, answer, columns in zip(*of_each, strict=True):
            weights = zip(answer.why.indices, answer.why.weights, strict=True)
            pairs = [text for i, weight in weights for text in (called(i), f"{weight:.6g}")]
            because = pairs + [""] * (2 * _TOP - len(pairs))
            numbers = ("" if one is None else f"{one:.15g}" for one in (answer.probability, answer.margin))
            row = [str(name), answer.label, *numbers, *because]
            yield known, copied, [*row, *columns]


def _unlike(columns: Any, prepared: Any, queries: "Samples", found: Any) -> list[list[str]]:
    """For each query, the columns in which it is least like its witnesses, in one cell."""
    from ancr.samples.table_pipeline import unlike_columns

    cells = dict(zip(columns.plan_.names, queries.vectors.T, strict=True))
    return [["; ".join(map(str, each))] for each in unlike_columns(columns, prepared, cells, found)]


@click.command()
@click.argument("model", type=FILE)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 in a container.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@click.option("--most-mb", default=16, show_default=True, type=click.IntRange(1, 1024), help="Largest request, in MB.")
@WEIGHTS
def serve(model: Path, host: str, port: int, most_mb: int, weights: str | None) -> None:
    """Answer requests over HTTP with a MODEL that `ancr train` saved.

    POST /predict takes JSON: {"rows": [{"column": value, ...}, ...]}, or lists of values in the order of training. A
    model of images also accepts one image as the body. Each answer has a label, probabilities, a margin and the
    training samples that decided. GET /health, /model and /metrics report on the server and its model. If ANCR_TOKEN is
    set, requests must send it as `Authorization: Bearer TOKEN`. Nothing is written to disk. SIGTERM and Ctrl-C end the
    server after the requests in progress.

    \b
    Example (wine-model.npz is what ancr train wrote):
      ancr serve wine-model.npz --port 8000
    """
    with readable_errors():
        try:
            from ancr.serving.model_server import serve_model
        except ImportError as error:
            wanted = "pip install starlette uvicorn httptools pillow"
            raise ImportError(f"a server needs {error.name}: {wanted}") from error
        serve_model(model, host, port, os.environ.get("ANCR_TOKEN", ""), most_mb * 2**20, say, weights)
