"""A stand-in for a model that judges: reads the request, applies the rubric by arithmetic.

It does what is asked of a judge: it takes the text between the fences alone, weighs it, and ends
with the line that the instructions ask for. It makes no network call, and none of its points comes
from what a text says about itself.
"""

import re
import sys
from pathlib import Path


def near(value, low, high):
    """Return 1 inside of the range, less the farther away, 0 at half or twice."""
    if value <= 0:
        return 0.0
    ratio = low / value if value < low else value / high if value > high else 1.0
    return max(0.0, 2.0 - ratio)


def grade(text):
    numbers = {key: float(value) for key, value in re.findall(r"^(\w+): ([\d.]+)$", text, re.M)}
    flour = max(numbers.get("flour_g", 0.0), 1.0)

    def share(name):
        return 100.0 * numbers.get(name, 0.0) / flour

    points = 2.0 * near(share("water_g"), 65, 72)
    points += 2.0 * near(share("salt_g"), 1.8, 2.2)
    points += near(share("yeast_g"), 1, 2) + near(numbers.get("rise_hours", 0.0), 2, 4)
    points += near(numbers.get("knead_minutes", 0.0), 8, 12)
    points += near(numbers.get("oven_celsius", 0.0), 220, 240)
    points += near(numbers.get("bake_minutes", 0.0), 35, 45)
    points += 1.0 if re.search(r"^steam: true$", text, re.M) else 0.0
    return points


def main():
    request = Path(sys.argv[1]).read_text()
    mark = re.search(r"^GRADE-(\w+): <number>$", request, re.M).group(1)
    text = request.split(f"\n<text-{mark}>\n", 1)[1].rsplit(f"\n</text-{mark}>", 1)[0]
    print("Weighed each point of the rubric.")
    print(f"GRADE-{mark}: {grade(text):.2f}")


if __name__ == "__main__":
    main()
