"""Packs items of sizes between 0 and 1 into bins of size 1, online.

The candidate has `choose(room, item)`: `room` is a list with what every open bin has left, `item`
the size of the next item. It returns the place of a bin in that list, or None to open a new one.
A shard is one sequence of 120 items, drawn with the shard's index as seed. Its score is the share
of the opened bins that is filled, at most 1. A choice that does not fit, or an exception, ends the
shard: what was not packed yet counts as one bin an item.
"""

import json
import os
import random
import traceback


def items_of(shard):
    rng = random.Random(shard)
    low, high = rng.choice([(0.1, 0.7), (0.2, 0.5), (0.05, 0.8)])
    return [round(rng.uniform(low, high), 3) for _ in range(120)]


def pack(choose, items):
    """Return (bins used, what went wrong)."""
    room = []
    for done, item in enumerate(items):
        try:
            place = choose(list(room), item)
            if place is None:
                room.append(1.0 - item)
                continue
            place = int(place)
            if not 0 <= place < len(room) or room[place] < item - 1e-9:
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
            scores.append(min(1.0, sum(items) / used))
            error = error or wrong
    result = {"valid": True, "metrics": {"score": sum(scores) / len(scores)}, "error": error}
    with open(os.environ["LAE_RESULT"], "w") as stream:
        json.dump(result, stream)


if __name__ == "__main__":
    main()
