"""Packs items of sizes from 1 to 1000 into bins of size 1000, online.

The candidate has `choose(room, item)`: `room` is a list with what every open bin has left, `item`
the size of the next item. It returns the place of a bin in that list, or None to open a new one.
A shard is one sequence of 120 items, drawn with the shard's index as seed. Its score is the share
of the opened bins that is filled. A choice that does not fit, or an exception, ends the shard: what
was not packed yet counts as one bin an item.
"""

import json
import os
import random
import traceback

BIN = 1000


def items_of(shard):
    rng = random.Random(shard)
    low, high = rng.choice([(100, 700), (200, 500), (50, 800)])
    return [rng.randint(low, high) for _ in range(120)]


def pack(choose, items):
    """Return (bins used, what went wrong)."""
    room = []
    for done, item in enumerate(items):
        try:
            place = choose(list(room), item)
            if place is None:
                room.append(BIN - item)
                continue
            place = int(place)
            if not 0 <= place < len(room) or room[place] < item:
                return len(room) + len(items) - done, f"item {item} does not fit into bin {place}"
            room[place] -= item
        except Exception:
            return len(room) + len(items) - done, traceback.format_exc(limit=-3)
    return len(room), ""


def main():
    shards = [int(word) for word in os.environ["LAE_SHARDS"].split(",")]
    scores, error = [], ""
    try:
        from candidate import choose
    except Exception:
        scores, error = [0.0], traceback.format_exc(limit=-3)
    else:
        for shard in shards:
            items = items_of(shard)
            used, wrong = pack(choose, items)
            scores.append(sum(items) / (BIN * used))
            error = error or wrong
    result = {"valid": True, "metrics": {"score": sum(scores) / len(scores)}, "error": error}
    with open(os.environ["LAE_RESULT"], "w") as stream:
        json.dump(result, stream)


if __name__ == "__main__":
    main()
