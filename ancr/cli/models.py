"""Commands about models: ``ancr train`` and ``ancr predict``."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ancr.cli.options import FILE, STRICT, Reading, check_output, csv_file, readable_errors, say, say_of, takes_samples

if TYPE_CHECKING:
    from ancr.samples.model_file import Model
    from ancr.samples.sample_set import Samples

_TOP = 5  # training samples that are named for each prediction


@click.command()
@takes_samples
@click.option("-o", "--output", required=True, type=FILE, help="The .npz file to write the model to.")
@click.option(
    "--method",
    help="A name from the tables: ANCR, CRC, NRC and so on, or ANCR-CV, which chooses its settings. "
    "Default: ANCR-CV for tables if no setting is given, otherwise ANCR.",
)
@click.option("--kernel", type=click.Choice(["linear", "rbf", "poly"]), help="Inner product of samples.")
@click.option("--gamma", type=float, help="Width of the kernel: exp(-gamma * distance squared). Default: scale.")
@click.option("--power", type=float, help="Samples become sign(x) * |x|^power first; 0.5 often helps features.")
@click.option("--n-landmarks", type=int, help="Approximate the kernel by so many samples, for large tables.")
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
        from ancr.classifiers.settings import make, parse_settings
        from ancr.samples.model_file import Model

        check_output(output, reading.data)
        space = {"kernel": kernel, "gamma": gamma, "power": power, "n_landmarks": n_landmarks}
        given = {f"space__{name}": value for name, value in space.items() if value is not None}
        params = parse_settings(settings, given)
        classifier = make(method or "ANCR", params)
        if "space__gamma" in params and "space__gamma" in idle(classifier):
            raise ValueError("gamma requires a kernel that has a width: give --kernel rbf or --kernel poly")
        everything = reading.samples()
        samples = everything.labelled()
        plan = reading.plan(samples)
        method = method or ("ANCR-CV" if plan.columns and not params else "ANCR")
        classifier = make(method, params)
        if hasattr(classifier, "spaces"):  # a search looks in the spaces that fit the columns
            classifier = make(method, {**plan.spaces, **params})
        model = Model.of(classifier, samples, plan)
        fitted = model.build()  # a model that cannot be fitted must not be saved
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
    help="For a table: the values of the rows that decided, and the columns in which a row is least like them.",
)
@STRICT
def predict(model: Path, data: Path, output: Path, raw_text: bool, explain: bool, strict: bool) -> None:
    """Classify DATA with a MODEL that `ancr train` saved, and write a CSV.

    For each sample there is one line: its label, the probability of that label (calibrated only for ANCR-CV), the
    margin to the second-best class, and the five training samples with the largest weights in its code. Columns of a
    table are found by name. Text that a spreadsheet would run as a formula gets an apostrophe in front.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr train wine.csv --label target --output wine-model.npz
      ancr predict wine-model.npz wine.csv --output wine-labels.csv
    """
    with readable_errors():
        from ancr.samples.model_file import Model
        from ancr.samples.readers import read_queries

        check_output(output, model, data)
        trained, count = Model.load(model), 0
        chunks = read_queries(data, trained.features, trained.plan, trained.samples.shape[1], strict=strict)
        because = [f"{what}_{place}" for place in range(1, _TOP + 1) for what in ("because", "weight")]
        unlike = ["unlike"] if explain and len(trained.plan.used) > 1 else []
        with csv_file(output, ["sample", "label", "probability", "margin", *because, *unlike], raw_text) as write:
            for row in _predictions(trained, chunks, explain):
                write(row)
                count += 1
    say(f"{output}: {count} samples")


def _predictions(trained: "Model", chunks: Iterator["Samples"], explain: bool) -> Iterator[list[str]]:
    """Lines of the output."""
    import numpy as np

    pipeline, called = None, _witness_names(trained, explain)
    for queries in chunks:
        pipeline = pipeline or trained.build()
        prepared = pipeline[:-1].transform(queries.vectors)
        decisions, *found = pipeline[-1].judge(prepared, top=_TOP)
        several = explain and len(trained.plan.used) > 1
        unlike = _unlike(pipeline[0], prepared, queries, found[-1]) if several else [[]] * len(prepared)
        lines = zip(queries.names, np.sort(decisions, axis=1), *found, unlike, strict=True)
        for name, order, chance, why, columns in lines:
            weights = zip(why.indices, why.weights, strict=True)
            pairs = [text for i, weight in weights for text in (called(i), f"{weight:.6g}")]
            because = pairs + [""] * (2 * _TOP - len(pairs))
            row = [str(name), str(why.label), f"{chance.max():.6g}", f"{order[-1] - order[-2]:.6g}", *because]
            yield [*row, *columns]


def _witness_names(trained: "Model", explain: bool) -> Callable[[int], str]:
    """What a training sample is called: its name, with its text, or with its values if they are asked for."""
    from ancr._core.messages import shown_cells
    from ancr.samples.sample_set import shown_cell

    columns = list(trained.plan.kinds)
    if not columns or not (explain or trained.plan.text is not None):
        return lambda i: str(trained.names[i])

    @cache
    def called(i: int) -> str:
        cells = [(name, shown_cell(value)) for name, value in zip(columns, trained.samples[i], strict=True)]
        return f"{trained.names[i]}: {shown_cells(cells, most=len(cells), longest=2000)}"

    return called


def _unlike(columns: Any, prepared: Any, queries: "Samples", found: Any) -> list[list[str]]:
    """For each query, the columns in which it is least like its witnesses, in one cell."""
    from ancr.samples.table_pipeline import unlike_columns

    cells = dict(zip(columns.plan_.names, queries.vectors.T, strict=True))
    return [["; ".join(map(str, each))] for each in unlike_columns(columns, prepared, cells, found)]
