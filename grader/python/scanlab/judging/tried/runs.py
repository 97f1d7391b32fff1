"""The failing call of a check, made again by another program."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scanlab.errors import KitError, WorkError
from scanlab.judging.plan import Plan, PlannedCheck, PlannedCorrectness, PlannedCount
from scanlab.judging.result import CheckResult
from scanlab.judging.tried.graded import MANY, Graded
from scanlab.judging.tried.versions import can_be_joined, device_codes, with_one_entry
from scanlab.scratch import scratch

INSTRUCTIONS = 2_000_000
"""That a warp executes in a launch of what is tried: what does not end is given up soon, and after …"""
TRY_SECONDS = 2.0
"""… so much processor time."""

IN_ORDER = "schedule in_order"
"""How the headline of a call ends whose blocks and warps run one after the other."""
SAME_DATA = "the same data is right under "
"""How the fact begins that other schedules have shown nothing."""
MORE_SEEDS = 6
"""With which a program that fails under some schedules only is looked at again."""


@dataclass(frozen=True)
class Call:
    """A call that has failed, at which programs are tried: at its size and at the small ones of its check."""

    case: PlannedCorrectness
    every: PlannedCorrectness
    """The check with all of its sizes …"""
    counts: tuple[PlannedCount, ...]
    """… and those of the work that is done then."""
    graded: Graded
    plan: Plan
    """With the program that makes the call, and with limits of what is tried."""
    others: tuple[PlannedCorrectness, ...] = ()
    """Checks of other functions, which the program passes."""

    @classmethod
    def of_size(
        cls, planned: PlannedCorrectness, n: int, graded: Graded, passed: Sequence[PlannedCorrectness] = ()
    ) -> "Call":
        """Return the part of a check that is asked of what is tried; `passed`: checks that the program has passed."""
        alike = (one for one in passed if one.element == planned.element and any(size <= MANY for size in one.sizes))
        others = {one.entry: _with_few(one) for one in alike if one.entry != planned.entry}
        plan, least = graded.plan, {"warp_instructions": INSTRUCTIONS, "seconds": TRY_SECONDS}
        limits = {key: min(getattr(plan.limits, key), most) for key, most in least.items()}
        tried = plan.model_copy(update={"limits": plan.limits.model_copy(update=limits)})
        every = planned.model_copy(update={"needs": None})
        amounts = (one for one in plan.checks if isinstance(one, PlannedCount) and one.among == planned.name)
        counts = tuple(one.model_copy(update={"needs": None}) for one in amounts)
        return cls(_with_few(planned, n), every, counts, graded, tried, tuple(others.values()))

    @property
    def element(self) -> str:
        """Return the element that the call is made with: of affine maps, names."""
        return "provenance" if self.case.element == "affine" else self.case.element

    @property
    def name(self) -> str:
        """Return what files are called that take the submission's place."""
        name = Path(self.plan.source).name
        return name if re.fullmatch(r"[\w.\-]{1,80}\.cu", name) else "scan.cu"

    def can_be_joined(self, text: str) -> bool:
        """Return whether `codes` can be asked for the device code of a version."""
        return not self.graded.is_sandboxed and can_be_joined(text)

    def codes(self, texts: Sequence[str]) -> list[str]:
        """Return the PTX of several versions of a submission; nothing of one that does not compile."""
        with scratch() as folder:
            return device_codes(
                [with_one_entry(text, self.case.entry) for text in texts], self.name, self.element, folder
            )

    def with_code(self, code: str, *, is_brief: bool = False) -> CheckResult | None:
        """Return what the check finds with other device code, PTX, or with the program's own.

        `is_brief`: a failure is not explained, which takes several times as long as to find it.
        """
        found = self._checked([self.case], code, is_brief=is_brief)
        return found[0] if found else None

    def _checked(self, checks: Sequence[PlannedCheck], code: str, *, is_brief: bool) -> tuple[CheckResult, ...]:
        """Return what some checks find; nothing where the judge cannot be run."""
        update: dict[str, Any] = {"checks": [*checks], "is_brief": is_brief}
        with scratch() as folder:
            if code:
                path = folder / "scan.ptx"
                path.write_text(code, encoding="utf-8")
                update |= {"device_code": str(path)}
            try:
                return self.graded.run_judge(self.plan.model_copy(update=update)).checks
            except (WorkError, KitError):
                return ()

    def fails_again(self, code: str = "") -> bool:
        """Return whether the check fails with one of a few other seeds, and so under schedules of other threads."""
        seeds = range(self.plan.seed + 1, self.plan.seed + 1 + MORE_SEEDS)
        calls = (replace(self, plan=self.plan.model_copy(update={"seed": seed})) for seed in seeds)
        return any(
            found is None or not is_right(found) for found in (call.with_code(code, is_brief=True) for call in calls)
        )

    def with_all_sizes(self, code: str) -> tuple[bool, bool]:
        """Return whether the whole check passes with other device code, or the call's own, and whether its counts do.

        They have as much time as what was graded.
        """
        call = replace(self, plan=self.plan.model_copy(update={"limits": self.graded.plan.limits}))
        check, *counts = call._checked([self.every, *self.counts], code, is_brief=True) or (None,)
        return check is not None and is_right(check), all(one is not None and one.verdict == "pass" for one in counts)

    def breaks_another(self, text: str, *, is_of_device: bool = True) -> bool:
        """Return whether a program fails where this one passes: with a function of `others`.

        `is_of_device`: nothing but its device code is another.
        """
        for case in self.others:
            made = replace(self, case=case).made_by(text, is_of_device=is_of_device)
            found = made[0].with_code(made[1], is_brief=True) if made else None
            if found is None or not is_right(found):
                return True
        return False

    def made_by(self, text: str, *, is_of_device: bool) -> "tuple[Call, str] | None":
        """Return the call made by another program, and its PTX if only that is another; None if it does not compile."""
        if not is_of_device:
            call = self.by_program(text)
            return (call, "") if call else None
        (code,) = self.codes([text])
        return (self, code) if code else None

    def by_program(self, text: str) -> "Call | None":
        """Return the call made by another program; None where that does not compile."""
        runners = self.graded.built(text, [self.element], self.name)
        return replace(self, plan=self.plan.model_copy(update={"runners": runners})) if runners else None


