"""Which of several attempts at a lab are graded, and which one counts: the course's rule, for a class."""

from collections.abc import Sequence

from scanlab.classroom.records import Attempt, Class, HandedIn, Submission
from scanlab.course.attempts import Try, counting, rule_for
from scanlab.course.lateness import moment
from scanlab.course.model import Course


class Attempts:
    """What one submission has handed in for one lab."""

    def __init__(self, taken_in: Class, submission: Submission, lab: str) -> None:
        self.files = [file for file in submission.files if file.lab == lab]
        """The oldest first."""
        course = Course.of(taken_in.course)
        self._rule = rule_for(course, lab, submission)
        self._numbers = _numbers(self.files, submission.attempt)
        self._times = [moment(file.submitted_at, course.zone if course else "") for file in self.files]
        self._ignored = counting(self._rule, self._tries([0.0] * len(self.files))).ignored

    def graded(self) -> list[int]:
        """Return the places of the files that are graded.

        Where the best attempt counts these are all that the course accepts; where the last one does, that one alone.
        """
        places = range(len(self.files))
        accepted = [place for place in places if str(place) not in self._ignored] or [*places]
        return accepted if self._rule.count == "best" else accepted[-1:]

    def number_beyond(self, place: int) -> int | None:
        """Return the number of an attempt that the course does not accept, None for one that it does."""
        return self._numbers[place] if str(place) in self._ignored else None

    def chosen(self, points: Sequence[float | None]) -> tuple[int, tuple[Attempt, ...]]:
        """Return the place of the attempt that counts, and what is reported of all (nothing of a single one).

        `points` are the attempts' own, after deductions; None for one that is not graded.
        """
        counted = counting(self._rule, self._tries([0.0 if one is None else one for one in points])).chosen
        counts = int(counted.key) if counted else self.graded()[-1]
        if len(self.files) == 1:
            return counts, ()
        reported = []
        for place, file in enumerate(self.files):
            why_not = self._ignored.get(str(place), f"the {self._rule.count} attempt counts")
            reported.append(
                Attempt(
                    number=self._numbers[place],
                    name=file.name,
                    sha256=file.sha256,
                    submitted_at=file.submitted_at,
                    points=points[place],
                    reason="" if place == counts else why_not,
                )
            )
        return counts, tuple(reported)

    def _tries(self, points: Sequence[float]) -> list[Try]:
        known = zip(points, self._times, self._numbers, strict=True)
        return [Try(str(place), *one) for place, one in enumerate(known)]


def graded_files(taken_in: Class, submission: Submission) -> list[HandedIn]:
    """Return the files of a submission that are graded, in its order."""
    files = []
    for lab in dict.fromkeys(file.lab for file in submission.files):
        attempts = Attempts(taken_in, submission, lab)
        files += [attempts.files[place] for place in attempts.graded()]
    return files


def _numbers(files: Sequence[HandedIn], of_submission: int | None) -> list[int]:
    """Return the attempts' numbers: their own where all have one, else 1, 2, 3 and so on."""
    own = [file.attempt for file in files if file.attempt is not None]
    if len(files) == 1:
        return own or [of_submission or 1]
    return own if own == sorted({*own}) and len(own) == len(files) else list(range(1, len(files) + 1))
