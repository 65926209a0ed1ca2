"""One cluster for all tests of a file that do not harm it: a process drives one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from clusters import cluster
from executor_bench import made_bench


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a cluster of three nodes with room for one child each; its keepers stay.

    ``settings`` is what sends a run of this process there.
    """
    folder = tmp_path_factory.mktemp("cluster")
    with cluster(2, 2, 2) as made:
        # A busy machine may starve the controller: it is waited for.
        own = f"kind: ray, address: '{made.address}', num_cpus: 2, lifeline: 30"
        made.settings = f"executor: {{{own}, node_dir: {folder / 'nodes'}}}\n"
        anchor = made_bench(folder / "project", made.settings)
        anchor.finish(anchor.executor.submit(anchor.job("g1-i0-a0")), within=300.0)
        yield made
        anchor.executor.close()
