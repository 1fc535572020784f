"""Example images of each data set that has images."""

from textwrap import shorten

from ancr.experiments.figures.drawing import Drawing, new_figure


def examples(sources):
    """One row per data set, one image per class; None if there are only vectors."""
    rows = [(source, images) for source in sources if (images := source.images())]
    if not rows:
        return None
    across = max(len(images) for _, images in rows)
    figure = new_figure(max(1.05 * across, 4), 1.45 * len(rows))
    bands = figure.subfigures(len(rows), 1, squeeze=False)[:, 0]
    for band, (source, images) in zip(bands, rows, strict=True):
        band.suptitle(source.title, fontsize=10, x=0.01, ha="left")
        axes = band.subplots(1, across, squeeze=False)[0]
        for axis in axes:
            axis.set_axis_off()
        for axis, (image, name) in zip(axes, images, strict=False):
            axis.imshow(image, cmap="gray")
            axis.set_title(shorten(name, 16, placeholder="…"), fontsize=6.5, pad=2)
    return Drawing("Example images", "One image per class, for at most ten classes.", figure)
