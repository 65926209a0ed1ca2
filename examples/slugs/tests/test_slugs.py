import pytest
from slugs import slug


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("a", "a"),
        ("word", "word"),
        ("two words", "two-words"),
        ("one two", "one-two"),
        ("six seven", "six-seven"),
        ("a tall tree", "a-tall-tree"),
        ("the long road", "the-long-road"),
        ("as it was", "as-it-was"),
    ],
)
def test_plain(title, expected):
    assert slug(title) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Word", "word"),
        ("WORD", "word"),
        ("Two Words", "two-words"),
        ("McDonald", "mcdonald"),
        ("ALL CAPS HERE", "all-caps-here"),
        ("iPhone", "iphone"),
    ],
)
def test_capitals(title, expected):
    assert slug(title) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("café", "cafe"),
        ("naïve", "naive"),
        ("señor", "senor"),
        ("über alles", "uber-alles"),
        ("crème brûlée", "creme-brulee"),
        ("déjà vu", "deja-vu"),
    ],
)
def test_accents(title, expected):
    assert slug(title) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("route66", "route66"),
        ("chapter 2", "chapter-2"),
        ("2 of 10", "2-of-10"),
        ("year 1999", "year-1999"),
        ("4x4", "4x4"),
        ("mp3", "mp3"),
    ],
)
def test_digits(title, expected):
    assert slug(title) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("two  words", "two-words"),
        ("this, that", "this-that"),
        ("over - under", "over-under"),
        ("wait... what", "wait-what"),
        ("a & b", "a-b"),
        ("left / right", "left-right"),
    ],
)
def test_runs(title, expected):
    assert slug(title) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        (" word", "word"),
        ("word ", "word"),
        ("word!", "word"),
        ("(word)", "word"),
        ("what now?", "what-now"),
        ("stop.", "stop"),
    ],
)
def test_ends(title, expected):
    assert slug(title) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("don't", "dont"),
        ("it's late", "its-late"),
        ("rock 'n' roll", "rock-n-roll"),
        ("o'clock", "oclock"),
    ],
)
def test_apostrophes(title, expected):
    assert slug(title) == expected
