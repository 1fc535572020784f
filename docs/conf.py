"""How Sphinx builds the site: ``make docs``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import ancr

project, author = "ancr", "The ancr developers"
copyright = "The ancr developers, BSD 3-Clause"
version = release = ancr.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "auto_examples/*.ipynb", "auto_examples/*.py", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]

# Pages of the repository that the site shows as well are included, so that nothing is said twice.
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True, "exclude-members": "set_score_request"}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "code"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 60,
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib|ancr\.displays",
}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_title = f"ancr {version}"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
}


def _skip_what_scikit_learn_explains(app, what, name, member, skip, options):
    """Methods inherited from scikit-learn are on its own pages, whose links do not resolve here."""
    return True if str(getattr(member, "__module__", "") or "").startswith("sklearn") else None


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", _skip_what_scikit_learn_explains)
