#!/usr/bin/env python3
"""How late fires are while two job trackers with a million definitions on one MariaDB stop, start and die.

Most definitions fire once a year; some hundred fire each second, so that their lateness shows what
the change of owners costs. Not a part of ctest; run it by hand, on a machine with nothing else to do:

  tests/e2e/long/takeover.py --definitions 1000000 --groups 200
"""

import argparse
import collections
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402

WORKED = 8  # groups with ticks and a task tracker
FAR = "0 0 3 1 1 ?"
DEFINITION = ("definition_id, group_id, task_id, keyed, version, kind, state, created_us, next_fire_us, last_fire_us, "
              "generated_through_us, fired, bucket, schedule, tz, spec")
JOB = ("job_id, task_id, definition_id, version, kind, keyed, priority, trigger_time_us, attempt, failures, lost, "
       "triggered, forced, bucket, spec, group_id, suspended")


def group(number):
    return f"group-{number:03}"


STATES = {0: "succeeded", 4: "lost", 7: "skipped", 8: "missed", 10: "cancelled"}  # LogState, those that occur
Row = collections.namedtuple("Row", "group task state due started fires")


class Trackers:
    def __init__(self, cluster, flags):
        self.cluster, self.flags = cluster, flags
        self.ports = [harness.free_port(), harness.free_port()]
        self.running = [None, None]

    @property
    def addresses(self):
        return ",".join(f"tcp://127.0.0.1:{port}" for port in self.ports)

    def start(self, which):
        self.cluster.port = self.ports[which]
        began = time.time()
        self.running[which] = self.cluster.start_tracker("--name", f"tracker-{which}", "--definition-memory", 8192,
                                                         *self.flags, wait=False)
        self.running[which].ready(600)
        print(f"tracker-{which} ready after {time.time() - began:.1f} s", flush=True)

    def owners(self):
        return [row[0] for row in self.cluster.sql(
            "SELECT p.owner FROM lts_node_group g JOIN lts_partition p ON p.partition_id = g.group_id % 64 "
            "JOIN lts_tracker t ON t.session_id = p.owner AND t.lane = 0 WHERE t.ended = 0")]

    def wait_owned_by(self, count, groups):
        def is_divided():
            owners = self.owners()
            counts = [owners.count(owner) for owner in set(owners)]
            return len(owners) == groups and len(counts) == count and max(counts) - min(counts) <= groups // 16 + 1
        began = time.time()
        harness.wait_for(f"the groups to be divided among {count}", is_divided, 600)
        print(f"divided among {count} after {time.time() - began:.1f} s", flush=True)


def copy_definitions(cluster, given):
    """Copies of each group's one definition, in steps, so that no transaction is large."""
    began = time.time()
    each = given.definitions // given.groups
    originals = cluster.sql("SELECT definition_id, group_id FROM lts_cron_job_queue WHERE task_id = 'far'")
    high = max(int(row[0]) for row in cluster.sql("SELECT definition_id FROM lts_definition_high"))
    job_high = int(cluster.sql("SELECT MAX(id_high) FROM lts_tracker")[0][0])
    statements = []
    for at, (definition, group_id) in enumerate(originals):
        first = high + 1 + at * each
        first_job = job_high + 1 + at * each
        columns = DEFINITION.replace("definition_id", f"{first} + seq", 1).replace("task_id", "CONCAT('far-', seq)", 1)
        statements.append(f"INSERT INTO lts_cron_job_queue ({DEFINITION}) SELECT {columns} FROM lts_cron_job_queue, "
                          f"seq_1_to_{each - 1} WHERE definition_id = {definition};")
        statements.append(f"INSERT INTO lts_delayed_task_id (group_id, task_id, job_id, definition_id) "
                          f"SELECT group_id, CONCAT('far-', seq), 0, {first} + seq FROM lts_delayed_task_id, "
                          f"seq_1_to_{each - 1} WHERE group_id = {group_id} AND task_id = 'far';")
        statements.append(f"INSERT INTO lts_task_id (group_id, task_id, job_id, definition_id) "
                          f"SELECT group_id, CONCAT('far-', seq), 0, {first} + seq FROM lts_task_id, "
                          f"seq_1_to_{each - 1} WHERE group_id = {group_id} AND task_id = 'far';")
        columns = (JOB.replace("definition_id", f"{first} + seq", 1).replace("task_id", "CONCAT('far-', seq)", 1)
                   .replace("job_id", f"{first_job} + seq", 1))
        statements.append(f"INSERT INTO lts_delayed_job_queue ({JOB}) SELECT {columns} FROM lts_delayed_job_queue, "
                          f"seq_1_to_{each - 1} WHERE definition_id = {definition};")
    end = high + 1 + len(originals) * each
    statements.append(f"UPDATE lts_definition_high SET definition_id = {end};")
    statements.append(f"UPDATE lts_tracker SET id_high = {job_high + 64 * (1 + len(originals) * each)};")
    for at in range(0, len(statements), 200):
        cluster.write("\n".join(statements[at:at + 200]))
    total = cluster.sql("SELECT COUNT(*) FROM lts_cron_job_queue")[0][0]
    print(f"{total} definitions after {time.time() - began:.0f} s", flush=True)


