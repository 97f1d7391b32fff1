"""Folders, archives or files that are named after their students: what any platform, or a person, may make."""

from scanlab.classroom.intake.handing import Handing, Placed, Who, in_json, owner_of_name
from scanlab.classroom.intake.items import OTHER_ARCHIVES, Item, is_source, is_text, printable, suffix_of
from scanlab.classroom.intake.platforms.platform import Pile, Platform, Read, is_file


def _reader(pile: Pile) -> Read:
    """Return what reads the names of one pile."""
    labs = pile.labs

    def read(item: Item) -> tuple[Handing, Placed] | None:
        top, *inner = item.parts
        is_plain = is_file(item)
        others = (end for end in OTHER_ARCHIVES if is_plain and top.casefold().endswith(end))
        ending = suffix_of(top) or next(others, "")
        if is_plain and not ending and not is_source(top) and not is_text(top) and not item.refused:
            return None
        place, stem, owner = tuple(inner) or (top,), top[: len(top) - len(ending)], owner_of_name(top)
        attempt = top
        if is_plain and not ending:
            stem, own = labs.without_lab(top)
            if not stem or (is_text(top) and not is_source(top) and own == top):
                return None  # a text that names neither a lab nor, then, a student
            place, owner, attempt = (own,), f"files {in_json(stem)}", ""  # one student's lie beside each other
        handing = Handing("folders", owner, printable(stem if is_plain else top), (Who(stem, (stem,)),), attempt)
        return handing, Placed(place, item)

    return read


FOLDERS = Platform("folders", _reader)
