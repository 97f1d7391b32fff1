"""The page of `learn --browser` in a browser: what a learner sees after each save, wide, on a phone, in the dark."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from needs import skip_without
from scanlab.on_demand import AXE, CHROMIUM, PLAYWRIGHT

skip_without(PLAYWRIGHT, AXE, CHROMIUM)

from axe_playwright_python.sync_playwright import Axe

from learning import LADDER, Learning, Shown, does_not_compile, passed, result, wrong
from scanlab.learn.snapshot import Aside
from scanlab.paths import shown
from scanlab.trace.accesses import Access, Accesses, TracedArray, TracedLaunch, TracedPlace
from scanlab.trace.html import stepper_data
from scanlab.trace.record import Options, make_trace

WIDE, PHONE = (1280, 900), (390, 844)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!-- \u202e"
Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Opens an address; at the end the page must have asked for nothing above it, and not have complained."""
    opened: list[tuple[Any, str, list[str], list[str]]] = []

    def opens(address: str, size: tuple[int, int] = WIDE, scheme: str = "light") -> Any:
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce"
        )
        page.set_default_timeout(5_000)
        requests: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        opened.append((page, address, requests, complaints))
        page.goto(address)
        return page

    yield opens
    for page, address, requests, complaints in opened:
        page.close()
        assert [url for url in requests if not url.startswith((address, "data:"))] == []
        assert complaints == []


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Shown]:
    one = Shown(tmp_path)
    yield one
    one.server.close()


@pytest.fixture
def learning(fake_build: Path, tmp_path: Path) -> Iterator[Callable[[str], Learning]]:
    begun: list[Learning] = []

    def begin(text: str) -> Learning:
        begun.append(Learning(fake_build, tmp_path, text))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()


def state(page: Any, text: str) -> None:
    """Wait until the page says that."""
    page.locator(".lp-state", has_text=text).wait_for()


def fits(page: Any) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def violations(page: Any) -> list[str]:
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    found = Axe().run(page)
    return [f"{one['id']}: {node['html'][:200]}" for one in found.response["violations"] for node in one["nodes"]]


