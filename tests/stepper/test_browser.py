"""The stepper in a browser: by keys alone, on a desk and on a phone, in light and dark, for right and wrong kernels."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from needs import skip_without
from scanlab.on_demand import AXE, CHROMIUM, PLAYWRIGHT

skip_without(PLAYWRIGHT, AXE, CHROMIUM)

from axe_playwright_python.sync_playwright import Axe

from pages import DIVERGENT, FAULT, MISTAKES, RACE, SOLUTIONS, UNINITIALISED, WRONG, html_of, traced
from scanlab.trace.html import page as html_page

WIDE, PHONE = (1280, 900), (390, 844)
KOGGE_STONE = "02_kogge_stone"
Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens a page; at the end it must have asked for nothing but itself, and not have complained."""
    opened: list[tuple[Any, str, list[str], list[str]]] = []

    def opens(text: str, size: tuple[int, int] = WIDE, scheme: str = "light") -> Any:
        path = tmp_path / f"page{len(opened)}.html"
        path.write_text(text, encoding="utf-8")
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce"
        )
        page.set_default_timeout(10_000)
        requests: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        opened.append((page, path.as_uri(), requests, complaints))
        page.goto(path.as_uri())
        return page

    yield opens
    for page, url, requests, complaints in opened:
        page.close()
        assert requests == [url]
        assert complaints == []


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def caption(page: Any) -> str:
    return page.locator(".st-caption").inner_text()


def step(page: Any) -> tuple[int, int]:
    now, last = page.locator(".st-count").inner_text().split("/")
    return int(now), int(last)


def level(page: Any) -> str:
    return page.locator(".st-levels input:checked").get_attribute("value")


def value(page: Any, place: str) -> str:
    return page.locator(f'[data-place="{place}"] .st-value').text_content()


def fits(page: Any) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def violations(page: Any) -> list[str]:
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    found = Axe().run(page)
    return [f"{one['id']}: {node['html'][:200]}" for one in found.response["violations"] for node in one["nodes"]]


