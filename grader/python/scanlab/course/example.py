"""A course.toml to begin with: every key is there, most of them as comments."""

EXAMPLE = """\
# What this course asks of the kit's labs. Each key is explained in grader/python/scanlab/course/README.md;
# `grader/scanlab course check FILE` says what this file means.
title = "Parallel programming"
timezone = "Europe/Berlin" # of the dates below; or give each date an offset: 2027-03-14T23:59:00+01:00

# The data that work is graded with. Whoever knows the seed could fit a program to its data: keep the file to yourself.
secret_seed_file = "{seed_file}"

# What the students' bundle (grader/scanlab pack) has for handouts: "without_solutions", "full" (with the excerpts of
# solutions that they discuss) or "none".
handouts = "without_solutions"

[late] # of all labs that have no [lab.late] of their own
percent = 10 # of the points that a lab is worth, for each day that has begun; or: points = 5
# per = "hour"
# of = "earned" # of the points that were won
grace_minutes = 15 # nothing is taken off until then
maximum = 50 # no more than this is taken off
# late_marker = "one_unit" # what costs work that Canvas marks LATE, not saying by how much; or "in_time", "no_points"
# cut_off_hours = 168 # after that, work does not count

# [attempts]
# count = "best" # or "last"
# at_most = 10
# minutes_between = 30

# The labs of this course, and nothing else. Without any [[lab]], all of the kit's.
[[lab]]
name = "01_sequential"
due = 2027-04-15T23:59:00
# weight = 0.5

[[lab]]
name = "02_kogge_stone"
due = 2027-04-22T23:59:00
# seconds = 60 # that one check may take

# A check of the kit, changed. What is left out stays as it is.
[[lab.check]]
name = "additions"
points = 10
# at_most = "n * log2(n)"

[[lab.check]]
name = "barriers"
points = 5
# visibility = "after_due_date" # or "hidden", "visible"; in [[lab]] it is of all checks that say nothing themselves

# [[lab.check]]
# name = "bank_conflicts"
# enabled = false # switched off: not run, and worth nothing

# A check of the course's own has a kind, and the keys of that kind: see any labs/NN_name/lab.toml.
# [[lab.check]]
# name = "odd_sizes"
# title = "sizes that no page names"
# kind = "correctness"
# visibility = "hidden"
# entry = "inclusive_scan"
# element = "float"
# operation = "inclusive"
# points = 10
# sizes = [777, 5003]
# schedules = ["random"]

# What holds for one student.
# [[student]]
# id = "their id" # or login, e-mail address, or any other identifier that the roster or the export knows
# excused = ["01"]
# attempts = 12
# [[student.extension]]
# lab = "02" # without it: all labs
# hours = 48 # or: due = 2027-04-24T23:59:00
"""


def example(seed_file: str) -> str:
    """Return the text of a course.toml whose secret seed is in `seed_file`, beside it."""
    return EXAMPLE.format(seed_file=seed_file)
