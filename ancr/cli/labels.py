"""Commands about labels: ``ancr audit`` and ``ancr next``."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ancr.cli.options import (
    FILE,
    STRICT,
    WEIGHTS,
    Reading,
    check_output,
    csv_file,
    readable_errors,
    say,
    say_of,
    takes_samples,
)

if TYPE_CHECKING:
    from ancr.samples.column_plan import ColumnPlan
    from ancr.samples.sample_set import Samples

_SIDE = 96


@click.command()
@takes_samples
@click.option(
    "-o",
    "--output",
    default=Path("audit"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for audit.csv, audit.html and audit.json, which names the data that was audited.",
)
@click.option("--top", default=200, show_default=True, type=click.IntRange(1), help="Samples shown in audit.html.")
@click.option("--raw-text", is_flag=True, help="Do not escape text that a spreadsheet would run as a formula.")
def audit(reading: Reading, output: Path, top: int, raw_text: bool) -> None:
    """Find labels that are probably wrong in DATA, a table or a folder of images.

    Each sample is judged by all others. audit.csv lists all samples, the most suspicious first, with the label that the
    others suggest, the probability that the given one is right, and the samples that speak against it and for it.
    audit.html shows the same with thumbnails; there you keep or correct each label and export the result. A folder that
    holds the audit of other data is refused, because it would be overwritten.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr audit wine.csv --label target --output wine-audit
    """
    with readable_errors():
        from ancr._core.files import check_folder, write_text
        from ancr._core.progress import progress_bar
        from ancr.labels.audit_page import audit_page

        data = reading.data
        check_folder(output / "audit.csv", create=True)
        _refuse_other_data(output, data)
        with progress_bar("reading, judging, writing", 3) as advance:
            everything = reading.samples()
            samples = everything.labelled()
            plan = reading.plan(samples)
            advance(1)
            found = _audited(samples, plan, samples.groups(reading.kinds))
            advance(1)
            output.mkdir(parents=True, exist_ok=True)
            write_text(output / "audit.json", json.dumps({"data": samples.origin}) + "\n")
            names = samples.names.tolist()
            _write_table(output / "audit.csv", found, samples, raw_text)
            thumbnail = _thumbnails(names) if samples.image_paths else None
            title = f"Audit of the labels of {data.name}"
            # A name that is not UTF-8 has surrogates, which no page can hold.
            page = audit_page(found, names, title=title, top=top, thumbnail=thumbnail, cells=samples.cells)
            write_text(output / "audit.html", page.encode("utf-8", "replace").decode("utf-8"))
            advance(1)
    say_of(data, everything, plan)
    say(f"{data}: {found.summary}")
    if found.n_errors.caution:
        say(found.n_errors.caution)
    say(f"to correct labels: {output / 'audit.html'}")
    say(f"all samples: {output / 'audit.csv'}")


def _refuse_other_data(output: Path, data: Path) -> None:
    """Raise a ValueError if a folder holds the audit of other data; the same file may have changed."""
    if not (output / "audit.csv").exists():
        return
    try:
        origin = json.loads((output / "audit.json").read_text(encoding="utf-8"))["data"]
    except (OSError, ValueError, KeyError, TypeError):  # an audit of unknown data
        origin = None
    if origin != str(data.expanduser().resolve()):
        of = f"of {origin}" if origin else "of other data"
        raise ValueError(f"{output} holds the audit {of}, which would be replaced; choose another folder with --output")


def _audited(samples: "Samples", plan: "ColumnPlan", groups: Any) -> Any:
    """The audit, on columns prepared as for a classifier."""
    from ancr import ANCRClassifierCV, audit_labels

    vectors = plan.fit(samples.vectors, samples.target)(samples.vectors)
    labels = samples.class_names[samples.target]
    return audit_labels(vectors, labels, estimator=plan.suited(ANCRClassifierCV()), groups=groups)


def _write_table(path: Path, found: Any, samples: "Samples", raw_text: bool) -> None:
    """One line per sample, the most suspicious first; the values of a table's row are at its end."""
    sides = {"against": found.speaks_against, "for": found.speaks_for}
    count, names = found.speaks_for.indices.shape[1], samples.names.tolist()
    header = [f"{side}_{place}{what}" for side in sides for place in range(1, count + 1) for what in ("", "_weight")]
    header = ["sample", "label", "suggested", "probability_of_label", "score", *header]
    with csv_file(path, [*header, *(name for name, _ in samples.cells(0))], raw_text) as write:
        for i in found.ranking.tolist():
            row = [names[i], str(found.labels[i]), str(found.suggested[i])]
            numbers = (found.probability[i], found.score[i])  # not a number where a label cannot be judged
            row += ["cannot be judged" if value != value else f"{value:.6g}" for value in numbers]
            for witnesses in sides.values():
                pairs = [text for index, weight in witnesses.of(i) for text in (names[index], f"{weight:.6g}")]
                row += pairs + [""] * (2 * count - len(pairs))
            write([*row, *(text for _, text in samples.cells(i))])


def _thumbnails(names: Sequence[str]) -> Callable[[int], str]:
    """Function for the ``data:`` address of a sample's small image."""
    from ancr._core.thumbnails import png_uri
    from ancr.features.decoding import square_picture

    return cache(lambda index: png_uri(square_picture(names[index], _SIDE)))


@click.command("next")
@click.argument("model", type=FILE)
@click.argument("pool", type=click.Path(path_type=Path))
@click.option("-n", "number", default=20, show_default=True, type=click.IntRange(1), help="Number to choose.")
@click.option(
    "--strategy",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "margin", "far", "random"]),
    help="Selection strategy.",
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed for choosing between equal samples."
)
@click.option("-o", "--output", type=FILE, help="A file for the names. Default: the terminal.")
@WEIGHTS
@STRICT
def next_(
    model: Path,
    pool: Path,
    number: int,
    strategy: str,
    seed: int,
    output: Path | None,
    weights: str | None,
    strict: bool,
) -> None:
    """Choose which samples of POOL to label next, for a MODEL that `ancr train` saved.

    Prints the names of the samples whose labels would help most, one per line, the most useful first: samples that the
    model is unsure about, spread over the pool.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr train wine.csv --label target --output wine-model.npz
      ancr next wine-model.npz wine.csv -n 5
    """
    with readable_errors():
        import numpy as np

        from ancr import next_to_label
        from ancr._core.files import write_text
        from ancr._core.progress import progress_bar
        from ancr.samples.model_file import Model
        from ancr.samples.readers import read_queries

        if output is not None:
            check_output(output, model, pool)
        trained = Model.load(model).with_weights(weights)
        if not trained.explains:
            raise ValueError(f"{model} is a model of {trained.method}; train ANCR-CV to choose what to label next")
        pipeline, vectors, names = trained.build(), [], []
        with progress_bar("reading") as advance:
            for part in read_queries(pool, trained.features, trained.plan, trained.samples.shape[1], strict=strict):
                vectors.append(pipeline[:-1].transform(part.vectors))
                names += part.names.tolist()
                advance(len(part))
        inputs = np.concatenate(vectors)
        rows = next_to_label(pipeline[-1], inputs, number, strategy=strategy, random_state=seed)
        lines = "".join(f"{names[row]}\n" for row in rows)
        if output is not None:
            write_text(output, lines)
    if output is None:
        click.echo(lines, nl=False)
    else:
        say(f"{output}: {len(rows)} samples")
