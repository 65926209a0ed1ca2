"""Which bin an item goes to, one item after the other, before the next is known."""

ROOMY = True  # whether a bin is liked for having much room left afterwards, or for having little
EARLY = 0.0  # how much it is liked for having been opened early
BRIM = 0.0  # how much for being filled to the brim
SPARE = 0.1  # how much a gap is disliked that is too small for anything
SMALLEST = 0.2


def choose(room, item):
    """Return the place of a bin in `room` (what each open bin has left), or None for a new one."""
    best, choice = 0.0, None
    for place, left in enumerate(room):
        gap = left - item
        if gap < -1e-9:
            continue
        liked = (gap if ROOMY else -gap) - EARLY * place / len(room)
        if gap < 0.005:
            liked += BRIM
        elif gap < SMALLEST:
            liked -= SPARE
        if choice is None or liked > best:
            best, choice = liked, place
    return choice
