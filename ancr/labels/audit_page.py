"""``audit.html``: the most suspicious labels first, with witnesses beside them and boxes to correct them.

One file without requests to anywhere. Names of files and classes are text, whatever they hold: the template escapes
them, and a content security policy allows the page's own style and script alone, by their hashes.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from math import isnan
from typing import Any

from ancr._core.messages import shown_cells
from ancr._core.pages import render_page
from ancr.labels.audit import LabelAudit


def audit_page(
    audit: LabelAudit,
    names: list[str],
    *,
    title: str = "Audit of labels",
    top: int = 200,
    thumbnail: Callable[[int], str | None] | None = None,
    cells: Callable[[int], list[tuple[str, str]]] | None = None,
) -> str:
    """The page as a text.

    Parameters
    ----------
    audit : LabelAudit
        What to show.
    names : list of str
        Name of each sample.
    title : str
        Heading.
    top : int
        Samples to show.
    thumbnail : callable or None
        Gives the ``data:`` address of a sample's image, or None where there is none.
    cells : callable or None
        Gives columns and values of a sample of a table.
    """
    from markupsafe import Markup, escape

    pictures = _Pictures(thumbnail)

    def shown(sample: dict[str, Any]) -> Any:
        """A sample with its picture, if there is one, its name and its weight."""
        picture = pictures.of(sample["index"])
        weight = "" if sample.get("weight") is None else f" · weight {sample['weight']:.3f}"
        text = f"{sample['name']}" if "probability" in sample else f"{sample['name']} · {sample['label']}{weight}"
        values = shown_cells(cells(sample["index"])) if cells else ""
        row = Markup('<br><span class="cells">{}</span>').format(values) if values else ""
        return Markup("<figure>{}<figcaption>{}{}</figcaption></figure>").format(picture, escape(text), row)

    def witness(index: int, weight: float) -> dict[str, Any]:
        return {"index": index, "name": names[index], "label": str(audit.labels[index]), "weight": weight}

    rows = [
        {
            "index": int(i),
            "name": names[i],
            "label": str(audit.labels[i]),
            "suggested": str(audit.suggested[i]),
            "probability": None if isnan(audit.probability[i]) else float(audit.probability[i]),
            "against": [witness(*pair) for pair in audit.speaks_against.of(int(i))],
            "for_it": [witness(*pair) for pair in audit.speaks_for.of(int(i))],
        }
        for i in audit.ranking[:top]
    ]
    style, script = (files("ancr.labels").joinpath("templates", name).read_text() for name in ("audit.css", "audit.js"))
    return render_page(
        "ancr.labels",
        "audit.html.j2",
        audit=audit,
        title=title,
        rows=rows,
        shown=shown,
        classes=[str(name) for name in audit.classes],
        labels=Markup(_harmless_json({"names": names, "labels": [str(label) for label in audit.labels]})),
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
    )


class _Pictures:
    """Pictures of samples, each in the page once: where it comes again, the script copies it."""

    def __init__(self, thumbnail: Callable[[int], str | None] | None) -> None:
        self._thumbnail, self._held = thumbnail, set[int]()

    def of(self, index: int) -> Any:
        from markupsafe import Markup

        if index in self._held:
            return Markup('<img alt="" data-of="{}">').format(index)
        address = self._thumbnail(index) if self._thumbnail else None
        if not address:
            return ""
        self._held.add(index)
        return Markup('<img alt="" src="{}" data-picture="{}">').format(address, index)


def _harmless_json(value: Any) -> str:
    """JSON that cannot end the element that holds it; lone surrogates of odd file names become escapes."""
    text = json.dumps(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
