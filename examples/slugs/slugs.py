"""Titles to slugs: `Hello, World!` becomes `hello-world`."""

import unicodedata

KEEP_DIGITS = False
KEEP_ENDS = True
DROP_APOSTROPHES = False
LONGEST_WORD_FIRST = False


def slug(title):
    """Return the slug of a title."""
    apart = unicodedata.normalize("NFKD", title.lower())
    text = "".join(char for char in apart if not unicodedata.combining(char))
    if DROP_APOSTROPHES:
        text = text.replace("'", "")
    text = "".join(char if keeps(char) else " " for char in text)
    words = text.split()
    if LONGEST_WORD_FIRST:
        words = sorted(words, key=len, reverse=True)
    found = "-".join(words)
    if KEEP_ENDS and text.startswith(" "):
        found = "-" + found
    if KEEP_ENDS and text.endswith(" "):
        found = found + "-"
    return found


def keeps(char):
    """Say whether a character stays as it is."""
    return char.isalpha() or (KEEP_DIGITS and char.isdigit())
