"""The labs: their folders, names and `lab.toml`."""

import difflib
import re
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from scanlab import formulas
from scanlab.errors import KitError, UsageError
from scanlab.paths import LABS, SOLUTIONS, shown

FOLDER = re.compile(r"(\d\d)_([a-z][a-z0-9_]*)")
Device = Literal["vgpu", "gpu"]
Profile = Literal["small", "h200"]
Schedule = Literal["lockstep", "in_order", "reversed", "random"]
Counter = Literal[
    "thread_instructions",
    "warp_instructions",
    "additions",
    "warp_additions",
    "barriers",
    "shared_loads",
    "shared_stores",
    "bank_conflict_replays",
    "global_requests",
    "global_sectors",
    "global_bytes",
    "atomics",
    "fences",
    "launches",
    "threads",
    "warp_efficiency",
    "addition_efficiency",
    "chained_waits",
    "host_copies",
]
Operation = Literal["inclusive", "exclusive", "compact", "split"]
Text = Annotated[str, Field(min_length=1)]


class Table(BaseModel):
    """A table of lab.toml: a field that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Limits(Table):
    """What one check may use: processor time, warp instructions a launch, and bytes of output.

    By the clock it may take 4 times its seconds; on a GPU, by the clock alone, these.
    """

    seconds: float = Field(gt=0, le=3600)
    warp_instructions: int = Field(gt=0)
    output_bytes: int = Field(gt=0)


class CheckBase(Table):
    """What every check has.

    `profile` is the virtual GPU that runs it: a small one holds few blocks at a time, so that some have to wait for a
    place; a large one holds many that wait for each other. Without it the small one.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: Text
    entry: Text
    element: Literal["float", "affine"]
    points: int = Field(ge=0)
    needs: str | None = None
    profile: Profile | None = None
    explain: str = ""


class CorrectnessCheck(CheckBase):
    """The output of an entry against the oracle's, for each of `sizes` (elements) under each of `schedules`.

    A GPU is asked for `gpu_sizes` as well: what would take the virtual GPU too long.
    """

    kind: Literal["correctness"]
    operation: Operation
    sizes: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    gpu_sizes: list[Annotated[int, Field(ge=0)]] = []
    schedules: Annotated[list[Schedule], Field(min_length=1)]
    repeats: int = Field(default=1, ge=1)


class CountCheck(CheckBase):
    """A counter of the virtual GPU at one size, between two formulas in n and sections."""

    kind: Literal["count"]
    n: int = Field(ge=0)
    counter: Counter
    at_most: str | None = None
    at_least: str | None = None

    @model_validator(mode="after")
    def _formulas_have_values(self) -> Self:
        if self.at_most is None and self.at_least is None:
            raise ValueError("a count needs at_most or at_least")
        for field in ("at_most", "at_least"):
            formula = getattr(self, field)
            if formula is not None:
                try:
                    formulas.evaluate(formula, {"n": self.n, "sections": 1})
                except formulas.FormulaError as error:
                    raise ValueError(f"{field}: {error}") from error
        return self


class TimingCheck(CheckBase):
    """The time of an entry at one size on a real GPU, as a ratio to the reference solution's.

    All points up to the ratio `full`, none above `none`, in proportion between. The judge begins rounds for `seconds`.
    """

    kind: Literal["timing"]
    element: Literal["float"]
    n: int = Field(ge=1, le=1 << 30)
    full: float = Field(ge=1, le=1000)
    none: float = Field(le=1_000_000)
    seconds: float = Field(default=60, gt=0, le=600)

    @model_validator(mode="after")
    def _limits_rise(self) -> Self:
        if self.none <= self.full:
            raise ValueError("none: a ratio above full is needed, for no points")
        return self


Check = Annotated[CorrectnessCheck | CountCheck | TimingCheck, Field(discriminator="kind")]


class Hint(Table):
    """One tier of help; the first asks, the last shows the shape of the code."""

    text: Text


