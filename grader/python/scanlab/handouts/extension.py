"""What Sphinx learns from the kit, so that no page repeats by hand what stands elsewhere.

- `rungs`: the labs as a list, with titles from their handouts and summaries from their rubrics.
- `literalinclude`: an excerpt names its file and line, and has to have a beginning, an end and something between.
- `stepper`: a lab's solution step by step, as it runs here; nothing where there is no nvcc.
- Every program of the course is a page of its own, and a link to a program leads there.
"""

import os
import posixpath
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.directives.code import LiteralInclude, container_wrapper
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from scanlab.errors import KitError
from scanlab.labs.folders import Lab, all_labs, base_of, find_lab
from scanlab.labs.rubric_file import COMMON
from scanlab.trace.html import page as stepper_page
from scanlab.trace.record import record, shown_call

LOGGER = logging.getLogger(__name__)

PROGRAMS = ("labs/*.cuh", "labs/*/scan.cu", "solutions/*/scan.cu")
"""What gets a page of its own, below the repository, which is the handouts' parent folder."""
A_LEARNERS = "labs/*/scan.cu"
"""A learner edits these, so they have pages, but no handout quotes them."""
BEGINNINGS = ("start-at", "start-after")
ENDS = ("end-at", "end-before")
REFERENCE = "scanlab-program"


def program(srcdir: Path, docname: str, link: str) -> str | None:
    """Return the name, `labs/02_kogge_stone/scan.cu`, of the program that `link` in `docname` means; None if none."""
    repository = srcdir.parent
    path = Path(os.path.normpath(srcdir / posixpath.dirname(docname) / link))
    if not path.is_relative_to(repository):
        return None
    name = path.relative_to(repository)
    return name.as_posix() if path.is_file() and any(name.match(pattern) for pattern in PROGRAMS) else None


def page_of(name: str) -> str:
    """Return the page's name, without `.html`, of a program: `programs/labs/02_kogge_stone/scan`."""
    return f"programs/{name.rsplit('.', 1)[0]}"


class Rungs(SphinxDirective):
    """The labs from the first argument to the second, or all from it on, those that have a handout, as a list."""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        self.env.note_dependency(__file__)
        ladder = all_labs()
        first, last = self.arguments[0], (*self.arguments, ladder[-1].number)[1]
        items = []
        for lab in ladder:
            handout = self.env.srcdir / f"{lab.name}.md"
            if not first <= lab.number <= last or not handout.is_file():
                continue
            self.env.note_dependency(lab.folder / "lab.toml")
            self.env.note_dependency(lab.folder.parent / COMMON)
            base, before = base_of(lab, ladder), ladder[ladder.index(lab) - 1]
            on = "" if base in (None, before) else f" Builds on lab {base.number}."
            summary = lab.rubric.summary
            items.append(f"- [](/{lab.name}.md)<br>{summary[0].upper()}{summary[1:]}.{on}")
        listed = self.parse_text_to_nodes("\n".join(items))
        for found in listed:
            if isinstance(found, nodes.bullet_list):
                found["classes"].append("rungs")
        return listed


EXAMPLES = "findings/"
"""Programs and what they print: of the page that shows them, and of no lab."""


class Excerpt(LiteralInclude):
    """A part of a program, under a link to where it stands."""

    def run(self) -> list[nodes.Node]:
        """Return the excerpt, or a warning when it is no part of a program any more."""
        if self.arguments[0].startswith(EXAMPLES):
            return super().run()
        name = program(self.env.srcdir, self.env.docname, self.arguments[0])
        if name is None or Path(name).match(A_LEARNERS):
            return [self._warning(f"{self.arguments[0]} is no solution and no given header")]
        if not any(key in self.options for key in BEGINNINGS) or not any(key in self.options for key in ENDS):
            return [self._warning("an excerpt says where it begins (start-at, start-after) and ends")]
        self.options["lineno-match"] = None
        self.options.setdefault("dedent", None)
        self.options.setdefault("language", "cuda")
        made = super().run()
        block = made[0]
        if not isinstance(block, nodes.literal_block):
            return made
        if not block.astext().strip():
            return [self._warning(f"nothing of {name} stands between the two markers")]
        block["linenos"] = False
        line = block["highlight_args"].pop("linenostart")
        return [container_wrapper(self, block, f"[{name}, line {line}]({self.arguments[0]}#line-{line})")]

    def _warning(self, text: str) -> nodes.Node:
        return self.state.document.reporter.warning(text, line=self.lineno)


