#!/usr/bin/env python3
"""How late jobs are while job trackers on one MariaDB are restarted in turn, join and leave.

Beside each other: fires that task trackers of four node groups pull, fires pushed to an executor of
xxl-job, fires of a group in four parts, and jobs submitted for now, of which also the time from the
call to the start counts. Each job tracker in turn is stopped with SIGTERM and started again; what is
printed of each step is the lateness of what was due around it, beside that of a quiet stretch. Not a
part of ctest; run it by hand, on a machine with nothing else to do:

  tests/e2e/long/roll.py --trackers 2 --rounds 5
"""

import argparse
import collections
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402

GROUPS = [f"group-{number}" for number in range(4)]
APP = "app"
LARGE = "large"
PARTS = 4
TOKEN = "default_token"
FIRES = ([("pulled", group, "tick") for group in GROUPS]
         + [("pushed", APP, f"tick-{number}") for number in range(3)]
         + [("parts", LARGE, f"tick-{number}") for number in range(8)])
EVERY = {"pulled": 0.05, "pushed": 0.05, "parts": 0.1}
CALL_EVERY = 0.04
AROUND = 3.0  # seconds from a step on whose fires count as its own


class Trackers:
    def __init__(self, cluster, count):
        self.cluster = cluster
        self.ports = [harness.free_port() for _ in range(count)]
        self.xxl_ports = [harness.free_port() for _ in range(count)]
        self.running = [None] * count

    @property
    def addresses(self):
        return ",".join(f"tcp://127.0.0.1:{port}" for port in self.ports)

    @property
    def admins(self):
        return ",".join(f"http://127.0.0.1:{port}/xxl-job-admin" for port in self.xxl_ports)

    def start(self, which):
        self.cluster.port = self.ports[which]
        self.running[which] = self.cluster.start_tracker(
            "--name", f"tracker-{which}", "--xxl-token", TOKEN,
            "--xxl-listen", f"127.0.0.1:{self.xxl_ports[which]}")

    def is_divided(self):
        owners = [row[0] for row in self.cluster.sql(
            "SELECT p.owner FROM lts_node_group g JOIN lts_partition p ON p.partition_id = g.group_id % 64 "
            "JOIN lts_tracker t ON t.session_id = p.owner AND t.lane = 0 WHERE t.ended = 0")]
        counts = [owners.count(owner) for owner in set(owners)]
        return len(owners) == len(GROUPS) + 1 + PARTS and len(counts) == len(self.running) and \
            max(counts) - min(counts) <= 1

    def wait_divided(self):
        harness.wait_for("the groups to be divided", self.is_divided)
        time.sleep(AROUND)


class Caller:
    """Submits jobs for now, one after the other has been answered, from one process."""

    def __init__(self, cluster, env):
        self.called = {}  # when, by task id
        self._ends = threading.Event()
        self._client = subprocess.Popen(
            [harness.BIN / "jobclient", "-o", "jsonl", "submit", "--stdin"], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**cluster.client_env(), **env})
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._ends.wait(CALL_EVERY):
            task, group = f"now-{len(self.called)}", GROUPS[len(self.called) % len(GROUPS)]
            self.called[task] = time.time()
            self._client.stdin.write(json.dumps({"group": group, "task_id": task, "handler": "noop"}) + "\n")
            answer = json.loads(self._client.stdout.readline())
            assert answer["status"] == "accepted", answer

    def end(self):
        self._ends.set()
        self._thread.join()
        self._client.communicate()


