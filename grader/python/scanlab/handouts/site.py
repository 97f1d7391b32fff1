"""Build the handouts with Sphinx into a folder of pages that need no network."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from scanlab.errors import KitError, UsageError
from scanlab.on_demand import HANDOUTS, provide
from scanlab.paths import ROOT, STATE, shown
from scanlab.process import run_group

SOURCE = ROOT / "handouts"
DEFAULT = STATE / "handouts"
MARK = ".scanlab-site"
"""The file in a site that names what else at the top of the folder belongs to it, one a line."""
SECONDS = 300


def build(out: Path = DEFAULT, source: Path = SOURCE) -> Path:
    """Build the handouts in `source` into the folder `out`, and return the path of its index page.

    `out` is new, empty or holds an earlier site, which the new one replaces once all of it has been built. What else
    lies there, such as the `.git` of a folder that is published, stays.

    Raises UsageError when `out` cannot be used, KitError with Sphinx's words when it has any warning.
    """
    out = out.absolute()
    _refuse(out)
    provide(HANDOUTS, "handouts")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
            fresh = Path(scratch, "site")
            _run_sphinx(source, fresh, Path(scratch, "doctrees"))
            _replace(out, fresh)
    except OSError as error:
        raise UsageError(f"cannot write {shown(out)}: {error.strerror or error}") from error
    return out / "index.html"


def _refuse(out: Path) -> None:
    """Raise UsageError when building into `out` would destroy something else, or feed the site to itself."""
    if out.resolve().is_relative_to(SOURCE.resolve()):
        raise UsageError(f"{shown(out)} lies in {shown(SOURCE)}, which holds the texts; name another folder")
    try:
        if not out.exists() or (out / MARK).is_file() or (out.is_dir() and not any(out.iterdir())):
            return
    except OSError as error:
        raise UsageError(f"{shown(out)}: cannot read it: {error.strerror}") from error
    kind = "a folder with other files in it" if out.is_dir() else "a file"
    raise UsageError(f"{shown(out)} is {kind}; name a new folder, or one that holds an earlier site")


def _replace(out: Path, fresh: Path) -> None:
    """Move the pages of `fresh` into `out`, in place of the site that is there."""
    out.mkdir(exist_ok=True)
    mark = out / MARK
    earlier = set(mark.read_text().splitlines()) if mark.is_file() else set()
    names = sorted(path.name for path in fresh.iterdir())
    for name in names:
        if name not in earlier and (out / name).exists():
            raise UsageError(f"{shown(out / name)} is in the way, and no part of the site; move it elsewhere")
    for path in list(out.iterdir()):
        if path.name in earlier and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name in earlier:
            path.unlink()
    mark.write_text("\n".join(names) + "\n")
    for name in names:
        shutil.move(fresh / name, out / name)


def _run_sphinx(source: Path, out: Path, doctrees: Path) -> None:
    # A reference that leads nowhere, a marker that a solution no longer has: each is a warning, and none is let pass.
    options = ["-b", "html", "-q", "-n", "-W", "--keep-going", "--no-color", "-d", str(doctrees)]
    try:
        done = run_group([sys.executable, "-m", "sphinx", *options, str(source), str(out)], SECONDS, cwd=ROOT)
    except OSError as error:
        raise KitError(f"Sphinx cannot be started: {error.strerror}") from error
    if done.code is None:
        raise KitError(f"the handouts were not built within {SECONDS} s")
    if done.code != 0:
        said = done.output.strip().replace(f"{source}{os.sep}", f"{source.name}{os.sep}")
        raise KitError(f"the handouts cannot be built:\n{said}")
