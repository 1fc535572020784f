"""HTML pages from templates: one environment for every report, and what every page shows."""

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from ancr import __version__
from ancr._core.messages import shown_chance

if TYPE_CHECKING:
    from jinja2 import Environment


def render(package: str, template: str, **content: Any) -> str:
    """Render a template of a package's ``templates``, which may extend or import those of ``ancr/_core/templates``.

    Every value is escaped, except what is marked as safe: SVG that a template made, and a page's own style and script.
    """
    return _environment(package).get_template(template).render(**content)


def render_page(package: str, template: str, **content: Any) -> str:
    """Render a template that shows the version and the date."""
    today = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return render(package, template, version=__version__, today=today, **content)


@cache
def _environment(package: str) -> "Environment":
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("ancr._core")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(zip=zip, chance=shown_chance)
    return environment
