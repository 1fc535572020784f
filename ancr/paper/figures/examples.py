"""Example images of each data set that has images."""

from collections.abc import Sequence

from ancr._core.thumbnails import png_uri
from ancr.comparison.charts import Chart, picture_strip
from ancr.comparison.split_sources import SplitSource


def examples(sources: Sequence[SplitSource]) -> Chart | None:
    """One panel per data set, one image per class; None if there are only vectors."""
    rows = [(source, images) for source in sources if (images := source.images())]
    if not rows:
        return None
    parts = [picture_strip(source.title, [(png_uri(image), name) for image, name in images]) for source, images in rows]
    return Chart("Example images", "One image per class, for at most ten classes.", parts)
