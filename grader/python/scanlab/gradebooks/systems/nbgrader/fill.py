"""Put scores into nbgrader's database, by its own interface. Runs in the Python that has nbgrader, not in the kit's.

Reads JSON from stdin (`database.py` makes it). Exit 2 and a line on stderr where that cannot be done.
"""

import json
import sys

NOTEBOOK, CELL = "scan", "points"
USAGE = 2


def main() -> int:
    """Fill in the database, and print what was done."""
    from nbgrader.api import Gradebook, MissingEntry

    given = json.load(sys.stdin)
    kept = 0
    with Gradebook(given["database"]) as gradebook:
        for one in given["assignments"]:
            name = one["name"]
            gradebook.update_or_create_assignment(name, **({"duedate": one["due"]} if one["due"] else {}))
            others = [book.name for book in gradebook.find_assignment(name).notebooks if book.name != NOTEBOOK]
            if others:
                why = "has notebooks of its own"
                print(
                    f"assignment {name} {why} ({', '.join(others)}): name another: --problem LAB=NAME", file=sys.stderr
                )
                return USAGE
            gradebook.update_or_create_notebook(NOTEBOOK, name)
            gradebook.update_or_create_grade_cell(CELL, NOTEBOOK, name, max_score=one["max_score"], cell_type="code")
        added = 0
        for student in given["students"]:
            try:
                gradebook.find_student(student["id"])
            except MissingEntry:
                gradebook.add_student(**{"student_id" if key == "id" else key: value for key, value in student.items()})
                added += 1
        for one in given["submissions"]:
            assignment, student = one["assignment"], one["student"]
            when = {"timestamp": one["timestamp"]} if one["timestamp"] else {}
            gradebook.update_or_create_submission(assignment, student, **when)
            book = gradebook.find_submission_notebook(NOTEBOOK, assignment, student)
            book.late_submission_penalty = one["penalty"]
            grade = gradebook.find_grade(CELL, NOTEBOOK, assignment, student)
            grade.auto_score, grade.needs_manual_grade = one["score"], False
            kept += grade.manual_score is not None
            gradebook.db.commit()
    print(f"nbgrader: {len(given['submissions'])} scores, {added} students added")
    if kept:
        print(f"{kept} scores were given by hand in nbgrader, and count there in place of these")
    if given["unknown"]:
        print(f"on no roster, and left out: {', '.join(given['unknown'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
