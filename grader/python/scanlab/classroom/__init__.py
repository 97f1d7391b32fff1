"""Grading a class: from a pile of submissions to a folder of results, which exports and reports read."""
