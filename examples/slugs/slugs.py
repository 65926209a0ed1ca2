"""Titles to slugs: `Hello, World!` becomes `hello-world`."""

import unicodedata

LOWER = True
FOLD_ACCENTS = True
KEEP_DIGITS = False
JOIN_RUNS = True
TRIM_ENDS = False
DROP_APOSTROPHES = False
LONGEST_WORD_FIRST = False
SEPARATOR = "-"


def slug(title):
    """Return the slug of a title."""
    text = title
    if FOLD_ACCENTS:
        text = "".join(
            c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
        )
    if LOWER:
        text = text.lower()
    if DROP_APOSTROPHES:
        text = text.replace("'", "")
    text = "".join(c if keeps(c) else SEPARATOR for c in text)
    parts = text.split(SEPARATOR)
    if JOIN_RUNS:
        parts = [parts[0], *(part for part in parts[1:-1] if part), *parts[1:][-1:]]
    if TRIM_ENDS:
        while len(parts) > 1 and not parts[0]:
            parts = parts[1:]
        while len(parts) > 1 and not parts[-1]:
            parts = parts[:-1]
    if LONGEST_WORD_FIRST:
        parts = sorted(parts, key=len, reverse=True)
    return SEPARATOR.join(parts)


def keeps(char):
    """Say whether a character stays as it is."""
    return char.isalpha() or (KEEP_DIGITS and char.isdigit())
