"""What stops a command, with the exit code that it means. The text is one message for a person, never a traceback."""

PASSED = 0
FAILED = 1
USAGE = 2
KIT_FAULT = 3
INTERRUPTED = 130


class ScanlabError(Exception):
    """Base of the errors below; `code` is the exit code."""

    code = KIT_FAULT


class WorkError(ScanlabError):
    """The learner's work cannot be graded: a missing file, a file that does not compile."""

    code = FAILED


class UsageError(ScanlabError):
    """The command was given something it cannot use: an unknown lab, a folder in place of a file."""

    code = USAGE


class KitError(ScanlabError):
    """The kit itself is broken, or the machine lacks something; never the learner's failure."""

    code = KIT_FAULT
