"""How Sphinx builds the site: ``make docs``."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

import commands
from sphinx_gallery.sorting import ExplicitOrder

import ancr
import ancr.cli

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
toc_object_entries_show_parents = "hide"  # beside a class its methods, not the name of the class before each

# What a person wants first comes first; examples that are not listed follow in the order of their names.
_SECTIONS = {
    "start": ["digit_code", "few_labels", "choosing", "pipeline"],
    "labels": ["wrong_labels", "labelling_loop", "imbalance", "calibration_reject"],
    "use": ["compare", "model_file", "sharded"],
    "solve": ["unmixing", "deconvolution", "synthetic_control", "stacking", "certificate"],
    "methods": ["code_path", "relaxation", "kernels_moons", "kernels_digits", "lift", "early_stopping"],
    "own": ["own_rule", "own_set"],
}


class ByWish:
    """Order of the examples of a section."""

    def __init__(self, folder):
        self.names = [f"plot_{name}.py" for name in _SECTIONS.get(Path(folder).name, [])]

    def __call__(self, name):
        """The key to sort by."""
        return (self.names.index(name) if name in self.names else len(self.names)), name


def _readable(gallery_conf, name):
    """Figures whose words can be read in a thumbnail, too."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"figure.figsize": (5.2, 3.4), "font.size": 12, "lines.linewidth": 2})


sphinx_gallery_conf = {
    "reset_modules": ("matplotlib", _readable),
    "subsection_order": ExplicitOrder([f"../examples/{folder}" for folder in _SECTIONS]),
    "within_subsection_order": ByWish,
    "nested_sections": False,
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # pages that only the search would find
    "min_reported_time": 60,
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib|ancr\.classifiers\.displays|ancr\.labels\.audit_display",
}

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_title = f"ancr {version}"
html_css_files = ["site.css"]
html_sidebars = {"index": [], "get_started": []}  # nothing below them
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


def _fill_in_the_commands(app, page, source):
    """The page on the command line ends with what the commands say of themselves."""
    source[0] = source[0].replace("<!-- commands -->", commands.reference(ancr.cli.main))


def _pages_to_read_again(app, env, added, changed, removed):
    """The page on the command line changes with the commands, not with its file."""
    return ["cli"]


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", _fill_in_the_commands)
    app.connect("env-get-outdated", _pages_to_read_again)
    app.connect("autodoc-skip-member", _skip_what_scikit_learn_explains)
