"""Secret seeds: what they may be, how they are made, and how a student might write them."""

import base64
import hashlib
import os
import secrets
from pathlib import Path

from scanlab.errors import UsageError
from scanlab.paths import shown

SHORTEST = 16
"""Characters of a secret text: fewer can be tried out."""
SMALLEST = 1 << 48
"""A secret number below can be tried out."""


def complaint(secret: str | int) -> str:
    """Return why a secret seed is not valid, or an empty text."""
    if isinstance(secret, bool) or (isinstance(secret, int) and secret < SMALLEST):
        return f"too easy to guess: a number of at least {SMALLEST} (2^48), or a text of {SHORTEST} characters"
    if isinstance(secret, str) and len(set(secret.strip())) < SHORTEST // 2:
        return f"too easy to guess: a text of at least {SHORTEST} characters, {SHORTEST // 2} of them different"
    if isinstance(secret, str) and len(secret.strip()) < SHORTEST:
        return f"too short: a text of at least {SHORTEST} characters"
    return ""


def class_seed(secret: str | int) -> int:
    """Return the number, below 2^64, that stands for a secret in `class.json`; nothing leads back to the secret."""
    text = f"scanlab course seed {str(secret).strip()}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def random_seed() -> int:
    """Return a class's own seed, which is known to no one and cannot be found by trying."""
    return secrets.randbits(64) | SMALLEST


def make_file(path: Path) -> None:
    """Write a new secret to a file that only its owner may read. Raises UsageError where there is one already."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secrets.token_hex(16) + "\n")
    except FileExistsError as error:
        raise UsageError(f"{shown(path)} is there already; a new seed would change everybody's data") from error
    except OSError as error:
        raise UsageError(f"cannot write {shown(path)}: {error.strerror}") from error


def spellings(secret: str | int) -> set[bytes]:
    """Return how the secret, and the number that stands for it, may be written in a file."""
    text = str(secret).strip()
    found = {text.encode()}
    numbers = {class_seed(secret)}
    if isinstance(secret, int) or text.isdecimal():
        numbers.add(int(text))
    else:
        found |= _encoded(text.encode())
        try:
            raw = bytes.fromhex(text)
            found |= {raw, raw[::-1], text.lower().encode(), text.upper().encode()} | _encoded(raw)
            numbers |= {int.from_bytes(raw, "big"), int.from_bytes(raw, "little")}
        except ValueError:
            pass
    for number in numbers:
        size = max(8, (number.bit_length() + 7) // 8)
        found |= {form.encode() for form in _written(number)}
        for order in ("little", "big"):
            raw = number.to_bytes(size, order)
            found |= {raw} | _encoded(raw)
    return {form for form in found if len(form) >= 6}


def _written(number: int) -> set[str]:
    plain = {f"{number}", f"{number:x}", f"{number:X}", f"{number:o}", f"{number:b}"}
    grouped = {f"{number:,}", f"{number:_}", f"{number:,}".replace(",", "'"), f"{number:,}".replace(",", " ")}
    padded = {f"{number:016x}", f"{number:016X}", f"{number:_x}", f"{number:_X}"}
    return plain | grouped | padded


def _encoded(raw: bytes) -> set[bytes]:
    # Without the last character, which depends on what follows when more is encoded with it.
    standard, safe = base64.b64encode(raw), base64.urlsafe_b64encode(raw)
    return {code.rstrip(b"=")[:-1] for code in (standard, safe)} | {raw.hex().encode(), raw.hex().upper().encode()}