class Rubric(Table):
    """The whole of a lab.toml; without `section` (or with 0) the whole array is one scan.

    `builds_on` names the lab whose solution this one's is one idea away from; without it that is the lab before.
    `new_lines` says how many lines it may have which that one has not; without it, as many as verify.py allows.
    `forbidden_headers` are patterns for CUDA's headers that do what the lab asks for: a file that uses one fails.
    """

    title: Text
    summary: Text
    handout: Text
    section: int = Field(default=0, ge=0)
    block_size: int | None = Field(default=None, ge=1, le=1024)  # None: a thread an element
    builds_on: Text | None = None
    new_lines: int | None = Field(default=None, ge=1)
    entries: Annotated[list[Text], Field(min_length=1)]
    forbidden_headers: list[Text] = ["cub/*", "thrust/*"]
    limits: Limits
    check: Annotated[list[Check], Field(min_length=1)]
    hint: list[Hint] = []

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        kinds: dict[str, str] = {}
        for check in self.check:
            if check.name in kinds:
                raise ValueError(f"two checks are named {check.name!r}")
            if check.entry not in self.entries:
                raise ValueError(f"check {check.name!r}: entry {check.entry!r} is not one of entries")
            if check.needs is not None and check.needs not in kinds:
                raise ValueError(f"check {check.name!r} needs {check.needs!r}, which is no check before it")
            if check.kind == "timing" and kinds.get(check.needs or "") == "count":
                raise ValueError(f"check {check.name!r} needs {check.needs!r}, which no GPU counts")
            kinds[check.name] = check.kind
        return self

    def max_points(self, kinds: Collection[str] = ("correctness", "count")) -> int:
        """Return the points of all checks of these kinds: those that need no GPU, unless others are named."""
        return sum(check.points for check in self.check if check.kind in kinds)


class Lab:
    """A lab's folder; its rubric is read when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rubric: Rubric | None = None

    @property
    def name(self) -> str:
        """Return the folder's name, `02_kogge_stone`."""
        return self.folder.name

    @property
    def number(self) -> str:
        """Return the two digits, which are also the order of the labs."""
        return self.name[:2]

    @property
    def source(self) -> Path:
        """Return the path of the file that a learner edits."""
        return self.folder / "scan.cu"

    @property
    def solution(self) -> Path:
        """Return the path of the reference solution, which a learner's copy of the kit may lack."""
        return SOLUTIONS / self.name / "scan.cu"

    def max_points(self, device: Device) -> int:
        """Return the points to be won on this device: work is counted on the one, time is measured on the other."""
        if device == "vgpu":
            return self.rubric.max_points(("correctness", "count"))
        return self.rubric.max_points(("correctness", "timing") if self.solution.exists() else ("correctness",))

    def not_run_points(self, device: Device) -> int:
        """Return the points of the checks that are not run on this device."""
        return self.rubric.max_points(("correctness", "count", "timing")) - self.max_points(device)

    @property
    def rubric(self) -> Rubric:
        """Return the rubric. Raises KitError, with the line or field, when lab.toml is broken."""
        if self._rubric is None:
            self._rubric = read_rubric(self.folder / "lab.toml")
        return self._rubric

    def with_rubric(self, rubric: Rubric) -> "Lab":
        """Return the same lab with another rubric, such as a course's."""
        made = Lab(self.folder)
        made._rubric = rubric
        return made


