"""A file is written whole or not at all."""

import json
import os
import threading
from pathlib import Path

import pytest

from scanlab import files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_text_and_bytes_take_the_old_files_place(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("a long text that was there before")
    files.replace(path, "ä\n")
    assert path.read_bytes() == b"\xc3\xa4\n"
    files.replace(path, b"\xff\r\n")
    assert path.read_bytes() == b"\xff\r\n"
    assert names(tmp_path) == ["x"]


def test_until_it_is_written_readers_find_the_old_one_and_after_a_fault_too(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def write_half() -> None:
        with files.replacing(path) as file:
            file.write(b"half")
            file.flush()
            assert path.read_text() == "old"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x"]


def test_what_a_killed_process_leaves_is_found_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    child = os.fork()
    if child == 0:
        with files.replacing(path) as file:
            file.write(b"half")
            file.flush()
            os._exit(0)
    os.waitpid(child, 0)
    (left,) = names(tmp_path)
    assert left.startswith(".x.")
    assert left.endswith(files.UNFINISHED)
    files.remove_unfinished(tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("is_lasting", [True, False])
def test_only_a_lasting_file_is_brought_to_the_disk_and_before_it_is_there(
    is_lasting: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bytes, bool]] = []
    path = tmp_path / "x"

    def fsync(descriptor: int) -> None:
        synced.append((Path(f"/proc/self/fd/{descriptor}").read_bytes(), path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    files.replace(path, b"content", is_lasting=is_lasting)
    assert synced == ([(b"content", False)] if is_lasting else [])
    assert path.read_bytes() == b"content"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=files.replace, args=(pipe, "text"), daemon=True)
    writer.start()
    with pipe.open() as reader:
        assert reader.read() == "text"
    writer.join(10)
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_others_may_read_it_as_the_user_has_set_it(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.replace(tmp_path / "x", "")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_a_name_of_the_greatest_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("\N{GREEK SMALL LETTER ALPHA}" * 127)
    files.replace(path, "x")
    assert path.read_text() == "x"


@pytest.mark.parametrize("place", ["missing/x", "."])
def test_what_cannot_be_written_is_an_os_error(place: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No such file|Is a directory"):
        files.replace(tmp_path / place, "x")
    assert names(tmp_path) == []


def test_a_name_that_is_no_utf_8_can_be_written(tmp_path: Path) -> None:
    name = os.fsdecode(b"scan\xff.cu")
    files.replace(tmp_path / "x.json", json.dumps({"name": name}, ensure_ascii=False))
    assert json.loads((tmp_path / "x.json").read_text()) == {"name": name}
