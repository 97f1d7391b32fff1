"""How Sphinx makes a site of the handouts: `grader/scanlab handouts`, or sphinx-build handouts FOLDER."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "grader/python"))

project = "scanlab"
author = "the scanlab authors"
extensions = ["myst_parser", "scanlab.handouts.extension"]
nitpicky = True
smartquotes_action = "qe"  # quotes and ellipses; two hyphens are an option of a command
exclude_patterns = ["_*"]

# Commands, messages and sketches are text; excerpts say that they are CUDA.
highlight_language = "none"
myst_heading_anchors = 3

html_theme = "furo"
html_title = "scanlab"
html_static_path = ["_static"]
html_css_files = ["handouts.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