STEPPERS = "steppers"
"""The site's folder of the pages that the steppers are."""


class Stepper(SphinxDirective):
    """What a lab's solution does with `:n:` elements, step by step, but not its text: a page of its own in a frame."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"n": directives.nonnegative_int}

    def run(self) -> list[nodes.Node]:
        """Return the frame; nothing where the virtual GPU cannot run it, or in another form than a site."""
        lab = find_lab(self.arguments[0])
        n = self.options.get("n")
        if self.env.app.builder.format != "html" or not lab.solution.is_file():
            return []
        self.env.note_dependency(str(lab.solution))
        try:
            text = solution_page(lab, n)
        except KitError as error:
            LOGGER.info("no stepper of %s: %s", lab.name, error)
            return []
        file = Path(self.env.app.outdir, STEPPERS, f"{lab.name}.html")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        up = "../" * self.env.docname.count("/")
        title = (
            f"The solution of lab {lab.number} with {lab.rubric.trace.n if n is None else n:,} elements, step by step"
        )
        frame = (
            f'<figure class="stepper"><iframe src="{up}{STEPPERS}/{file.name}" title="{title}" loading="lazy"></iframe>'
            f'<figcaption>{title}: <a href="{up}{STEPPERS}/{file.name}">in a page of its own</a></figcaption></figure>'
        )
        return [nodes.raw("", frame, format="html")]


def solution_page(lab: Lab, n: int | None) -> str:
    """Return the stepper's page of a lab's solution, without `n` of the lab's own call.

    Raises KitError where it cannot be run.
    """
    shown = shown_call(lab, lab.rubric.entries[0], n)
    return stepper_page(record(lab, lab.solution, replace(shown, with_neighbours=True)), "")


class LinksToPrograms(SphinxTransform):
    """Turns a link to a program's file into one to its page; MyST would offer the file for download."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        """Change the document's nodes."""
        for link in list(self.document.findall(addnodes.download_reference)):
            target, _hash, line = link["reftarget"].partition("#")
            name = program(Path(self.env.srcdir), self.env.docname, target)
            if name is not None:
                target = page_of(name)
                to_page = addnodes.pending_xref(
                    "", *link.children, reftype=REFERENCE, refdomain="", reftarget=target, refdoc=self.env.docname
                )
                to_page["line"] = line
                link.replace_self(to_page)


def resolve(app: Sphinx, _: BuildEnvironment, node: nodes.Element, content: nodes.Node) -> nodes.Node | None:
    """Return the reference to a program's page."""
    if node.get("reftype") != REFERENCE:
        return None
    uri = app.builder.get_relative_uri(node["refdoc"], node["reftarget"])
    if node["line"]:
        uri += f"#{node['line']}"
    return nodes.reference("", "", content, internal=True, refuri=uri)


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Give the page of each program."""
    repository = app.srcdir.parent
    for path in sorted(found for pattern in PROGRAMS for found in repository.glob(pattern)):
        name = path.relative_to(repository).as_posix()
        # A learner's file may hold anything; the site is built all the same.
        text = path.read_text(encoding="utf-8", errors="replace")
        code = app.builder.highlighter.highlight_block(text, "cuda", force=True, linenos="inline", lineanchors="line")
        body = f'<h1 class="program">{name}</h1>\n{code}'
        yield page_of(name), {"title": name, "body": body}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of it with Sphinx."""
    app.add_directive("rungs", Rungs)
    app.add_directive("stepper", Stepper)
    directives.register_directive("literalinclude", Excerpt)
    app.add_transform(LinksToPrograms)
    app.connect("missing-reference", resolve)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