@pytest.mark.parametrize("name", [*SOLUTIONS, *MISTAKES])
def test_every_page_can_be_stepped_through_fits_and_is_accessible(open_page: Open, name: str) -> None:
    page = open_page(html_of(name), WIDE, "dark" if SOLUTIONS.index(name.split("/")[0]) % 2 else "light")
    for _ in range(3):
        press(page, "ArrowUp")
    assert level(page) == "barrier"
    seen = {caption(page)}
    for at in range(1, step(page)[1] + 1):
        press(page, "ArrowRight")
        assert step(page)[0] == at
        seen.add(caption(page))
    assert len(seen) > 1
    press(page, "ArrowDown", "Home", "ArrowRight", "ArrowRight", "ArrowDown", "End", "ArrowLeft", "ArrowLeft")
    assert level(page) == "thread"
    assert violations(page) == []
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    press(page, "Home", "ArrowRight")
    assert fits(page)


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide-light", "phone-dark"])
def test_a_race_with_all_its_parts_is_accessible(open_page: Open, size: tuple[int, int], scheme: str) -> None:
    page = open_page(html_of(RACE), size, scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(part) for part in ground.removeprefix("rgb(").removesuffix(")").split(",")) / 3
    assert lightness > 240 if scheme == "light" else lightness < 40
    page.get_by_label("Place").select_option("s_xy[5]")
    page.locator("body").click(position={"x": 2, "y": 2})
    press(page, "p", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    assert violations(page) == []
    press(page, "?")
    assert page.locator("dialog").is_visible()
    assert violations(page) == []
    press(page, "Escape")
    assert fits(page)


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_without_a_text_there_is_no_listing(open_page: Open, size: tuple[int, int]) -> None:
    trace, _ = traced(KOGGE_STONE)
    page = open_page(html_page(trace, ""), size)
    assert page.locator(".st-source").count() == 0
    press(page, "ArrowRight", "ArrowRight")
    assert step(page)[0] == 2
    assert violations(page) == []
    assert fits(page)


def test_keys_lead_through_the_steps(open_page: Open) -> None:
    page = open_page(html_of(KOGGE_STONE))
    assert "Before the kernel" in caption(page)
    press(page, "ArrowRight", "ArrowRight")
    assert "Threads 0–8 read s_xy, in lines 22–23." in caption(page)
    assert page.locator(".st-line.is-read .st-number").all_inner_texts() == ["22", "23"]
    assert page.locator('[aria-current="step"]').count() == 3  # and the barrier that opened it
    press(page, "ArrowRight")
    assert (value(page, "s_xy[5]"), value(page, "s_xy[0]")) == ("4…5", "0")
    press(page, "ArrowLeft")
    assert value(page, "s_xy[5]") == "5"
    press(page, "ArrowRight", "ArrowDown", "ArrowDown")
    assert level(page) == "thread"
    assert "Thread 0 writes 0 to s_xy[0] in line 25" in caption(page)
    press(page, "ArrowRight")
    assert "Thread 1 writes 0…1 to s_xy[1] in line 25: s_xy[0] + s_xy[1]." in caption(page)
    press(page, "End")
    assert step(page)[0] == step(page)[1]
    assert value(page, "d_y[7]") == "0…7"
    press(page, "Home", "ArrowUp", "ArrowUp")
    assert (step(page)[0], level(page)) == (0, "barrier")


def test_a_thread_is_followed(open_page: Open) -> None:
    page = open_page(html_of(KOGGE_STONE))
    press(page, "ArrowRight", "t")
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    page.locator(".st-picker", has_text="Thread").locator("select").select_option("5")
    page.locator(".st-memory").click(position={"x": 2, "y": 2})
    press(page, "ArrowRight")
    assert "Thread 5 reads s_xy, in lines 22–23." in caption(page)
    assert page.locator(".st-chip:not(.is-faint)").count() == 2
    press(page, "ArrowDown", "ArrowDown", "Home")
    captions = []
    while step(page)[0] < step(page)[1]:
        press(page, "ArrowRight")
        captions.append(caption(page).splitlines()[-1])
    assert all(text.startswith("Thread 5 ") for text in captions)
    assert len(captions) == 2 + 3 * 3 + 7 * 2 + 1  # the load; steps with and without an addition; the store
    page.locator(".st-memory").click(position={"x": 2, "y": 2})
    press(page, "Escape")
    assert page.locator(".st-chip.is-faint").count() == 0


def test_a_place_has_a_history(open_page: Open) -> None:
    page = open_page(html_of(KOGGE_STONE))
    page.locator('[data-place="s_xy[5]"]').click()
    lines = page.locator(".st-history li").all_inner_texts()
    assert lines[:4] == [
        "5 by thread 5, line 17: d_x[5] step 1",
        "4…5 by thread 5, line 25: s_xy[4] + s_xy[5] step 3",
        "2…5 by thread 5, line 25: s_xy[3] + s_xy[5] step 5",
        "0…5 by thread 5, line 25: s_xy[1] + s_xy[5] step 7",
    ]
    page.get_by_role("button", name="step 5").click()
    assert step(page)[0] == 5
    assert value(page, "s_xy[5]") == "2…5"


def test_predictions_are_answered_and_counted(open_page: Open) -> None:
    page = open_page(html_of(KOGGE_STONE))
    press(page, "p", "ArrowRight", "ArrowRight", "ArrowRight")
    asked = page.locator(".st-predict")
    assert step(page)[0] == 2  # the step is not shown before it was answered
    place = asked.locator("b").inner_text()
    number = int(place.removeprefix("s_xy[").removesuffix("]"))
    answers = asked.locator(".st-answer").evaluate_all("all => all.map(one => one.lastChild.textContent)")
    assert len(set(answers)) == 4
    right = f"{number - 1}…{number}"
    assert answers.count(right) == 1
    page.locator(".st-input").fill(f"x{number - 1} .. x{number}")
    press(page, "Enter")
    assert step(page)[0] == 3
    assert "✓ Right" in asked.inner_text()
    assert "1 of 1 right" in asked.inner_text()
    page.locator(".st-memory").focus()
    press(page, "ArrowRight", "ArrowRight")
    assert step(page)[0] == 4
    answers = asked.locator(".st-answer").evaluate_all("all => all.map(one => one.lastChild.textContent)")
    place = asked.locator("b").inner_text()
    number = int(place.removeprefix("s_xy[").removesuffix("]"))
    wrong = next(at for at, text in enumerate(answers, 1) if text != f"{max(0, number - 3)}…{number}")
    press(page, str(wrong))
    assert step(page)[0] == 5
    assert "✗ No" in asked.inner_text()
    assert "1 of 2 right" in asked.inner_text()
    press(page, "p", "ArrowRight", "ArrowRight")
    assert step(page)[0] == 7


def test_a_race_is_shown_alone(open_page: Open) -> None:
    page = open_page(html_of(RACE))
    page.get_by_role("button", name="Show the step: Race 1").click()
    assert "Race (write-after-read): thread 32 reads s_xy[31] in line 23, thread 31 writes s_xy[31]" in caption(page)
    assert sorted(page.locator(".st-chip text:first-of-type").all_text_contents()) == ["t31", "t32"]
    assert page.locator(".st-chip.is-race").count() == 2
    assert page.locator(".st-line.is-race .st-number").all_inner_texts() == ["23", "24"]
    assert page.locator(".st-note").first.inner_text().startswith("! races 1–2: this read of s_xy meets line 24")


def test_what_is_wrong_is_said(open_page: Open) -> None:
    page = open_page(html_of(FAULT))
    press(page, "End")
    assert "The run ends here in line 23: FAULT: read of 8 bytes outside shared array s_xy" in caption(page)
    page = open_page(html_of(UNINITIALISED))
    press(page, "End")
    assert page.locator(".st-value", has_text="?").count() >= 1
    page = open_page(html_of(WRONG))
    page.get_by_role("button", name="Show the step: Odd value: s_xy[5], line 37").click()
    assert "s_xy[5] is odd: x3 + x5: x4 is missing." in caption(page)
    assert page.locator(".st-cell.is-odd").get_attribute("data-place") == "s_xy[5]"
    press(page, "End")
    assert value(page, "d_y[2]") == "1+1…2"
    page = open_page(html_of(DIVERGENT))
    assert page.locator(".st-finding").count() == len(traced(DIVERGENT)[0].races) > 0


def test_where_nothing_ran_there_is_nothing_to_step_through(open_page: Open) -> None:
    trace, source = traced(KOGGE_STONE)
    page = open_page(html_page(trace.model_copy(update={"launches": []}), source))
    press(page, "ArrowRight", "ArrowDown", "End", "p", "ArrowRight", "t", "Escape")
    assert "No kernel was launched." in caption(page)
    launches = [trace.launches[0].model_copy(update={"traced": False, "intervals": [], "before": [], "arrays": []})]
    page = open_page(html_page(trace.model_copy(update={"launches": launches, "block": 5}), source))
    press(page, "ArrowRight", "ArrowDown", "End")
    assert "Block 5 has not run" in caption(page)
    assert violations(page) == []


def test_costs_say_what_a_step_takes(open_page: Open) -> None:
    page = open_page(html_of("04_brent_kung"))
    press(page, "ArrowRight", "ArrowRight", "ArrowRight")
    rows = page.locator(".st-costs tbody tr").all_inner_texts()
    assert rows[0].split("\t") == ["31", "reads s_xy (2 times)", "0–7", "all 32", "3 replays: 4 words in one bank"]
    assert "72 replays by bank conflicts, 0 sectors" in page.locator(".st-costs").inner_text()
    assert "The whole block: 915 replays" in page.locator(".st-costs").inner_text()


def test_blocks_that_talk_have_a_column_each(open_page: Open) -> None:
    page = open_page(html_of("07_domino", 3000))
    press(page, "End")
    shown = page.locator(".st-blocks")
    assert shown.locator("th").all_inner_texts() == ["block 0 (this one)", "block 1", "block 2"]
    rows = shown.locator("tbody tr").all_inner_texts()
    written = next(at for at, row in enumerate(rows) if "writes 0…1023" in row)
    assert rows[written].startswith("w writes 0…1023")
    assert any("reads" in row and ": 0…1023" in row for row in rows[written:])
    assert violations(page) == []
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert fits(page)


def test_all_can_be_reached_by_tab(open_page: Open) -> None:
    page = open_page(html_of(RACE))
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("button:enabled, select, summary, input:checked, input[type=range], "
             + "[tabindex='0']")].filter(one => one.checkVisibility()).length"""
    )
    reached = set()
    for _ in range(wanted + 3):
        press(page, "Tab")
        reached.add(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    assert len(reached - {-1, page.evaluate("[...document.querySelectorAll('*')].indexOf(document.body)")}) >= wanted


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_many_places_scroll_in_a_region_of_their_own(open_page: Open, size: tuple[int, int]) -> None:
    page = open_page(html_of(KOGGE_STONE, 64), size)
    press(page, "ArrowRight", "ArrowRight", "ArrowRight")
    region = page.locator(".st-memory")
    assert region.evaluate("one => one.scrollWidth > one.clientWidth + 100")
    assert region.evaluate("one => one.tabIndex") == 0
    assert fits(page)
    while not region.evaluate("one => one === document.activeElement"):
        press(page, "Tab")
    before = step(page)
    press(page, "ArrowRight")
    for _ in range(100):
        if region.evaluate("one => one.scrollLeft"):
            break
        page.wait_for_timeout(20)
    else:
        pytest.fail("the arrow key does not scroll the arrays")
    assert step(page) == before  # the keys are the region's as long as it has the focus


def test_several_steppers_share_a_page(open_page: Open) -> None:
    """As handouts mount it: keys are heard inside alone, and what was mounted can be taken away."""
    page = open_page(html_of(KOGGE_STONE))
    page.evaluate(
        """() => {
             const { trace, source } = JSON.parse(document.getElementById("data").textContent);
             const element = document.createElement("div");
             element.id = "second";
             document.querySelector("main").append(element);
             window.second = scanlabStepper.mount(element, trace, source, { level: "warp", step: 2 });
           }"""
    )
    second = page.locator("#second")
    assert second.locator(".st-count").inner_text() == "2 / 33"
    press(page, "ArrowRight")
    assert second.locator(".st-count").inner_text() == "2 / 33"
    assert page.locator("#stepper .st-count").inner_text() == "1 / 21"
    page.evaluate("second.destroy()")
    assert second.inner_html() == ""


def test_hostile_text_is_shown_as_text(open_page: Open) -> None:
    trace, _ = traced(FAULT)
    hostile = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>"
    page = open_page(html_page(trace.model_copy(update={"printed": hostile, "notes": [hostile]}), f"/* {hostile} */\n"))
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.locator("img").count() == 0
    assert hostile in page.locator(".st-source").inner_text()
    assert hostile in page.locator(".st-details").last.inner_text()
