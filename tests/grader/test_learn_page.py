"""The page of `learn --browser` without a browser: who is answered and how, what is sent, and that it ends."""

import http.client
import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from learning import LADDER, PATIENCE, Learning, Shown, does_not_compile, passed, result, wrong
from scanlab.labs.skeleton import pristine
from scanlab.learn.server import SCRIPT, Server
from scanlab.paths import shown


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Shown]:
    made = Shown(tmp_path)
    yield made
    made.server.close()


@pytest.fixture
def learning(fake_build: Path, tmp_path: Path) -> Iterator[Callable[..., Learning]]:
    begun: list[Learning] = []

    def begin(text: str, **changes: str) -> Learning:
        begun.append(Learning(fake_build, tmp_path, text, **changes))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Ask for a path below the token, or with a leading slash for any."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request(
        method,
        path if path.startswith("/") else f"/{server.token}/{path}",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def own(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


class Events:
    """A page's events, read from the socket."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        self._socket.sendall(f"GET /{token}/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        self._lines = self._socket.makefile("rb")
        while self._lines.readline().strip():
            pass

    def next(self) -> tuple[str, str]:
        """Return the next event's name and data."""
        name = data = ""
        while line := self._lines.readline().decode().rstrip("\n"):
            key, _, value = line.partition(":")
            name, data = (value.strip(), data) if key == "event" else (name, value.strip())
        return name, data

    def until(self, wanted: Callable[[dict], bool]) -> dict:
        """Return the first snapshot that is as wanted."""
        while True:
            name, data = self.next()
            assert (name, data) != ("", ""), "the server has ended"
            if not name and wanted(found := json.loads(data)):
                return found

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


@pytest.mark.parametrize(
    "path", ["/", "//", "/learn_page.js", "/events", "/wrong/", "/wrong/events", "/%00/", "/%e4/", "/../", "/steps/1"]
)
def test_without_the_token_nothing_is_there(page: Shown, path: str) -> None:
    for method in ("GET", "POST", "PUT"):
        status, _, content = ask(page.server, path, method, Origin=own(page.server))
        assert (status, content) == (404, b"404\n")
    assert ask(page.server, f"/{page.server.token}")[0] == 404
    assert ask(page.server, f"/{page.server.token[:-1]}/")[0] == 404


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "localhost", "127.0.0.1:1", "[::1]", "0.0.0.0", ""])
def test_another_host_is_refused(page: Shown, host: str) -> None:
    assert ask(page.server, "", Host=host)[0] == 403
    assert ask(page.server, "hint", "POST", Host=host, Origin=f"http://{host}")[0] == 403


def test_two_names_of_this_machine_are_known(page: Shown) -> None:
    for name in ("127.0.0.1", "localhost"):
        assert ask(page.server, "", Host=f"{name}:{page.server.port}")[0] == 200
    with pytest.raises(OSError, match="refused"):  # it listens on no other address
        socket.create_connection(("127.0.0.2", page.server.port), timeout=2)


