"""The pages in a browser, as a teacher and a student see them: on a phone and on a desk, light and dark."""

from pathlib import Path
from typing import Any

import pytest

from needs import skip_without
from scanlab.on_demand import CHROMIUM, PLAYWRIGHT, REPORTS

skip_without(REPORTS, PLAYWRIGHT, CHROMIUM)


from classes import KOGGE_STONE, PLAIN, Classroom, check, hostile_class, race, result
from scanlab.reports.make import Wanted, make

SIZES = [(360, 740), (1280, 900)]
SCHEMES = ["light", "dark"]
PAGES = ["index.html", "students/s0001.html", "students/s0002.html"]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    make(hostile_class(folder / "results"), folder / "pages", Wanted())
    return folder / "pages"


class Watched:
    """A page, and what it has asked for and complained of."""

    def __init__(self, browser: Any, path: Path, size: tuple[int, int] = SIZES[1]) -> None:
        self.page = browser.new_page(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
        self.page.set_default_timeout(20_000)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.url = path.as_uri()
        self.page.goto(self.url)

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self.page.close()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_is_quiet_and_asks_for_nothing(browser: Any, out: Path, name: str, size: tuple[int, int]) -> None:
    with Watched(browser, out / name, size) as seen:
        page = seen.page
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        beyond = page.evaluate(
            """() => [...document.querySelectorAll("body *")].filter(one => {
                 const box = one.getBoundingClientRect();
                 return box.width > 1 && box.right > innerWidth + 1 && !one.closest(".box, .call");
               }).map(one => one.outerHTML.slice(0, 200))"""
        )
        assert beyond == []
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            lightness = sum(int(part) for part in ground.removeprefix("rgb(").removesuffix(")").split(",")) / 3
            assert lightness > 240 if scheme == "light" else lightness < 40
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert seen.requests == [seen.url]
        assert seen.complaints == []


def test_a_marked_line_and_its_note_can_be_distinguished_and_read(browser: Any, out: Path) -> None:
    with Watched(browser, out / "students/s0001.html", SIZES[0]) as seen:
        colours = {
            role: seen.page.locator(f".l.{role}").first.evaluate("one => getComputedStyle(one).backgroundColor")
            for role in ("read", "write")
        }
        assert len(set(colours.values())) == 2
        notes = seen.page.locator(".note > span")
        assert notes.count() == 2
        for at in range(2):
            box = notes.nth(at).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= SIZES[0][0]


def test_code_scrolls_inside_its_own_box(browser: Any, out: Path) -> None:
    with Watched(browser, out / "students/s0001.html", SIZES[0]) as seen:
        box = seen.page.locator(".code").first
        assert box.evaluate("one => one.scrollWidth > one.clientWidth + 100")
        box.focus()
        seen.page.keyboard.press("ArrowRight")
        for _ in range(100):
            if box.evaluate("one => one.scrollLeft"):
                break
            seen.page.wait_for_timeout(20)
        else:
            pytest.fail("the arrow key does not scroll the code")


def test_a_note_leads_to_its_finding_also_where_it_is_folded(browser: Any, tmp_path: Path) -> None:
    room = Classroom(tmp_path / "results")
    kinds = [race(kind=f"kind {at}") for at in range(6)]
    room.hand_in("a", {KOGGE_STONE: (PLAIN, result([check("inclusive", "fail")], kinds))})
    make(room.write(), tmp_path / "pages", Wanted())
    with Watched(browser, tmp_path / "pages/students/a.html") as seen:
        target = seen.page.locator("#lab-02-f6")
        assert not target.is_visible()
        seen.page.locator('.note a[href="#lab-02-f6"]').first.click()
        target.wait_for(state="visible")


def test_the_table_is_sorted_by_every_column(browser: Any, tmp_path: Path) -> None:
    room = Classroom(tmp_path / "results")
    for key, points in {"s2": 9, "s10": 100, "s1": 55.5, "s3": 0}.items():
        verdict = "pass" if points == 100 else "fail"
        got = result([check("inclusive", verdict, 100, points=points)])
        room.hand_in(key, {KOGGE_STONE: (f"{PLAIN}// {key}", got)})
    room.hand_in("s4", {})
    make(room.write(), tmp_path / "pages", Wanted())
    with Watched(browser, tmp_path / "pages/index.html") as seen:
        page = seen.page
        rows = page.locator("table.all tbody tr")

        def order() -> list[str]:
            return [text.split("\t")[1] for text in rows.evaluate_all("all => all.map(one => one.innerText)")]

        def press(title: str) -> str:
            head = page.locator("table.all thead th", has_text=title).first
            head.locator("button").focus()
            page.keyboard.press("Enter")
            return head.get_attribute("aria-sort")

        assert order() == ["s2", "s10", "s1", "s3", "s4"]
        assert press("points") == "ascending"
        assert order() == ["s3", "s4", "s2", "s1", "s10"]  # equal ones keep their order
        assert press("points") == "descending"
        assert order() == ["s10", "s1", "s2", "s4", "s3"]
        assert press("id") == "ascending"
        assert order() == ["s1", "s2", "s3", "s4", "s10"]
        assert page.locator("table.all [aria-sort]").count() == 1
        assert press("02") == "ascending"
        assert order() == ["s4", "s3", "s2", "s1", "s10"]  # nothing handed in comes before 0 points
        assert seen.complaints == []


def test_without_scripts_all_of_it_is_there(browser: Any, out: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((out / "index.html").as_uri())
    assert page.locator("table.all tbody tr").count() == 8
    assert page.locator("table.all thead button").count() == 0
    context.close()


def test_the_first_key_leads_past_the_header(browser: Any, out: Path) -> None:
    with Watched(browser, out / "index.html") as seen:
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.textContent") == "To the content"
        assert seen.page.locator(".skip").bounding_box()["x"] >= 0
