"""People, and all that identifies each: what a roster, an export or a course file may call them.

An identifier is compared whole, whatever its case; never by a part of it. A person's name is none: two may have the
same. Nothing here knows of classes or courses: both stand on it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

PARTICIPANT = re.compile(
    r"(?:Participante?|Partecipante|Teilnehmer(?:[/:*_]?-?in)?|Teilnehmende/?r?|Người tham gia|Thành viên) ?(\d+)"
)
"""Moodle's `Identifier`, in several languages; the platform's own number is what stands behind it."""

FIRST_POINT, LAST_POINT, FIRST_ACCENT = 10, 36, 200
"""Unicode's combining classes of the points of Hebrew, Arabic and Syriac, and of accents, which have the highest."""
VARIANT = re.compile("[\u034f\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Marks that are not seen: how the letter before them is to be drawn."""

FORMULA = re.compile(r'="([^"]*)"')
AS_TEXT = re.compile(r"^['#](?=\w)")
WHOLE_NUMBER = re.compile(r"(\d+)\.0+")
LOST = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+")

ID_COLUMNS = [
    "id",
    "studentid",
    "studentnumber",
    "studentno",
    "sid",
    "idnumber",
    "sisuserid",
    "identifier",
    "matriculationnumber",
    "matriculation",
    "matrikelnummer",
    "matrikelnr",
    "matrnr",
    "matrikel",
    "rosteridentifier",
    "orgdefinedid",
]
LOGIN_COLUMNS = [
    "login",
    "loginid",
    "username",
    "githubusername",
    "github",
    "sisloginid",
    "user",
    "userid",
    "benutzername",
    "benutzerkennung",
    "kennung",
    "anmeldename",
    "nutzername",
]
EMAIL_COLUMNS = ["email", "emailaddress", "mail", "emailadresse", "mailadresse"]
OTHER_COLUMNS = ["integrationid", "githubid", "canvasuserid"]
IDENTIFYING = frozenset((*ID_COLUMNS, *LOGIN_COLUMNS, *EMAIL_COLUMNS, *OTHER_COLUMNS))
"""Columns of a roster that identify a person, by their `letters`; the surest first in each tuple."""

PLATFORM_IDS = ("canvas_user", "moodle_participant", "gradescope_sid", "email", "github_login", "platform_user")
"""What an export's metadata says of a person, by its name in `records.Submission.metadata`."""


def folded(text: str) -> str:
    """Return an identifier as it is compared, `bare`: case and kinds of Unicode composition do not count."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", bare(text)).casefold()).strip()


def bare(text: str) -> str:
    """Return an identifier without what platforms and spreadsheets write around it to keep it a text, or make of it.

    Brightspace exports `#10001`, others `="10001"` or `'10001`; what has passed through numbers is `10001.0`.
    """
    text = text.strip()
    if formula := FORMULA.fullmatch(text):
        text = formula[1].strip()
    text = AS_TEXT.sub("", text)
    return whole[1] if (whole := WHOLE_NUMBER.fullmatch(text)) else text


def lost_number(text: str) -> str:
    """Return why a cell holds no identifier any more, for a message; empty: it may be one."""
    if not LOST.fullmatch(bare(text)):
        return ""
    return (
        f"a spreadsheet has rounded a number to {bare(text)}, and its digits are lost: take the file as it was"
        " exported, and where it has to be changed, set the column to text first"
    )


def letters(text: str) -> str:
    """Return a text's letters and digits alone, small and without accents: platforms and people drop the others."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in plain if letter.isalnum() or is_vowel(letter))


def is_vowel(letter: str) -> bool:
    """Return whether a mark is a letter of its script, such as a vowel in Hindi or a tone in Thai.

    Accents, and the points of Hebrew and Arabic, are none: names are written with and without them.
    """
    if unicodedata.category(letter) not in ("Mn", "Mc") or VARIANT.match(letter):
        return False
    order = unicodedata.combining(letter)
    return order < FIRST_POINT or LAST_POINT < order < FIRST_ACCENT


@dataclass(frozen=True)
class Person:
    """One person: `key` names them in files and results, `identifiers` are all texts that mean them alone."""

    key: str
    name: str = ""
    identifiers: frozenset[str] = frozenset()
    """Folded, see `person`."""

    def is_called(self, text: str) -> bool:
        """Return whether an identifier is this person's."""
        return folded(text) in self.identifiers


def person(
    key: str, name: str = "", identifiers: Iterable[str] = (), columns: Mapping[str, str] | None = None
) -> Person:
    """Return a person with the identifiers given, and those that the columns of a roster's row have."""
    texts = [key, *identifiers]
    for column, cell in (columns or {}).items():
        if letters(column) in IDENTIFYING:
            participant = PARTICIPANT.fullmatch(bare(cell))
            texts += [cell, participant[1]] if participant else [cell]
    return Person(key, name, frozenset(small for text in texts if (small := folded(text))))


def platform_ids(metadata: Mapping[str, str]) -> list[str]:
    """Return what an export says of who has handed something in, from a submission's metadata."""
    return [metadata[name] for name in PLATFORM_IDS if metadata.get(name)]


@dataclass(frozen=True)
class People:
    """All people that are known, and who is meant by an identifier."""

    persons: Sequence[Person]
    _by_identifier: Mapping[str, Sequence[Person]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index: dict[str, list[Person]] = {}
        for one in self.persons:
            for text in one.identifiers:
                index.setdefault(text, []).append(one)
        object.__setattr__(self, "_by_identifier", index)

    def find(self, text: str) -> Sequence[Person]:
        """Return all whose identifier `text` is: one person, none, or several whom it does not distinguish."""
        return tuple(self._by_identifier.get(folded(text), ()))

    def __iter__(self) -> Iterator[Person]:
        return iter(self.persons)

    def __len__(self) -> int:
        return len(self.persons)