def test_only_what_the_page_presses_is_taken(page: Shown) -> None:
    server, origin = page.server, own(page.server)
    for method in ("HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert ask(server, "", method, Origin=origin)[0] == 405
        assert ask(server, "hint", method, Origin=origin)[0] == 405
    assert ask(server, "hint")[0] == 405
    assert ask(server, "", "POST", Origin=origin)[0] == 404
    assert ask(server, "reset", "POST", Origin=origin)[0] == 404
    for others in ("http://example.org", "null", f"http://localhost:{server.port}", "", f"{origin}/"):
        assert ask(server, "hint", "POST", Origin=others)[0] == 403
    assert ask(server, "hint", "POST")[0] == 403
    assert ask(server, "hint", "POST", Origin=origin, Sec_Fetch_Site="cross-site")[0] == 403
    assert server.pressed.empty()
    assert ask(server, "hint", "POST", Origin=origin, Sec_Fetch_Site="same-origin")[0] == 204
    assert ask(server, "next", "POST", Origin=origin)[0] == 204
    assert [server.pressed.get(), server.pressed.get()] == ["hint", "next"]


@pytest.mark.parametrize("path", ["", "learn_page.js", "learn_page.css", "stepper.css", "nothing"])
def test_each_answer_has_the_headers(page: Shown, path: str) -> None:
    status, headers, content = ask(page.server, path)
    assert status == (404 if path == "nothing" else 200)
    assert content
    policy = headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"):
        assert part in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert "Python" not in headers["Server"]


def test_the_page_itself_asks_for_nothing_from_elsewhere(page: Shown) -> None:
    for path in ("", "learn_page.js", "learn_page.css"):
        text = ask(page.server, path)[2].decode()
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.search(r"\son\w+=|<script>|style=", ask(page.server, "")[2].decode())


def test_handouts_come_without_scripts_and_nothing_else_does(page: Shown) -> None:
    (page.file.parent / "secret.html").write_text("secret")
    (page.server.site / "link.html").symlink_to(page.file.parent / "secret.html")
    (page.server.site / "code.js").write_text("alert(1)")
    status, headers, content = ask(page.server, "handouts/02_kogge_stone.html")
    assert status == 200
    assert b"The handout" in content
    assert b"<script" not in content
    assert "script-src" not in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for name in ("../secret.html", "%2e%2e/secret.html", "..%2fsecret.html", "link.html", "code.js", "", "%00.html"):
        assert ask(page.server, f"handouts/{name}")[0] == 404
    assert ask(page.server, f"handouts/{page.file.parent}/secret.html")[0] == 404


def test_a_script_ends_where_a_browser_ends_it() -> None:
    assert SCRIPT.sub(b"", b"a<script src=x>1</script>b<SCRIPT>\n2</Script >c") == b"abc"
    assert SCRIPT.sub(b"", b'a<script>text = "<script>"; 1</script>b<script>2') == b"ab"


def test_events_begin_with_all_and_end_with_the_loop(page: Shown) -> None:
    page.show()
    server = page.server
    first, second = (Events("127.0.0.1", server.port, server.token) for _ in range(2))
    assert json.loads(first.next()[1])["state"] == json.loads(second.next()[1])["state"] == "begin"
    page.show(is_whole=False)
    assert json.loads(first.next()[1])["state"] == json.loads(second.next()[1])["state"] == "checking"
    later = Events("127.0.0.1", server.port, server.token)
    assert json.loads(later.next()[1])["state"] == "checking"
    later.close()
    server.close()
    assert first.next() == second.next() == ("over", "")
    assert first.next() == ("", "")
    first.close()
    second.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", server.port), timeout=2)


def test_steps_of_an_earlier_version_are_gone(page: Shown) -> None:
    assert ask(page.server, "steps/0")[0] == 404
    page.server.publish_steps(1, b"[1]")
    assert ask(page.server, "steps/1")[2] == b"[1]"
    page.server.publish_steps(2, b"[2]")
    assert ask(page.server, "steps/1")[0] == 404


def test_what_a_snapshot_says_of_a_failure(page: Shown) -> None:
    data = page.show(result=wrong(shown(page.file)))
    first = data["result"]["failures"][0]
    assert (first["kind"], first["headline"]) == ("wrong result", "y[6] = 6, expected 7")
    assert first["outputs"]["head"] == ["i", "x", "y", "expected", "y sums up", "expected sum"]
    assert [mark["line"] for mark in first["marks"]] == [23]
    assert data["state"] == "checked"
    first = page.show(result=does_not_compile(shown(page.file)))["result"]["failures"][0]
    assert (first["kind"], first["headline"]) == ("compile error", "a semicolon is missing")
    assert first["facts"] == ["3 | int oops", "  |     ^"]
    assert first["words"] == [f'{page.file}(3): error: expected a ";"']
    first, *others = page.show(result=result())["result"]["failures"]
    assert first["kind"] == "race"
    assert first["headline"].startswith("shared s_xy[31]")
    assert others[-1]["headline"].startswith("barriers = ")
    data = page.show(result=passed())
    assert data["result"]["proved"] == [
        {"sentence": "proved for n = 7: right for every input", "checks": ["inclusive scan of each section, floats"]}
    ]
    assert data["next"]["number"] == "03"
    assert data["difference"]


@pytest.mark.parametrize("lab", LADDER, ids=lambda lab: lab.name)
def test_each_lab_has_a_snapshot(page: Shown, lab) -> None:
    page.text = pristine(lab)[0]
    data = page.show(lab=lab, hints=1)
    assert data["state"] == "begin"
    assert [rung["number"] for rung in data["labs"] if rung["is_here"]] == [lab.number]
    assert len(data["hints"]["texts"]) == 1 < data["hints"]["total"]


def test_the_loop_is_followed_and_leads(learning: Callable[..., Learning], tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    loop = learning("// FAILS\n", BROWSER=str(browser))
    place = urlsplit(loop.address)
    assert place.hostname == "127.0.0.1"
    assert place.port
    events = Events(place.hostname, place.port, place.path.strip("/"))
    seen = events.until(lambda data: data["state"] == "checked" and not data["steps"]["is_made"])
    assert seen["result"]["failures"][0]["headline"] == "y[1024] = 0, expected 523776"
    assert seen["steps"]["why"].startswith("No steps can be shown: ")
    assert len(seen["steps"]["why"].splitlines()) == 1
    headers = {"Origin": f"http://{place.netloc}"}
    for number in (1, 2):
        connection = http.client.HTTPConnection(place.netloc, timeout=PATIENCE)
        connection.request("POST", f"{place.path}hint", headers=headers)
        assert connection.getresponse().status == 204
        connection.close()
        seen = events.until(lambda data, number=number: len(data["hints"]["texts"]) == number)
        loop.until(f"hint {number}, h again")
    loop.file.write_text("// PASSES\n")
    events.until(lambda data: data["state"] == "checking" and data["source"] == "// PASSES\n")
    seen = events.until(lambda data: data["state"] == "checked")
    assert seen["result"]["verdict"] == "pass"
    loop.until("PASS 02_kogge_stone")
    loop.file.unlink()
    assert "reset 02" in events.until(lambda data: data["state"] == "gone")["trouble"]
    end = time.monotonic() + PATIENCE
    while not opened.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    assert opened.read_text().strip() == loop.address
    assert loop.quit() == 0
    assert events.next()[0] in ("over", "")
    events.close()


@pytest.mark.parametrize("end", [Learning.quit, Learning.interrupt])
def test_nothing_is_left_when_the_loop_ends(
    learning: Callable[..., Learning], tmp_path: Path, end: Callable[[Learning], int]
) -> None:
    running = tmp_path / "pid"
    loop = learning("// HANGS\n", SCANLAB_TEST_PID=str(running))
    place = urlsplit(loop.address)
    events = Events(place.hostname or "", place.port or 0, place.path.strip("/"))
    deadline = time.monotonic() + PATIENCE
    while not (running.exists() and running.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    began = time.monotonic()
    assert end(loop) in (0, 130)
    assert time.monotonic() - began < 10
    names = []
    while (name := events.next()) != ("", ""):
        names.append(name[0])
    assert names[-1] == "over"
    events.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", place.port or 0), timeout=2)
    state = Path(f"/proc/{int(running.read_text())}/stat")
    while state.exists() and "Z" not in state.read_text().split(")")[1][:3]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
