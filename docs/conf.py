"""The site: Sphinx with MyST (pages stay Markdown), numpydoc and sphinx-gallery. `make docs` builds it."""

from __future__ import annotations

import argparse
import os
import re
import warnings
from pathlib import Path
from typing import Any

from fairroc import __version__
from fairroc.cli.main import _parser

DOCS = Path(__file__).parent
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["COLUMNS"] = "90"  # of usages
warnings.filterwarnings("ignore", "A draw decides for")  # the gallery's fits show what they draw

project = "fairroc"
author = "The fairroc developers"
copyright = author  # noqa: A001
version = release = __version__
nitpicky = True
smartquotes = False  # --label is no dash
toc_object_entries_show_parents = "hide"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "examples", "gallery/*.py", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["config.cache", "sphinx_gallery.space_in_filename"]  # the path of the clone may have one

html_theme = "pydata_sphinx_theme"
html_title = "fairroc"
html_baseurl = "https://fairroc.github.io/fairroc/"
html_static_path = ["_static"]
html_css_files = ["fairroc.css"]
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": "fairroc"},
    "header_links_before_dropdown": 8,
    "navigation_depth": 3,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navbar_align": "left",
    "icon_links": [
        {"name": "GitHub", "url": "https://github.com/fairroc/fairroc", "icon": "fa-brands fa-github"},
    ],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"tutorial": [], "faq": [], "which-option": [], "changelog": []}
html_context = {"default_mode": "auto"}

autosummary_generate = True
autosummary_filename_map = {"fairroc.Audit": "fairroc.Audit-class", "fairroc.Frontier": "fairroc.Frontier-class"}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
nitpick_ignore_regex = [(r"py:.*", r".*")]  # types in docstrings are words for people

copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 3,
    "write_computation_times": False,
    "plot_gallery": True,
    "remove_config_comments": True,
    "thumbnail_size": (400, 280),
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "backreferences_dir": None,
    "capture_repr": ("_repr_html_", "__repr__"),
}
linkcheck_timeout = 20
linkcheck_anchors = False
linkcheck_exclude_documents = [r"results/paper/.*"]


def commands() -> str:
    """The command reference: what every command's help says, from the declarations in `fairroc.options`."""
    parser = _parser()
    (choices,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = [
        "# Commands\n\nWhat `fairroc COMMAND --help` says. `DATA` is a CSV (also `.gz`), Parquet or Arrow file, a",
        "folder of such files or a pattern in quotes. Exit code 0: done; 1: an audit found a gap above epsilon,",
        "monitor drift, verify something wrong; 2: could not run, and one line says why.\n",
    ]
    for pseudo in choices._choices_actions:
        command = choices.choices[pseudo.dest]
        usage = command.format_usage().removeprefix("usage: ").replace(" [-h]", "")
        parts += [f"## fairroc {pseudo.dest}\n\n{_sentence(pseudo.help)}\n\n```text\n{usage.rstrip()}\n```\n"]
        parts += [f"{command.description}\n"] if command.description else []
        parts += ["| argument | what it does |\n|---|---|"]
        parts += [
            f"| {_name(action)} | {_help(command, action)} |" for action in command._actions if action.dest != "help"
        ]
        parts += [""]
    return "\n".join(parts)


def _sentence(words: str | None) -> str:
    words = words or ""
    return words[:1].upper() + words[1:].rstrip(".") + "."


def _name(action: argparse.Action) -> str:
    shown = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if not action.option_strings:
        return f"`{shown}`"
    value = "" if action.nargs == 0 else f" {shown}"
    return ", ".join(f"`{flag}{value}`".replace("|", "\\|") for flag in action.option_strings)


def _help(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = command._get_formatter()._expand_help(action) if action.help else ""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") + (
        " **Required.**" if action.required else ""
    )


def docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are for `help` first: pages become links here, and absolute values stay what they are."""
    for place, line in enumerate(lines):
        linked = re.sub(r"`{0,2}docs/([\w/-]+)\.md`{0,2}", r":doc:`/\1`", line)
        if not line.lstrip().startswith((">>>", "...")):
            linked = re.sub(r"(``.*?``)|\|(?=\w)", lambda found: found[1] or "\\|", linked)
        lines[place] = linked


def skip(app: Any, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Members that come from elsewhere (scikit-learn's mixins, exceptions, tuples) are documented there."""
    home = getattr(thing, "__module__", None) or getattr(getattr(thing, "fget", None), "__module__", None)
    return True if callable(thing) and not (home or "").startswith("fairroc") else None


def before(app: Any) -> None:
    target = DOCS / "reference" / "commands.md"
    text = commands()
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", before, priority=100)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", docstring, priority=900)