def read_rubric(path: Path) -> Rubric:
    """Read a lab.toml.

    Raises KitError naming file, line and field for everything that is wrong with it.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise KitError(f"{shown(path)}: not UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise KitError(f"{shown(path)}: cannot read it: {error.strerror}") from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = re.search(r"\(at line (\d+), column \d+\)", message)
        place = f":{at.group(1)}" if at else ""
        raise KitError(f"{shown(path)}{place}: not TOML: {message}") from error
    try:
        return Rubric.model_validate(data)
    except ValidationError as error:
        lines = []
        for problem in error.errors():
            location = [part for part in problem["loc"] if part not in ("correctness", "count", "timing")]
            message = problem["msg"].removeprefix("Value error, ")
            line = _line_of(text, location)
            lines.append(f"{shown(path)}{f':{line}' if line else ''}: {_field(location)}{message}")
        raise KitError("\n".join(lines)) from error


def _field(location: list[str | int]) -> str:
    name = ""
    for part in location:
        name += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if name else part
    return f"{name}: " if name else ""


def _line_of(text: str, location: list[str | int]) -> int | None:
    """Return the line (from 1) of the key or table that `location` names, as far as it can be found."""
    lines = text.splitlines()
    at, end, found = 0, len(lines), None
    if len(location) > 1 and isinstance(location[1], int):
        headers = [i for i, line in enumerate(lines) if line.strip() == f"[[{location[0]}]]"]
        if location[1] < len(headers):
            at = found = headers[location[1]]
            end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("[")), len(lines))
        key = location[2] if len(location) > 2 else None
    elif len(location) > 1:
        header = next((i for i, line in enumerate(lines) if line.strip() == f"[{location[0]}]"), None)
        at = found = header if header is not None else 0
        key = location[1]
    else:
        key = location[0] if location else None
    if key is not None:
        found = next((i for i in range(at, end) if re.match(rf"\s*{re.escape(str(key))}\s*=", lines[i])), found)
    return None if found is None else found + 1


def all_labs() -> list[Lab]:
    """Return the kit's labs in the order of their numbers."""
    folders = (
        [path for path in LABS.iterdir() if FOLDER.fullmatch(path.name) and path.is_dir()] if LABS.is_dir() else []
    )
    if not folders:
        raise KitError(f"no labs under {shown(LABS)}")
    return [Lab(folder) for folder in sorted(folders)]


def base_of(lab: Lab, ladder: Sequence[Lab]) -> Lab | None:
    """Return the lab of `ladder`, which stands in its order, that `lab` builds on; None for the first.

    Raises KitError when the rubric's `builds_on` is no lab before it.
    """
    earlier = {other.name: other for other in ladder if other.name < lab.name}
    wanted = lab.rubric.builds_on
    if wanted is None:
        return next(reversed(earlier.values()), None)
    if wanted in earlier:
        return earlier[wanted]
    if wanted == lab.name:
        fault = "is the lab itself"
    elif any(other.name == wanted for other in ladder):
        fault = f"comes after {lab.name}"
    else:
        fault = "is the name of no lab"
    before = f"; before it there are {', '.join(earlier)}" if earlier else "; there is none before it"
    raise KitError(f"{shown(lab.folder / 'lab.toml')}: builds_on: {wanted!r} {fault}{before}")


def find_lab(wanted: str) -> Lab:
    """Return the lab called `02`, `2`, `kogge_stone`, `02_kogge_stone`, or by a path in its folder.

    Raises UsageError, with the nearest name, when there is none.
    """
    labs = all_labs()
    name = wanted.strip()
    if "/" in name or name in (".", ".."):
        try:
            parts = Path(name).resolve().parts
        except (OSError, ValueError):  # no path at all: a null character, a name too long
            parts = ()
        name = next((part for part in reversed(parts) if FOLDER.fullmatch(part)), name)
    name = name.lower().replace("-", "_")
    for lab in labs:
        slug = lab.name[3:]
        if name in (lab.name, slug) or (name.isdecimal() and name.isascii() and int(name) == int(lab.number)):
            return lab
    spellings = {spelling: lab for lab in labs for spelling in (lab.name, lab.name[3:], lab.number)}
    near = difflib.get_close_matches(name, spellings, n=1, cutoff=0.5)
    suggestion = (
        f"did you mean {spellings[near[0]].name}?" if near else f"there are {', '.join(lab.name for lab in labs)}"
    )
    raise UsageError(f"no lab is called {wanted!r}; {suggestion}")
