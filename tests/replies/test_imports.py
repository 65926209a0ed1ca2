from __future__ import annotations

import pytest

from lae_controller.replies.imports import with_imports

BEFORE = (
    '"""Net."""\nimport os\nimport numpy as np\nfrom a.b import (\n    c,\n    d,\n)\nx = np.e\n'
)


@pytest.mark.parametrize(
    ("after", "whole"),
    [
        ("x = np.pi\n", "import numpy as np\nx = np.pi\n"),
        ('"""Net."""\nx = np.pi\n', '"""Net."""\nimport numpy as np\nx = np.pi\n'),
        (
            "from __future__ import annotations\nx = c(os)\n",
            "from __future__ import annotations\nimport os\nfrom a.b import (\n    c,\n    d,\n)\n"
            "x = c(os)\n",
        ),
        ("x = 1\n", "x = 1\n"),
        ("import numpy as np\nx = np.pi\n", "import numpy as np\nx = np.pi\n"),
        ("from math import c\nx = c\n", "from math import c\nx = c\n"),
        ("def f(np):\n    return np\n", "def f(np):\n    return np\n"),
        ("x = = np\n", "x = = np\n"),
    ],
)
def test_only_imports_that_are_used_come_back(after: str, whole: str) -> None:
    assert with_imports("net.py", BEFORE, after) == whole


def test_other_languages_are_left_alone() -> None:
    assert with_imports("net.yaml", "import: os\n", "x: os\n") == "x: os\n"
