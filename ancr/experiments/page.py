"""Rendering of the reports: templates, and what every page shows."""

from datetime import UTC, datetime

from ancr.experiments.runner import versions


def render_page(template, **content):
    """Render a template of ``ancr/experiments/templates``; every value is escaped, except SVG that the charts made."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ancr.experiments"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["zip"] = zip
    return environment.get_template(template).render(
        version=versions()["ancr"], today=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), **content
    )