def tick_jobs(given):
    for number in range(WORKED):
        for tick in range(given.ticks // WORKED):
            single = tick % 2 == 0
            yield {"group": group(number), "task_id": f"tick-{tick}", "handler": "noop", "every": "1s",
                   "overlap": "skip" if single else "parallel",
                   "misfire": "skip" if single else "fire_all"}


def show(step, rows, since, until):
    late, outcomes = [], collections.Counter()
    for row in rows:
        if since <= row.due < until:
            outcomes[row.state] += row.fires
            if row.state == "succeeded":
                late.append((row.started - row.due) * 1000)
    late.sort()
    if not late:
        return print(f"{step:18} nothing ran: {dict(outcomes)}", flush=True)
    print(f"{step:18} {len(late):6} runs  p50 {late[len(late) // 2]:7.0f}  p99 {late[len(late) * 99 // 100]:7.0f}  "
          f"most {late[-1]:7.0f} ms  over 1 s: {sum(one > 1000 for one in late)}  {dict(outcomes)}", flush=True)


def check_each_once(rows):
    """Whether each fire of each tick has one outcome, but those of the last seconds."""
    fires = collections.defaultdict(collections.Counter)
    for row in rows:
        for more in range(row.fires):
            fires[row.group, row.task][round(row.due) + more] += 1
    wrong = collections.Counter()
    for due in fires.values():
        wrong["twice"] += sum(count > 1 for count in due.values())
        wrong["none"] += max(due) - min(due) + 1 - len(due)
    print(f"fires without an outcome: {wrong['none']}, with two: {wrong['twice']}", flush=True)
    return not wrong["none"] and not wrong["twice"]


def run(cluster, given):
    trackers = Trackers(cluster, given.flag)
    env = {"CARILLON_TRACKER": trackers.addresses}
    trackers.start(0)
    cluster.submit_all([{"group": group(number), "task_id": "far", "handler": "noop", "cron": FAR, "tz": "UTC"} for number in range(given.groups)])
    assert trackers.running[0].stop() == 0
    copy_definitions(cluster, given)
    trackers.start(0)
    for number in range(WORKED):
        cluster.start_worker("--tracker", trackers.addresses, "--group", group(number), threads=8)
    for answer in cluster.submit_all(list(tick_jobs(given)), env=env):
        assert answer["status"] == "accepted", answer
    time.sleep(5)
    steps = [("a start", time.time())]
    trackers.start(1)
    trackers.wait_owned_by(2, given.groups)
    time.sleep(5)
    steps.append(("quiet", time.time()))
    time.sleep(10)
    steps.append(("an orderly stop", time.time()))
    assert trackers.running[0].stop(patience=600) == 0
    print(f"stopped after {time.time() - steps[-1][1]:.1f} s", flush=True)
    trackers.wait_owned_by(1, given.groups)
    time.sleep(given.after)
    steps.append(("a start again", time.time()))
    trackers.start(0)
    trackers.wait_owned_by(2, given.groups)
    time.sleep(5)
    if given.kill:
        steps.append(("a death", time.time()))
        trackers.running[0].kill()
        trackers.wait_owned_by(1, given.groups)
        time.sleep(given.after)
    steps.append(("end", time.time()))
    time.sleep(2)
    rows = [Row(int(group_id), task, STATES.get(int(state), state), int(due) / 1e6, int(started) / 1e6, int(fires))
            for group_id, task, state, due, started, fires in cluster.sql(
                "SELECT group_id, task_id, state, trigger_time_us, started_us, fires FROM lts_job_log "
                "WHERE task_id LIKE 'tick-%' AND final = 1")]
    for (step, since), (_, until) in zip(steps, steps[1:]):
        show(step, rows, since - 0.1, until - 0.1)
    log = (cluster.folder / "logs" / "jobtracker.log").read_text("utf-8", "replace").splitlines()
    print(f"lines in the log: {len(log)}", flush=True)
    return check_each_once(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--definitions", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--ticks", type=int, default=400, help="definitions that fire each second")
    parser.add_argument("--after", type=float, default=30, help="seconds after a stop until the next step")
    parser.add_argument("--kill", action="store_true", help="also kill one")
    parser.add_argument("--flag", action="append", default=[], help="of the job trackers")
    parser.add_argument("--keep", help="folder for the logs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="carillon-long-") as folder:
        folder = pathlib.Path(given.keep or folder)
        mariadb = harness.Mariadb(folder / "mariadb")
        cluster = harness.Cluster(folder / "cluster", mariadb)
        try:
            return 0 if run(cluster, given) else 1
        finally:
            cluster.close()
            mariadb.close()


if __name__ == "__main__":
    sys.exit(main())