def steps_of(made: Shown, places: int) -> bytes:
    """The stepper's data of a kernel whose threads each copy one place."""
    accesses = [
        Access(does, 0, at // 32, at, array, 4 * at, 4, 0, (at,), 2 * at + array)
        for at in range(places)
        for array, does in enumerate(("read", "write"))
    ]
    arrays = (
        TracedArray(name="d_x", space="global", bytes=4 * places),
        TracedArray(name="d_y", space="global", bytes=4 * places),
    )
    launch = TracedLaunch(
        kernel="k", grid=(1, 1, 1), block=(64, 1, 1), has_block=True, has_shuffles=False, arrays=arrays,
        places=(TracedPlace(file=shown(made.file), line=3),), barriers=(), accesses=tuple(accesses), left_out=0,
    )  # fmt: skip
    every = Accesses(launches=(launch,), elements=None, races=(), failure=None, printed="")
    data = stepper_data(make_trace(every, made.file, LADDER[0], Options(n=places)), made.text)
    return json.dumps(data).encode()


def test_a_save_shows_what_is_wrong_and_then_what_was_passed(
    learning: Callable[[str], Learning], open_page: Open
) -> None:
    loop = learning("// FAILS\n")
    page = open_page(loop.address)
    other = open_page(loop.address, PHONE)
    state(page, "Checked in")
    assert "y[1024] = 0, expected 523776" in page.locator(".is-failure h2").inner_text()
    assert page.locator(".lp-also, .st-line.is-race").count() == 0  # line 31 of another file is no line of this one
    page.locator("#steps", has_text="No steps can be shown: ").wait_for()
    for number in (1, 2, 3):
        page.locator(".lp-hints button").click()
        page.locator(".lp-hint-list li").nth(number - 1).wait_for()
    assert page.locator(".lp-hints button").is_hidden()
    other.locator(".lp-hint-list li").nth(2).wait_for()
    loop.file.write_text("// PASSES\n")
    page.locator(".is-pass").wait_for()
    other.locator(".is-pass").wait_for()
    assert page.title().startswith("✓ 02")
    page.get_by_text("Compare yours with the solution").click()
    assert "-// PASSES" in page.locator(".lp-difference pre").inner_text()
    other.reload()
    other.locator(".is-pass").wait_for()
    page.get_by_role("button", name="Next: lab 03").click()
    page.locator(".is-task").wait_for()
    assert page.locator("h1").inner_text().startswith("03 ")
    assert page.locator("[aria-current=step]").get_attribute("title").startswith("03 ")
    assert loop.quit() == 0
    for one in (page, other):
        state(one, "The loop in the terminal has ended.")


@pytest.mark.parametrize(
    ("size", "scheme"), [(WIDE, "light"), (WIDE, "dark"), (PHONE, "light")], ids=["wide", "dark", "phone"]
)
def test_each_state_fits_and_is_accessible(made: Shown, open_page: Open, size: tuple[int, int], scheme: str) -> None:
    where = shown(made.file)
    states: list[tuple[dict[str, Any], str]] = [
        ({"hints": 3}, ".is-task"),
        ({"result": does_not_compile(where)}, ".is-failure"),
        ({"result": result(), "hints": 1}, ".lp-others"),
        ({"result": wrong(where)}, ".lp-outputs"),
        ({"trouble": "the judge was killed"}, ".is-trouble"),
        ({"result": passed()}, ".is-pass"),
    ]
    made.show()
    page = open_page(made.server.address, size, scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(part) for part in ground.removeprefix("rgb(").removesuffix(")").split(",")) / 3
    assert lightness < 40 if scheme == "dark" else lightness > 240
    for view, shows in states:
        if shows == ".is-pass":
            made.server.publish_steps(1, steps_of(made, 8))
            made.aside = replace(made.aside, steps=1)
        made.show(**view)
        page.locator(shows).first.wait_for()
        if made.aside.steps:
            page.locator(".st-memory").wait_for()
        assert violations(page) == []
        assert fits(page)
    assert page.frame_locator("iframe").locator("h1").inner_text() == "The handout"


def test_an_update_changes_neither_place_nor_level(made: Shown, open_page: Open) -> None:
    where = shown(made.file)
    made.server.publish_steps(1, steps_of(made, 8))
    made.aside = replace(made.aside, steps=1)
    made.show(result=wrong(where))
    page = open_page(made.server.address)
    assert page.locator(".st-line.is-race .st-number").inner_text() == "23"
    page.locator("#steps .st-levels label", has_text="thread").click()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Next step").click()
    page.get_by_role("button", name="Next step").click()
    assert page.locator(".st-count").inner_text().startswith("2 / 1")
    page.locator(".lp-source").evaluate("one => one.scrollTop = 333")
    page.evaluate("scrollTo(0, 222)")
    made.aside = replace(made.aside, steps=0)
    made.show(is_whole=False)
    state(page, "Checking …")
    assert page.locator(".is-failure").is_visible()  # until the new result is there
    assert page.locator(".is-old .st-memory").count() == 1
    made.text = made.text.replace("// line 2\n", "// another line 2\n")
    made.server.publish_steps(2, steps_of(made, 12))
    made.aside = replace(made.aside, steps=2)
    made.show(result=passed())
    page.locator(".is-pass").wait_for()
    page.locator(".st-count", has_text=re.compile("^2 / 2")).wait_for()  # more steps, of 12 places
    assert page.locator(".st-levels input:checked").get_attribute("value") == "thread"
    assert "another line 2" in page.locator(".lp-source").inner_text()
    assert page.locator(".lp-source").evaluate("one => one.scrollTop") == 333
    assert page.evaluate("scrollY") == 222


def test_a_line_that_is_named_leads_to_the_file(made: Shown, open_page: Open) -> None:
    made.show(result=wrong(shown(made.file)))
    page = open_page(made.server.address)
    page.locator(".lp-source").evaluate("one => one.scrollTop = 9999")
    page.locator(".is-failure").get_by_role("button", name="line 23").press("Enter")
    assert page.evaluate("document.activeElement.className").endswith("lp-source")
    line, pane = page.locator(".st-line.is-race").bounding_box(), page.locator(".lp-source").bounding_box()
    assert pane["y"] <= line["y"] <= pane["y"] + pane["height"]


def test_hostile_text_is_shown_as_text(made: Shown, open_page: Open) -> None:
    made.text = f"// {HOSTILE}\n" * 3
    made.aside = replace(made.aside, handout="", handout_text=HOSTILE, why_no_steps=HOSTILE)
    made.show(result=does_not_compile(shown(made.file), HOSTILE))
    page = open_page(made.server.address)
    page.locator(".lp-source", has_text="onerror").wait_for()
    page.locator(".is-failure", has_text="onerror").wait_for()
    assert HOSTILE[:-1] in page.locator(".lp-source").inner_text()
    assert HOSTILE[:-1] in page.locator(".is-failure").inner_text()
    assert HOSTILE[:-1] in page.locator(".lp-markdown").inner_text()
    assert "⟨U+202E⟩" in page.locator(".lp-source").inner_text()
    made.show(trouble=HOSTILE)
    page.locator(".is-trouble", has_text="onerror").wait_for()
    assert page.locator("img").count() == 0
    assert page.locator("script:not([src='stepper.js']):not([src='learn_page.js'])").count() == 0


def test_all_can_be_reached_by_tab(made: Shown, open_page: Open) -> None:
    made.show(result=result(), hints=1)
    page = open_page(made.server.address)
    page.locator(".is-failure").wait_for()
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("a, button:enabled, summary, iframe, [tabindex='0']")]
             .filter(one => one.checkVisibility()).length"""
    )
    reached = set()
    for _ in range(wanted + 3):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    body = page.evaluate("[...document.querySelectorAll('*')].indexOf(document.body)")
    assert len(reached - {-1, body}) >= wanted


def test_a_page_that_slept_hears_all_anew(made: Shown, open_page: Open) -> None:
    made.aside = Aside()  # Playwright's clock is a script, and none may run in the handout's frame
    made.show()
    page = open_page(made.server.address)
    page.clock.install()
    page.reload()
    page.locator(".is-task").wait_for()
    with page.expect_request("**/events"):
        page.clock.fast_forward(60_000)
    made.show(result=passed())
    page.locator(".is-pass").wait_for()
