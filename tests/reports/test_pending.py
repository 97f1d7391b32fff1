"""Pages of a class in which something waits for an answer, and of groups."""

from pathlib import Path

from needs import skip_without
from scanlab.on_demand import REPORTS

skip_without(REPORTS)

from classes import KOGGE_STONE
from scanlab.classroom.grading import make_record
from scanlab.classroom.intake.roster import read_roster
from scanlab.classroom.intake.take_in import Wanted, take_in
from scanlab.classroom.store import Store
from scanlab.course.seen import Sight
from scanlab.reports.class_page import class_page
from scanlab.reports.likeness import HandIn, identical
from scanlab.reports.render import class_html, student_html
from scanlab.reports.student_page import student_page

CODE = "__global__ void kernel() {}\n"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_what_waits_is_shown_and_has_no_points(tmp_path: Path) -> None:
    pile = tmp_path / "pile"
    put(pile / "s1/a.cu", CODE)
    put(pile / "s1/b.cu", CODE + "// other\n")
    put(pile / "s3@x.org/work.rar", "Rar!")
    put(pile / "s3/work.rar", "Rar!")
    put(tmp_path / "roster.csv", "id,name,email,group\ns1,Ann,a@x.org,G 1\ns2,Bob,b@x.org,G 1\ns3,Cal,s3@x.org,\n")
    taken_in = take_in(pile, Wanted(labs=(KOGGE_STONE,)), read_roster(tmp_path / "roster.csv")).taken_in
    store = Store(tmp_path / "out")
    records = {one.key: make_record(store, taken_in, one) for one in taken_in.submissions}
    assert {record.verdict for record in records.values()} == {"pending"}
    page = student_html(student_page(taken_in, records["s1"], store.source, Sight.of(taken_in)))
    assert "<strong>no grade yet</strong>" in page
    assert "together with Bob" in page
    assert "Your teacher decides." in page
    assert "0 of" not in page.replace("\n", " ")
    claim = next(record for record in records.values() if record.claims)
    page = student_html(student_page(taken_in, claim, store.source, Sight.of(taken_in)))
    assert "may be" not in page, "whose it may be is shown to no other student"
    whole = class_html(class_page(taken_in, records.values(), store.source), set())
    assert "open questions.</strong>" in whole
    assert "2 files may be this lab&#39;s" in whole or "2 files may be this lab's" in whole
    assert "s3@x.org may be s3" in whole


def test_a_group_with_one_file_is_no_likeness() -> None:
    ann, bob, cal = (HandIn(key, KOGGE_STONE, "0" * 64, group) for key, group in (("a", "G"), ("b", "G"), ("c", "")))
    assert identical([ann, bob], {}, {}) == []
    assert [group.keys for group in identical([ann, bob, cal], {}, {})] == [("a", "b", "c")]
