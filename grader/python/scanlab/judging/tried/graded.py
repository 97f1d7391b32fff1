"""What was graded: programs are tried in its place."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from scanlab.errors import KitError, WorkError
from scanlab.judging.compile import build_runner
from scanlab.judging.learners_file import LearnersFile
from scanlab.judging.plan import Plan, PlannedCorrectness
from scanlab.judging.result import Cause, CheckResult, LabResult
from scanlab.scratch import scratch

MANY = 8192
"""Elements of the largest calls in which programs are tried."""

Judge = Callable[[Plan], LabResult]


@dataclass(frozen=True)
class Failure:
    """A check of results that has failed on the virtual GPU."""

    check: CheckResult
    planned: PlannedCorrectness
    cause: Cause


@dataclass(frozen=True)
class Graded:
    """A submission: its plan, its file, and how the judge is run on a plan."""

    plan: Plan
    file: LearnersFile
    run_judge: Judge
    is_sandboxed: bool = True

    def first_failure(self, result: LabResult) -> Failure | None:
        """Return the first check that has failed; None where others than those of results are not right."""
        check = next(iter(result.failed_checks), None)
        planned = next((one for one in self.plan.checks if check and one.name == check.name), None)
        if not check or not check.cause or not isinstance(planned, PlannedCorrectness) or self.plan.device != "vgpu":
            return None
        return Failure(check, planned, check.cause)

    def built(self, text: str, elements: Collection[str], name: str = "scan.cu") -> dict[str, str] | None:
        """Return the runners of another program, by element; None where it cannot be built.

        `name` is what its file is called.
        """
        with scratch() as folder:
            path = folder / name
            path.write_text(text, encoding="utf-8")
            try:
                return {
                    element: str(build_runner(path, element, "vgpu", is_sandboxed=self.is_sandboxed))
                    for element in elements
                }
            except (WorkError, KitError):
                return None