def _with_few(planned: PlannedCorrectness, *more: int) -> PlannedCorrectness:
    """Return a check with its small sizes only, and some more."""
    sizes = sorted({*more, *(size for size in planned.sizes if size <= MANY)})
    alone = {"repeated_up_to": None, "extra": [], "work": None, "needs": None}
    return planned.model_copy(update={"sizes": sizes, **alone})


def is_right(tried: CheckResult) -> bool:
    """Return whether a check passes and has found no mistake."""
    return tried.verdict == "pass" and all(one.weight != "mistake" for one in tried.findings)


@dataclass(frozen=True)
class Base:
    """A program that fails, of which edits are tried."""

    text: str
    call: Call
    failed: CheckResult
    """What the check finds of it."""
    code: str = ""
    """PTX with which the call makes it; empty: the call's own program is it."""
    lines: frozenset[int] | None = None
    """In which the mistake is; None: that is not known."""
    is_all: bool = True
    """What is right then is the whole program."""

    @property
    def is_rare(self) -> bool:
        """Return whether the call fails under some schedules only."""
        cause = self.failed.cause
        texts = (cause.headline, cause.rationale, *cause.details) if cause else ()
        return not any(IN_ORDER in text for text in texts[:1]) or any(SAME_DATA in text for text in texts)

    def is_fixed_by(self, text: str, call: Call, code: str, *, is_of_device: bool) -> tuple[bool, bool]:
        """Return whether a program that is right where this one fails is right in all else, and its counts are.

        `call` and `code` make the failing call with it. Another order of the threads may have hidden the mistake;
        another size, or another function, may fail with it. `is_of_device`: nothing but its device code is another.
        """
        if self.is_rare and (not self.call.fails_again(self.code) or call.fails_again(code)):
            return False, False
        if self.call.breaks_another(text, is_of_device=is_of_device):
            return False, False
        return call.with_all_sizes(code)
