"""The places where platforms put a submission and look for its result. Each is a function of settings and environment.

A result is written whole or not at all, and only when there is one: the kit's own fault leaves no score behind.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scanlab.classroom.records import Student
from scanlab.errors import UsageError
from scanlab.gradebooks import github
from scanlab.gradebooks.hand_in import HandIn, Settings, grade
from scanlab.gradebooks.output import make_folder, write
from scanlab.gradebooks.systems import autolab, classroom50, gradescope, prairielearn
from scanlab.gradebooks.text import one_line
from scanlab.paths import shown

MOST_METADATA = 16 << 20


def in_gradescope(settings: Settings, _: Path | None) -> None:
    """Grade /autograder/submission and write /autograder/results/results.json."""
    root = Path(os.environ.get("SCANLAB_AUTOGRADER", "/autograder"))
    data = _json(root / "submission_metadata.json")
    users = [user for user in data.get("users") or [] if isinstance(user, dict)]
    earlier = data.get("previous_submissions")
    hand_in = HandIn(
        root / "submission",
        origin=f"submission {data['id']}" if "id" in data else "submission",
        students=[student for user in users if (student := student_of(user))],
        submitted_at=_time(data.get("created_at")),
        attempt=len(earlier) + 1 if isinstance(earlier, list) else None,
        metadata={"gradescope_submission": str(data["id"])} if "id" in data else {},
    )
    text = gradescope.one(*grade(settings, hand_in))
    make_folder(root / "results")
    write(root / "results/results.json", text.encode())


def student_of(user: Mapping[str, Any]) -> Student | None:
    """Return one of Gradescope's users with all that identifies them; None where nothing does."""
    email, sid, own = (one_line(str(user.get(key) or "")) for key in ("email", "sid", "id"))
    name = one_line(str(user.get("name") or email))
    if not (email or sid or own):
        return None
    return Student(
        id=email or sid or own, name=name or sid or own, email=email, identifiers=tuple(filter(None, (sid, own)))
    )


def in_autolab(settings: Settings, folder: Path | None) -> None:
    """Grade the file in the working folder, and print the score as the last line of stdout."""
    sys.stdout.write(autolab.one(*grade(settings, HandIn(folder or Path()))))
    sys.stdout.flush()


def in_prairielearn(settings: Settings, _: Path | None) -> None:
    """Grade /grade/student and write /grade/results/results.json."""
    root = Path(os.environ.get("SCANLAB_GRADE", "/grade"))
    data = _json(root / "data/data.json")
    seed = data.get("variant_seed")
    hand_in = HandIn(root / "student", metadata={} if seed is None else {"prairielearn_variant_seed": str(seed)})
    text = prairielearn.one(*grade(settings, hand_in))
    make_folder(root / "results")
    write(root / "results/results.json", text.encode())


def in_classroom50(settings: Settings, folder: Path | None) -> None:
    """Grade the checkout in the working folder and write ./result.json; the runner stamps who and when."""
    checkout = folder or Path()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    record, options = grade(settings, HandIn(checkout, submitted_at=now))
    write(checkout / "result.json", classroom50.one(record, options).encode())


def in_github(settings: Settings, folder: Path | None) -> None:
    """Grade the checkout in the working folder, and put the result into $GITHUB_OUTPUT, or stdout without it."""
    line = github.step_output(*grade(settings, HandIn(folder or Path())))
    target = os.environ.get("GITHUB_OUTPUT")
    if not target:
        sys.stdout.write(line)
        return
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        raise UsageError(f"cannot write {shown(Path(target))}: {error.strerror}") from error


def _json(path: Path) -> dict[str, Any]:
    """Return what a platform says about a submission; nothing where it says nothing: no score depends on it."""
    try:
        if path.stat().st_size <= MOST_METADATA:
            data = json.loads(path.read_bytes())
            if isinstance(data, dict):
                return data
        why = "not a JSON object"
    except OSError as error:
        why = error.strerror or str(error)
    except (ValueError, RecursionError):
        why = "not JSON"
    print(f"scanlab: note: {path}: {why}; graded without it", file=sys.stderr)
    return {}


def _time(text: Any) -> str | None:
    try:
        return datetime.fromisoformat(text).isoformat()
    except (TypeError, ValueError):
        return None


PLATFORMS: dict[str, Callable[[Settings, Path | None], None]] = {
    "gradescope": in_gradescope,
    "autolab": in_autolab,
    "prairielearn": in_prairielearn,
    "classroom50": in_classroom50,
    "github-classroom": in_github,
}
