"""Make the pages of models: HTML that holds all it needs, and may load nothing."""

import base64
import hashlib
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from scanlab.foreign_text import spelled_out
from scanlab.judging.report import points
from scanlab.reports.class_model import ClassPage
from scanlab.reports.class_page import FINDINGS, LOW
from scanlab.reports.student_page import StudentPage
from scanlab.reports.text import count, field, first_sentence, number, sentence

TEMPLATES = Path(__file__).with_name("templates")
GENERATOR = "scanlab report"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""A page loads nothing and sends nothing, whatever a student's text may say."""


def class_html(page: ClassPage, linked: Collection[str]) -> str:
    """Return the class's page, with links to the pages of those submissions that have one."""
    script = (TEMPLATES / "sort.js").read_text(encoding="utf-8").strip()
    digest = base64.b64encode(hashlib.sha256(f"\n{script}\n".encode()).digest()).decode()
    return (
        _environment()
        .get_template("class.html")
        .render(
            page=page,
            linked=linked,
            script=Markup(script),
            policy=Markup(f"{POLICY}; script-src 'sha256-{digest}'"),
            most_findings=FINDINGS,
            low=LOW,
            full=sum(row.points >= row.max_points > 0 for row in page.rows),
            has_attempts=any(row.attempt for row in page.rows),
            has_times=any(row.submitted_at for row in page.rows),
            has_alerts=bool(
                page.questions
                or page.faults
                or page.unmatched
                or page.problems
                or page.taken_in.missing
                or page.taken_in.ignored
            ),
        )
    )


def student_html(page: StudentPage) -> str:
    """Return a student's page."""
    return _environment().get_template("student.html").render(page=page, policy=Markup(POLICY))


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=False,
        lstrip_blocks=False,
    )
    made.globals["generator"] = GENERATOR
    made.filters.update(
        points=points,
        number=number,
        counted=count,
        field=field,
        sentence=sentence,
        first_sentence=first_sentence,
    )
    return made


def _shown(value: object) -> object:
    """Make untrusted text harmless, wherever a template puts it; what is HTML already stays."""
    return spelled_out(value) if isinstance(value, str) and not isinstance(value, Markup) else value
