"""``python -m lae_controller``."""

import sys


def _mutate() -> int:
    """Take the short way in for Mutator processes, of which there is one per child."""
    from pathlib import Path

    from lae_controller.mutate import main

    return main(Path(sys.argv[2]))


def _serve() -> int:
    """Take the short way in for the process that Mutators are forked off."""
    from pathlib import Path

    from lae_controller.mutator_server import serve

    return serve(Path(sys.argv[3]), sys.argv[4], float(sys.argv[5]))


def _mirror() -> int:
    """Take the short way in for the process of one tracker."""
    from pathlib import Path

    from lae_controller.trackers.far_end import main

    return main(sys.argv[2], Path(sys.argv[3]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["mirror"] and len(sys.argv) == 4:
        sys.exit(_mirror())
    if sys.argv[1:3] == ["mutate", "--serve"]:
        sys.exit(_serve())
    if sys.argv[1:2] == ["mutate"] and len(sys.argv) == 3:
        sys.exit(_mutate())
    from lae_controller.cli import main

    main()
