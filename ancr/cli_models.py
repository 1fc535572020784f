"""Commands about models: ``ancr train`` and ``ancr predict``."""

import csv
import json
from pathlib import Path
from typing import Any

import click

from ancr.cli_data import readable_errors

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=_FILE, help="The model, an .npz file.")
@click.option("--label", help="Column or array that holds the labels. Default: target, labels, y, label, gnd or class.")
@click.option("--method", default="ANCR", show_default=True, help="As in the tables: ANCR, CRC, NRC and so on.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter, such as alpha=0.01.")
@click.option("--features", default="pixels", show_default=True, help="Of images: pixels, or a network such as vgg19.")
@click.option(
    "--standardize/--no-standardize",
    default=None,
    help="Bring columns to zero mean and unit variance. Default: for .csv and .parquet, whose units differ.",
)
def train(
    data: Path,
    output: Path,
    label: str | None,
    method: str,
    settings: tuple[str, ...],
    features: str,
    standardize: bool | None,
) -> None:
    """Train a classifier on DATA, a table or a folder of images, and save it.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr train wine.csv --label target --set alpha=0.01 --output wine-model.npz
    """
    with readable_errors():
        from ancr.model_file import Model, make_classifier
        from ancr.own import load_own

        params = dict(_setting(text) for text in settings)
        make_classifier(method, params)
        own = load_own(data, label, features)
        model = Model(
            method,
            params,
            own.bunch.data,
            own.bunch.target_names[own.bunch.target],
            own.names,
            features=own.features,
            columns=own.columns,
            standardize=own.has_units if standardize is None else standardize,
        )
        model.build()  # what cannot be fitted must not be saved
        model.save(output)
    click.echo(f"{output}: {method} on {len(model.labels)} samples of {len(set(model.labels))} classes")


@click.command()
@click.argument("model", type=_FILE)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=_FILE, help="A .csv file.")
def predict(model: Path, data: Path, output: Path) -> None:
    """Classify DATA with a MODEL that `ancr train` saved, and write a CSV.

    One line a sample: its label, the probability of that label (a softmax, not calibrated), the margin to the
    runner-up, and the five training samples with the largest weights in its code.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr train wine.csv --label target --output wine-model.npz
      ancr predict wine-model.npz wine.csv --output wine-labels.csv
    """
    with readable_errors():
        from ancr.model_file import Model
        from ancr.own import load_queries

        trained = Model.load(model)
        queries, names = load_queries(data, trained.features, trained.columns)
        rows = _predictions(trained, queries, names)
        with output.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["sample", "label", "probability", "margin", *_because_header()])
            writer.writerows(rows)
    click.echo(f"{output}: {len(rows)} samples")


def _predictions(trained: Any, queries: Any, names: list[str], top: int = 5) -> list[list[Any]]:
    import numpy as np

    pipeline = trained.build()
    classifier, inputs = pipeline[-1], pipeline[:-1].transform(queries) if len(pipeline) > 1 else queries
    probabilities, values = classifier.predict_proba(inputs), classifier.decision_function(inputs)
    ranked = np.sort(values, axis=1) if values.ndim == 2 else np.stack([0 * values, np.abs(values)], axis=1)
    explanations = classifier.explain(inputs, top=top)
    rows = []
    for name, chance, order, why in zip(names, probabilities, ranked, explanations, strict=True):
        because = [
            text
            for i, weight in zip(why.indices, why.weights, strict=True)
            for text in (trained.names[i], f"{weight:.6g}")
        ]
        rows.append([name, why.label, f"{chance.max():.6g}", f"{order[-1] - order[-2]:.6g}", *because])
    return rows


def _because_header(top: int = 5) -> list[str]:
    return [f"{what}_{place}" for place in range(1, top + 1) for what in ("because", "weight")]


def _setting(text: str) -> tuple[str, Any]:
    """``alpha=0.01`` as a pair; a value is JSON where it can be, and text otherwise."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set {text!r}, but expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
