"""The command line of scanlab: builds a submission, has the judge grade it, and reports."""

__version__ = "0.1.0"