def at(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def history(cluster, env, group):
    """Of what ran or should have, and was not cancelled at the end, by task id."""
    answer = cluster.client("-o", "jsonl", "history", "--group", group, "--limit", 0, env=env)
    found = collections.defaultdict(list)
    for row in map(json.loads, answer.out.splitlines()):
        if row["state"] not in ("cancelled", "killed"):
            found[row["task_id"]].append(row)
    return found


def check_each_once(kind, rows, period=None):
    """Tells of what did not run once. An attempt that was not handed out is none."""
    due = collections.Counter(row["trigger_time"] for row in rows)
    wrong = [f"{row['state']}: {row['message']}" for row in rows if row["state"] != "succeeded"]
    wrong += [f"{count} times" for count in due.values() if count > 1]
    if period:
        times = sorted(map(at, due))
        missing = round((times[-1] - times[0]) / period) + 1 - len(times)
        wrong += ["missing"] * missing
    if wrong or not rows:
        print(f"NOT ONCE: {kind}: {collections.Counter(wrong)}", flush=True)
    return not wrong and bool(rows)


def collect(cluster, env, called):
    """[(kind, when due, ms late)], and whether each ran once."""
    histories = {group: history(cluster, env, group) for group in [*GROUPS, APP, LARGE]}
    late, is_right = [], True
    for kind, group, task in FIRES:
        rows = histories[group][task]
        is_right = check_each_once(kind, rows, EVERY[kind]) and is_right
        late += [(kind, at(row["trigger_time"]), row["lateness_ms"]) for row in rows]
    for task, when in called.items():
        rows = [row for group in GROUPS for row in histories[group][task]]
        is_right = check_each_once("submitted", rows) and is_right
        for row in rows:
            late.append(("submitted", when, row["lateness_ms"]))
            late.append(("from the call", when, (at(row["started_at"]) - when) * 1000))
    return late, is_right


def show(step, kind, late):
    late = sorted(late)
    over = sum(one > 50 for one in late)
    print(f"{step:18} {kind:14} {len(late):6}  p50 {statistics.median(late):6.1f}  "
          f"p99 {late[len(late) * 99 // 100]:6.1f}  most {late[-1]:6.1f} ms  over 50 ms: {over}", flush=True)


def start(cluster, trackers):
    trackers.start(0)
    for group in GROUPS:
        cluster.start_worker("--tracker", trackers.addresses, "--group", group, threads=4)
    cluster.start_worker("--tracker", trackers.addresses, "--group", LARGE, threads=8)
    cluster.workers.append(harness.Program(
        [harness.BIN / "tasktracker", "--tracker", "off", "--xxl-admin", trackers.admins, "--xxl-appname", APP,
         "--xxl-port", 0, "--xxl-token", TOKEN, "--data", cluster.folder / "data" / APP],
        cluster.folder / "logs" / f"{APP}.log", cluster.env, "tasktracker"))
    cluster.workers[-1].ready()
    for which in range(1, len(trackers.running)):
        trackers.start(which)
    cluster.client("groups", "split", LARGE, "--parts", PARTS, env={"CARILLON_TRACKER": trackers.addresses})
    trackers.wait_divided()


def run(cluster, trackers, rounds):
    start(cluster, trackers)
    env = {"CARILLON_TRACKER": trackers.addresses}
    for kind, group, task in FIRES:
        cluster.client("submit", "--group", group, "--task-id", task, "--every", f"{EVERY[kind] * 1000:.0f}ms",
                       "--overlap", "parallel", "--misfire", "fire_all", "--handler", "noop",
                       *(["--dispatch", "push"] if kind == "pushed" else []), env=env)
    caller = Caller(cluster, env)
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
    steps.append(("end", time.time()))
    caller.end()
    for _, group, task in FIRES:
        cluster.client("cancel", task, "--group", group, env=env)
    time.sleep(1)
    every, is_right = collect(cluster, env, caller.called)
    most = collections.defaultdict(list)
    for (step, since), (_, until) in zip(steps, steps[1:]):
        by_kind = collections.defaultdict(list)
        for kind, due, ms in every:
            if since - 0.1 <= due < until - 0.1:
                by_kind[kind].append(ms)
        for kind, late in by_kind.items():
            show(step, kind, late)
            most[kind, step.split(" ")[-1]].append(max(late))
    for (kind, step), late in sorted(most.items()):
        print(f"{kind}, {step}: the latest of each, ms: {' '.join(f'{one:.0f}' for one in late)}, "
              f"median {statistics.median(late):.0f}")
    return is_right


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
            return 0 if run(cluster, Trackers(cluster, given.trackers), given.rounds) else 1
        finally:
            cluster.close()
            mariadb.close()


if __name__ == "__main__":
    sys.exit(main())
