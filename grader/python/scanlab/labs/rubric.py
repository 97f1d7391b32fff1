"""What a rubric says: the checks of a lab, their points and limits, and its hints."""

from collections.abc import Collection, Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from scanlab.contract import LARGEST_TRACED, Counter, Element, Operation, Profile, Schedule
from scanlab.labs import formulas

Text = Annotated[str, Field(min_length=1)]


class Table(BaseModel):
    """A table of lab.toml: a field that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Limits(Table):
    """What one check may use: processor time, warp instructions per launch, and bytes of output.

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
    element: Element
    points: int = Field(ge=0)
    needs: str | None = None
    profile: Profile | None = None
    explain: str = ""

    @property
    def explanation(self) -> str:
        """Return all that is shown when it fails."""
        return self.explain

    @property
    def needed(self) -> tuple[str, ...]:
        """Return the checks that have to pass before this one is run."""
        return (self.needs,) if self.needs is not None else ()


class CorrectnessCheck(CheckBase):
    """The output of an entry against the oracle's, for each of `sizes` (elements) under each of `schedules`.

    A GPU is asked for `gpu_sizes` as well: what would take the virtual GPU too long. Where blocks talk to each other,
    those up to `weak_up_to` are run under the schedule `weak` as well, under which many strong accesses take long.
    There are `repeats` calls of each, on other data; of sizes beyond `plan.REPEATED_UP_TO` one under each schedule.
    There is one call more, in a fast order, of a size in each of the ranges `beyond` that lie behind these, and of
    `tails` sizes of about 1500: the seed decides which.
    """

    kind: Literal["correctness"]
    operation: Operation
    sizes: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    gpu_sizes: list[Annotated[int, Field(ge=0)]] = []
    schedules: Annotated[list[Schedule], Field(min_length=1)]
    weak_up_to: int = Field(default=0, ge=0)
    repeats: int = Field(default=1, ge=1)
    beyond: list[Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]] = []
    tails: int = Field(default=0, ge=0)


class CountCause(Table):
    """Why a count may miss its limits: the one that is shown when it lies between these two formulas, and no other."""

    at_least: Text
    at_most: Text
    says: Text

    def fits(self, value: float, names: Mapping[str, float]) -> bool:
        """Return whether `value` is a count that has this cause."""
        return (
            formulas.evaluate(self.at_least, names) - SLACK <= value <= formulas.evaluate(self.at_most, names) + SLACK
        )


SLACK = 1e-9
"""Formulas are not exact to the last bit."""


class CountCheck(CheckBase):
    """A counter of the virtual GPU, between two formulas in n, section and sections (elements, elements, how many).

    `n` is a size or the ends of a range: the plan takes calls of the correctness check that this one rests on
    (`Rubric.counted_among`), at sizes in it and at places that the seed decides. In each the limits have to be kept.
    Of each `cause` the limits are formulas too; the first that fits is shown in the place of all.
    """

    kind: Literal["count"]
    n: Annotated[int, Field(ge=0)] | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
    counter: Counter
    at_most: str | None = None
    at_least: str | None = None
    cause: list[CountCause] = []

    @model_validator(mode="after")
    def _formulas_have_values(self) -> Self:
        if self.at_most is None and self.at_least is None:
            raise ValueError("a count needs at_most or at_least")
        if self.range[0] > self.range[1]:
            raise ValueError("n: the first end of the range is beyond the second")
        written = [(field, getattr(self, field)) for field in ("at_most", "at_least")]
        written += [(f"cause: {field}", getattr(one, field)) for one in self.cause for field in ("at_most", "at_least")]
        for field, formula in written:
            for n in self.range if formula is not None else ():
                try:
                    formulas.evaluate(formula, formulas.names_at(n, 0))
                except formulas.FormulaError as error:
                    raise ValueError(f"{field}: {error}") from error
        return self

    @property
    def explanation(self) -> str:
        """Return what is counted, and all causes of a count that misses its limits."""
        return " ".join([self.explain.strip(), *(one.says.strip() for one in self.cause)]).strip()

    def cause_of(self, value: float, n: int, section: int) -> CountCause | None:
        """Return the cause that a count has at `n` elements; None where none is known."""
        names = formulas.names_at(n, section)
        return next((one for one in self.cause if one.fits(value, names)), None)

    @property
    def range(self) -> tuple[int, int]:
        """Return the least and the most elements that it counts at."""
        return (self.n, self.n) if isinstance(self.n, int) else (self.n[0], self.n[1])


