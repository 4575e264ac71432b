"""A local Ray cluster of two nodes with a token: a program that prints its address and reads commands.

``kill`` stops one node without a graceful shutdown; the end of standard input ends the cluster.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


def serve(cpus: int, gpus: int) -> None:
    from ray.cluster_utils import Cluster

    head = {"num_cpus": cpus, "num_gpus": gpus, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    second = cluster.add_node(num_cpus=cpus)
    print(cluster.address, flush=True)
    for command in sys.stdin:
        assert command == "kill\n"
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)
    cluster.shutdown()


@dataclass(frozen=True)
class TwoNodes:
    """A running cluster: its address, and the environment variables of a driver."""

    address: str
    environment: dict[str, str]
    process: subprocess.Popen

    def kill_one(self) -> None:
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "killed\n"


@contextmanager
def two_nodes(folder: Path, environment: dict[str, str], *, cpus: int = 2, gpus: int = 0) -> Iterator[TwoNodes]:
    """A context manager that runs a cluster; the first node has GPUs, which need not exist."""
    token = folder / "token"
    token.write_text("0123456789abcdef" * 4)
    ray_variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, __file__, str(cpus), str(gpus)]
    with (
        (folder / "ray.log").open("w") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment | ray_variables,
        ) as process,
    ):
        address = process.stdout.readline().strip()
        assert address, (folder / "ray.log").read_text()
        yield TwoNodes(address, environment | ray_variables, process)
        process.stdin.close()


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
