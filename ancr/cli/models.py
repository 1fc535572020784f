"""Commands about models: ``ancr train`` and ``ancr predict``."""

import csv
import json
from pathlib import Path
from typing import Any

import click

from ancr.cli.options import FILE, IMAGE_FEATURES, LABEL, STANDARDIZE, readable_errors


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=FILE, help="The .npz file to write the model to.")
@LABEL
@click.option("--method", default="ANCR", show_default=True, help="A name from the tables: ANCR, CRC, NRC and so on.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter, such as alpha=0.01.")
@IMAGE_FEATURES
@STANDARDIZE
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
        from ancr.features.user_data import load_user_data
        from ancr.model_file import Model, make_classifier

        params = dict(_setting(text) for text in settings)
        make_classifier(method, params)
        user_data = load_user_data(data, label, features)
        model = Model(
            method,
            params,
            user_data.bunch.data,
            user_data.bunch.target_names[user_data.bunch.target],
            user_data.names,
            features=user_data.features,
            columns=user_data.columns,
            standardize=user_data.has_units if standardize is None else standardize,
        )
        model.build()  # a model that cannot be fitted must not be saved
        model.save(output)
    click.echo(f"{output}: {method} on {len(model.labels)} samples of {len(set(model.labels))} classes")


@click.command()
@click.argument("model", type=FILE)
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=FILE, help="The .csv file to write.")
def predict(model: Path, data: Path, output: Path) -> None:
    """Classify DATA with a MODEL that `ancr train` saved, and write a CSV.

    For each sample there is one line: its label, the probability of that label (calibrated only for ANCR-CV), the
    margin to the second-best class, and the five training samples with the largest weights in its code.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr train wine.csv --label target --output wine-model.npz
      ancr predict wine-model.npz wine.csv --output wine-labels.csv
    """
    with readable_errors():
        from ancr.features.user_data import load_queries
        from ancr.model_file import Model

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
    """Parse ``alpha=0.01`` into a pair; the value is read as JSON if possible, and as text otherwise."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set {text!r}, but expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