SHARES = ("warp_efficiency", "addition_efficiency", "useful_efficiency")
"""Counters that go from 0 to 1."""


def limits(check: CountCheck, section: int, n: int) -> tuple[float | None, float | None]:
    """Return the limits of a count for n elements in sections of `section`; None: no limit.

    Raises FormulaError where a formula has no value there.
    """
    names = formulas.names_at(n, section)
    low, high = (
        None if formula is None else formulas.evaluate(formula, names) for formula in (check.at_least, check.at_most)
    )
    return low, high


def _impossible(check: CountCheck, section: int, n: int) -> str:
    """Return why no program can keep to a count's limits for n elements; empty where one may."""
    try:
        low, high = limits(check, section, n)
    except formulas.FormulaError as error:
        return str(error)
    if high is not None and high < 0:
        return f"at_most is {high:g} at n = {n}, and nothing is counted below 0"
    if low is not None and check.counter in SHARES and low > 1:
        return f"at_least is {low:g} at n = {n}, and {check.counter} is at most 1"
    if low is not None and high is not None and low > high:
        return f"at_least is {low:g} and at_most {high:g} at n = {n}, so nothing is between them"
    return ""


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


class Traced(Table):
    """The call that a trace shows where it is not asked for another: its elements, the block, and the order of all."""

    n: int = Field(default=16, ge=0, le=LARGEST_TRACED)
    block: int = Field(default=0, ge=0)
    schedule: Schedule = "lockstep"


LIBRARIES = ("cub/*", "thrust/*", "cuda/experimental/*")
"""Libraries that are forbidden as a whole: a file that includes one of their headers fails."""
ONLY_CODE = (
    "cooperative_groups/details/*scan.h",
    "cuda/std/*scan.h",
    "cuda/std/*partial_sum.h",
    "__numeric/*scan.h",
    "__numeric/partial_sum.h",
)
"""Headers that harmless ones include: a file fails when their code is in what was compiled."""


class Rubric(Table):
    """The whole of a lab.toml; without `section` (or with 0) the whole array is one scan.

    `builds_on` names the lab whose solution this one's is one idea away from; without it that is the lab before.
    `new_lines` says how many lines it may have which that one has not; without it, as many as verify.py allows.
    `forbidden_headers` are patterns for CUDA's headers that do what the lab asks for: a file that uses one fails.
    Without it, those are all scans that the toolkit has.
    """

    title: Text
    summary: Text
    section: int = Field(default=0, ge=0)
    block_size: int | None = Field(default=None, ge=1, le=1024)  # None: a thread an element
    builds_on: Text | None = None
    new_lines: int | None = Field(default=None, ge=1)
    entries: Annotated[list[Text], Field(min_length=1)]
    forbidden_headers: list[Text] = [*LIBRARIES, *ONLY_CODE]
    limits: Limits
    trace: Traced = Traced()
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
            for n in check.range if check.kind == "count" else ():
                if said := _impossible(check, self.section, n):
                    raise ValueError(f"check {check.name!r}: {said}")
            if check.kind == "timing" and kinds.get(check.needs or "") == "count":
                raise ValueError(f"check {check.name!r} needs {check.needs!r}, which no GPU counts")
            kinds[check.name] = check.kind
        return self

    def counted_among(self, check: CountCheck) -> CorrectnessCheck | None:
        """Return the correctness check among whose calls `check` counts: of the same entry, element and profile.

        That is the one whose sizes reach as far and not much further; where none does, the one that it needs, through
        others maybe, else the first. None where there is none at all.
        """
        same = [
            one
            for one in self.check
            if isinstance(one, CorrectnessCheck)
            and (one.entry, one.element, one.profile) == (check.entry, check.element, check.profile)
        ]
        if reaching := [one for one in same if max(one.sizes) >= check.range[1]]:
            return min(reaching, key=lambda one: max(one.sizes))
        checks, name = {one.name: one for one in self.check}, check.needs
        while name in checks:
            if checks[name] in same:
                return checks[name]
            name = checks[name].needs
        return same[0] if same else None

    def max_points(self, kinds: Collection[str] = ("correctness", "count")) -> int:
        """Return the points of all checks of these kinds: those that need no GPU, unless others are named."""
        return sum(check.points for check in self.check if check.kind in kinds)
