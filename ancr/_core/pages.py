"""HTML pages from templates: one environment for every report, and what every page shows."""

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any


def render_page(package: str, template: str, **content: Any) -> str:
    """Render a template of a package's ``templates``, which may extend those of ``ancr/_core/templates``.

    Every value is escaped, except what is marked as safe: SVG that the charts made, and a page's own style and script.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("ancr._core")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["zip"] = zip
    return environment.get_template(template).render(
        version=version("ancr"), today=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), **content
    )
