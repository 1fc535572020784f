"""Every internal link and anchor of a built site leads somewhere: ``python -m tests.links docs/_build/html``."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        self.links |= {values[name] for name in ("href", "src") if values.get(name)}


def broken_links(root):
    """``page: link`` for each link to a file or an anchor that is not there."""
    pages = {
        path: _Page(path.read_text(encoding="utf-8"))
        for path in sorted(Path(root).rglob("*.html"))
        if "_static" not in path.parts  # parts of the theme, not pages
    }
    broken = []
    for path, page in pages.items():
        for link in sorted(page.links):
            if urlsplit(link).scheme or link.startswith("//"):
                continue
            target, anchor = urldefrag(link)
            file = path if not target else (path.parent / unquote(urlsplit(target).path)).resolve()
            file = file / "index.html" if file.is_dir() else file
            if not file.exists() or (anchor and file in pages and unquote(anchor) not in pages[file].anchors):
                broken.append(f"{path.relative_to(root)}: {link}")
    return broken


def main():
    root = Path(sys.argv[1]).resolve()
    broken = broken_links(root)
    print("\n".join(broken) or f"every link of {len(list(root.rglob('*.html')))} pages leads somewhere")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
