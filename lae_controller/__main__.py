"""``python -m lae_controller``."""

import sys


def _mutate() -> int:
    """Take the short way in for Mutator processes, of which there is one per child."""
    from pathlib import Path

    from lae_controller.mutate import main

    return main(Path(sys.argv[2]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["mutate"] and len(sys.argv) == 3:
        sys.exit(_mutate())
    from lae_controller.cli import main

    main()
