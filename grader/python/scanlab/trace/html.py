"""The page of a trace: one file with the stepper (grader/stepper), the trace, and the learner's text.

The page loads nothing and sends nothing. What a learner wrote or their program printed is data in it: JSON, whose `<`,
`>` and `&` are escaped, so that no text can end the element that it stands in.
"""

import base64
import hashlib
import html
import json
from pathlib import Path
from string import Template
from typing import Any

from scanlab.foreign_text import LONGEST_TEXT, cut, spelled_out
from scanlab.paths import ROOT
from scanlab.trace.model import Interval, Launch, Trace

STEPPER = ROOT / "grader/stepper"
MOST_ACCESSES = 3000
"""Of one launch; a loop without end makes any number of them. With their instructions they take less than 1 MB."""
PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="scanlab trace">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '$style_hash'; \
script-src '$code_hash' '$start_hash'; base-uri 'none'; form-action 'none'">
<title>$title</title>
<style>$style</style>
</head>
<body>
<main>
<h1>$heading</h1>
<p class="facts">$facts</p>
<div id="stepper"></div>
<noscript><p>This page needs JavaScript; <code>grader/scanlab trace</code> shows the same in a terminal.</p></noscript>
</main>
<script type="application/json" id="data">$data</script>
<script>$code</script>
<script>$start</script>
</body>
</html>
""")
STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c1f24; --muted: #565a62; }
@media (prefers-color-scheme: dark) { :root { --paper: #131416; --ink: #d8dadd; --muted: #a3a8b0; } }
body { background: var(--paper); color: var(--ink); font: 1rem/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI",
  Roboto, Helvetica, Arial, sans-serif; margin: 0; overflow-wrap: break-word; }
main { margin: 0 auto; max-width: 88rem; padding: 1.4rem 1.25rem 3rem; }
h1 { font-size: 1.35rem; font-weight: 650; letter-spacing: -0.01em; line-height: 1.25; margin: 0; }
.facts { color: var(--muted); font-size: 0.875rem; margin: 0.2rem 0 0.8rem; }
@media (max-width: 40rem) { main { padding: 1rem 0.9rem 2rem; } }
"""
START = """
const { trace, source } = JSON.parse(document.getElementById("data").textContent);
scanlabStepper.mount(document.getElementById("stepper"), trace, source, { keys: "page" });
"""


def page(trace: Trace, source: str) -> str:
    """Return the page of a trace, with the text of the file that was traced."""
    data = stepper_data(trace, source)
    style = f"{STYLE}{(STEPPER / 'stepper.css').read_text(encoding='utf-8')}"
    code = (STEPPER / "stepper.js").read_text(encoding="utf-8")
    shown: Trace = trace.model_copy(update={"source": data["trace"]["source"]})
    heading = (
        f"{shown.lab or shown.source}: {trace.entry.replace('_', ' ')}, n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{trace.n}"
    )
    facts = [shown.source, f"block {trace.block}", f"schedule {trace.schedule}", "on the virtual GPU"]
    return PAGE.substitute(
        title=html.escape(spelled_out(heading)),
        heading=html.escape(spelled_out(heading)),
        facts=html.escape(spelled_out(", ".join(facts))),
        style=style,
        style_hash=_hash(style),
        code=code,
        code_hash=_hash(code),
        start=START,
        start_hash=_hash(START),
        data=embedded(data),
    )


def stepper_data(trace: Trace, source: str) -> dict[str, Any]:
    """Return what the stepper is given, `trace` and `source`: not too long, without this machine's paths or tricks.

    The cells after each interval are left out: the stepper makes them of the writes.
    """
    launches = [_bounded(launch) for launch in trace.launches]
    whole = trace.model_copy(update={"launches": launches, "printed": cut(trace.printed)})
    data = {
        "trace": whole.model_dump(
            mode="json", by_alias=True, exclude={"launches": {"__all__": {"intervals": {"__all__": {"holds"}}}}}
        ),
        "source": cut(source.replace("\r\n", "\n"), 4 * LONGEST_TEXT),
    }
    folders = [f"{ROOT}/", f"{Path(trace.source).parent}/" if Path(trace.source).is_absolute() else ""]
    return harmless(data, [folder for folder in folders if folder.strip("/")])


def embedded(data: object) -> str:
    """Return JSON that may stand inside an element of a page."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _bounded(launch: Launch) -> Launch:
    """Return the launch with its first accesses, and a note where there are more."""
    left = MOST_ACCESSES
    kept: list[Interval] = []
    for interval in launch.intervals:
        count = len(interval.reads) + len(interval.writes)
        if count > left:
            orders = sorted(access.order for access in (*interval.reads, *interval.writes))
            end = orders[left]
            interval = interval.model_copy(
                update={
                    "reads": [read for read in interval.reads if read.order < end],
                    "writes": [write for write in interval.writes if write.order < end],
                    "instructions": [one for one in interval.instructions if one.orders[0] < end],
                }
            )
            note = f"only the first {MOST_ACCESSES} accesses to these places are shown here"
            return launch.model_copy(update={"intervals": [*kept, interval], "notes": [*launch.notes, note]})
        left -= count
        kept.append(interval)
    return launch


def harmless(value: Any, folders: list[str]) -> Any:
    """Return JSON's data with each text's tricks spelled out, and without these folders' names."""
    if isinstance(value, dict):
        return {key: harmless(item, folders) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(item, folders) for item in value]
    if not isinstance(value, str):
        return value
    for folder in folders:
        value = value.replace(folder, "")
    return spelled_out(value)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
