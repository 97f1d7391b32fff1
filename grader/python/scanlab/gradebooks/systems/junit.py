"""JUnit XML, for tools that read test reports: a suite per submission, a case per check. Its points are properties.

Hidden checks are not in it, neither their names nor how many there are or how they ended: tools show such files to all.
"""

from xml.etree import ElementTree

from scanlab.classroom.records import NO_GRADE, Record
from scanlab.gradebooks.feedback import lines
from scanlab.gradebooks.model import Export, Format, Gradebook, Options, Written
from scanlab.gradebooks.text import number, one_line, shorten

MOST_OUTPUT = 20_000
KINDS = {"error": "error", "skipped": "skipped", "inconclusive": "skipped", "pending": "skipped"}
"""What a case is called that neither passed nor failed."""


def whole(export: Export, _: Gradebook | None) -> Written:
    """Return the file."""
    root = ElementTree.Element("testsuites", name=one_line(export.title))
    for record in sorted((*export.records, *export.faulty, *export.pending), key=lambda record: record.key):
        root.append(_suite(record, export.options))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ElementTree.indent(root)
    return Written(ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n")


def _suite(record: Record, options: Options) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=record.key)
    found = {"tests": 0, "failure": 0, "error": 0, "skipped": 0}
    properties = ElementTree.SubElement(suite, "properties")
    if record.verdict not in NO_GRADE:
        ElementTree.SubElement(properties, "property", name="points", value=str(number(record.points)))
    ElementTree.SubElement(properties, "property", name="max_points", value=str(number(record.max_points)))
    for line in lines(record, options):
        if line.shown != "visible":
            continue
        found["tests"] += 1
        case = ElementTree.SubElement(suite, "testcase", classname=f"{record.key}.{line.lab}", name=line.title)
        if line.passed:
            continue
        kind = KINDS.get(line.verdict, "failure")
        found[kind] += 1
        headline = one_line(line.text.splitlines()[0]) if line.text else line.verdict
        element = ElementTree.SubElement(case, kind, message=shorten(headline, 500))
        if kind != "skipped":
            element.set("type", line.verdict)
        element.text = shorten(line.text, MOST_OUTPUT)
    for count, name in (("tests", "tests"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(found[name]))
    return suite


FORMAT = Format("junit", whole=whole, shows_faults=True)
