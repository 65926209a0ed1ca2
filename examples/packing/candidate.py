"""Which bin an item goes to, one item after the other, before the next is known."""

ROOMY = True  # whether a bin is liked for having much room left afterwards, or for having little
SMALLEST = 200  # a gap below this is too small for most items ...
SPARE = 100  # ... and disliked by so much


def choose(room, item):
    """Return the place of a bin in `room` (what each open bin has left), or None for a new one."""
    best, choice = 0, None
    for place, left in enumerate(room):
        gap = left - item
        if gap < 0:
            continue
        liked = gap if ROOMY else -gap
        if 0 < gap < SMALLEST:
            liked -= SPARE
        if choice is None or liked > best:
            best, choice = liked, place
    return choice
