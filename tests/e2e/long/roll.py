#!/usr/bin/env python3
"""How late jobs are while job trackers on one MariaDB are restarted in turn, join and leave.

Four node groups have a fire each 50 ms. Each job tracker in turn is stopped with SIGTERM and started
again; what is printed of each step is the lateness of the fires that were due around it, beside that
of a quiet stretch. Not a part of ctest; run it by hand, on a machine with nothing else to do:

  tests/e2e/long/roll.py --trackers 2 --rounds 5
"""

import argparse
import datetime
import json
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402

GROUPS = [f"group-{number}" for number in range(4)]
AROUND = 3.0  # seconds from a step on whose fires count as its own


class Trackers:
    def __init__(self, cluster, count):
        self.cluster = cluster
        self.ports = [harness.free_port() for _ in range(count)]
        self.running = [None] * count

    @property
    def addresses(self):
        return ",".join(f"tcp://127.0.0.1:{port}" for port in self.ports)

    def start(self, which):
        self.cluster.port = self.ports[which]
        self.running[which] = self.cluster.start_tracker("--name", f"tracker-{which}")

    def is_divided(self):
        owners = [row[0] for row in self.cluster.sql(
            "SELECT p.owner FROM lts_node_group g JOIN lts_partition p ON p.partition_id = g.group_id % 64 "
            "JOIN lts_tracker t ON t.session_id = p.owner AND t.lane = 0 WHERE t.ended = 0")]
        counts = [owners.count(owner) for owner in set(owners)]
        return len(owners) == len(GROUPS) and len(counts) == min(len(self.running), len(GROUPS)) and \
            max(counts) - min(counts) <= 1

    def wait_divided(self):
        harness.wait_for("the groups to be divided", self.is_divided)
        time.sleep(AROUND)


def lateness(cluster, env):
    """(when due, ms late) of each fire."""
    rows = []
    for group in GROUPS:
        answer = cluster.client("-o", "jsonl", "history", "--group", group, "--task-id", "tick", "--limit", 0,
                                env=env)
        for row in map(json.loads, answer.out.splitlines()):
            if row["attempt"] == 0:
                rows.append((None, row["state"]))
                continue
            started = datetime.datetime.fromisoformat(row["started_at"].replace("Z", "+00:00")).timestamp()
            rows.append((started - row["lateness_ms"] / 1000, row["lateness_ms"]))
    return rows


def show(name, late):
    late = sorted(late)
    over = sum(one > 50 for one in late)
    print(f"{name:26} fires {len(late):6}  p50 {statistics.median(late):6.1f}  "
          f"p99 {late[len(late) * 99 // 100]:6.1f}  most {late[-1]:6.1f} ms  over 50 ms: {over}", flush=True)


def run(cluster, trackers, rounds):
    trackers.start(0)
    for group in GROUPS:
        cluster.start_worker("--tracker", trackers.addresses, "--group", group, threads=4)
    for which in range(1, len(trackers.running)):
        trackers.start(which)
    trackers.wait_divided()
    env = {"CARILLON_TRACKER": trackers.addresses}
    for group in GROUPS:
        cluster.client("submit", "--group", group, "--task-id", "tick", "--every", "50ms", "--overlap",
                       "parallel", "--misfire", "fire_all", "--handler", "noop", env=env)
    time.sleep(1)
    steps = [("quiet", time.time())]
    time.sleep(10)
    for _ in range(rounds):
        for which in range(len(trackers.running)):
            steps.append((f"tracker-{which} stops", time.time()))
            assert trackers.running[which].stop() == 0
            time.sleep(AROUND + 1)
            steps.append((f"tracker-{which} starts", time.time()))
            trackers.start(which)
            trackers.wait_divided()
    for group in GROUPS:
        cluster.client("cancel", "tick", "--group", group, env=env)
    time.sleep(1)
    rows = lateness(cluster, env)
    print("without a run:", sum(due is None for due, _ in rows))
    kinds = {}
    for (name, since), (_, until) in zip(steps, steps[1:] + [("end", time.time())]):
        late = [ms for due, ms in rows if due is not None and since - 0.1 <= due < until - 0.1]
        show(name, late)
        kinds.setdefault(name.split(" ")[-1], []).append(max(late))
    for kind, most in kinds.items():
        print(f"{kind}: the latest fire of each, ms: {' '.join(f'{one:.0f}' for one in most)}, "
              f"median {statistics.median(most):.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trackers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", help="folder for the logs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="carillon-long-") as folder:
        folder = pathlib.Path(given.keep or folder)
        mariadb = harness.Mariadb(folder / "mariadb")
        cluster = harness.Cluster(folder / "cluster", mariadb)
        try:
            run(cluster, Trackers(cluster, given.trackers), given.rounds)
        finally:
            cluster.close()
            mariadb.close()


if __name__ == "__main__":
    main()
