"""One node group split into parts, over several job trackers: what was there goes on, and a dead job
tracker's parts go on elsewhere."""

import collections
import datetime
import itertools
import json
import shutil
import threading
import time

import accounts
import faults
import harness
from cluster_test import BOUND, OVERLAPS, ClusterTest
from harness import slowness, wait_for

GROUP = "large"
PARTS = 4
STAMP = 'echo "$CARILLON_TASK_ID $(date +%s.%N)" >> "$STAMPS"'


def part_of(task, parts=PARTS):
    """As docs/reference/protocol.md says."""
    number = 0xCBF29CE484222325
    for byte in task.encode():
        number = (number ^ byte) * 0x100000001B3 % 2**64
    return number % 64 * parts // 64


class PartsTest(ClusterTest):
    def owners(self):
        """Of each part, the number of its job tracker here."""
        rows = self.one.sql("SELECT g.name, t.name FROM lts_node_group g "
                            "JOIN lts_partition p ON p.partition_id = g.group_id % 64 "
                            "JOIN lts_tracker t ON t.session_id = p.owner AND t.lane = 0 "
                            f"WHERE t.ended = 0 AND g.name LIKE '{GROUP}%'")
        return {int(name.partition("/")[2] or 0): int(tracker.rsplit("-", 1)[1])
                for name, tracker in rows}

    def wait_spread(self, counts):
        def spread():
            owners = self.owners()
            return sorted(collections.Counter(owners.values()).values()) == counts and owners
        return wait_for("the parts to be divided", spread)

    def start_group(self, trackers=3, workers=4, threads=2):
        self.start(0)
        started = [self.one.start_worker("--tracker", self.all, "--group", GROUP, threads=threads, env=self.env)
                   for _ in range(workers)]
        for which in range(1, trackers):
            self.start(which)
        return started

    def split(self, parts=PARTS, **kwargs):
        return self.client("groups", "split", GROUP, "--parts", parts, **kwargs)

    def submit_lines(self, jobs, which=None, status=0):
        text = "".join(json.dumps({"group": GROUP, "shell": STAMP} | job) + "\n" for job in jobs)
        return self.client("-o", "jsonl", "submit", "--stdin", stdin=text, which=which,
                           status=status).lines()


class Split(PartsTest):
    def test_group_is_split_into_partitions_while_it_works(self):
        self.start_group()
        running = [f"running-{number}" for number in range(6)]
        for task in running:
            self.submit(GROUP, task, f"{STAMP}; sleep 4")
        wait_for("them to run", lambda: len(self.read_stamps()) == len(running))
        at = (accounts.now() + datetime.timedelta(seconds=8)).isoformat()
        later = [f"later-{number}" for number in range(20)]
        self.submit_lines([{"task_id": task, "at": at} for task in later])
        waiting = [f"waiting-{number}" for number in range(40)]
        self.submit_lines([{"task_id": task} for task in waiting])
        far = [f"far-{number}" for number in range(10)]
        self.submit_lines([{"task_id": task, "at": "2099-01-01T00:00:00Z"} for task in far])
        held = [f"manual-{number}" for number in range(10)]
        self.submit_lines([{"task_id": task, "manual": True} for task in held])

        said = self.split(which=1)
        self.assertIn(f"group '{GROUP}' has {PARTS} partitions", said.out)
        self.assertIn(f"has {PARTS} partitions", self.split(which=2).out)  # Again is as well.
        self.assertIn("can be split only once", self.split(parts=8, status=1).err)
        self.wait_spread([1, 1, 2])

        # A task id is taken, whoever is asked.
        answers = self.submit_lines([{"task_id": task} for task in far + held], which=2, status=1)
        self.assertEqual({answer["status"] for answer in answers}, {"duplicate"})
        for which in range(3):
            rows = self.client("-o", "jsonl", "list", "--group", GROUP, which=which).lines()
            self.assertEqual(sorted(row["task_id"] for row in rows), sorted(held))
            self.assertEqual({row["group"] for row in rows}, {GROUP})
            shown = self.client("-o", "json", "show", "--group", GROUP, far[which], which=which).json()
            self.assertEqual(shown["state"], "delayed")
            groups = self.client("-o", "jsonl", "groups", which=which).lines()
            self.assertEqual([(row["group"], row["parts"]) for row in groups], [(GROUP, PARTS)])
        for number, task in enumerate(far):
            self.client("cancel", "--group", GROUP, task, which=number % 3)
        for number, task in enumerate(held):
            self.client("trigger", "--group", GROUP, task, which=number % 3)
        wait_for("all to end", self.is_idle)
        self.assertEqual(sorted(task for task, _ in self.read_stamps()),
                         sorted(running + later + waiting + held))
        history = self.client("-o", "jsonl", "history", "--group", GROUP, "--limit", 0).lines()
        ended = collections.Counter(row["state"] for row in history)
        self.assertEqual(ended, {"succeeded": len(running + later + waiting + held),
                                 "cancelled": len(far)})

    def test_parent_triggers_children_in_every_partition(self):
        self.start_group()
        self.submit(GROUP, "first")
        self.split()
        self.wait_spread([1, 1, 2])
        children = [f"child-{number}" for number in range(8)]
        self.assertEqual({part_of(child) for child in children}, set(range(PARTS)))
        self.submit_lines([{"task_id": child, "manual": True} for child in children])
        parent = {"task_id": "parent",
                  "children": [{"group": GROUP, "task_id": child} for child in children]}
        self.submit_lines([parent])
        wait_for("the children", lambda: len(self.read_stamps()) == len(children) + 2)
        self.check_each_ran_once(["first", "parent", *children])

    def test_split_is_refused_on_sqlite(self):
        one = self.cluster()
        one.start_worker("--group", GROUP)
        refused = one.client("groups", "split", GROUP, "--parts", 4, status=1)
        self.assertIn("only with a MariaDB or MySQL store", refused.err)


class Lease(PartsTest):
    def test_joining_job_tracker_stops_no_runs(self):
        lease = ["--lease", "60s"]
        self.start(0, more=lease)
        worker = self.one.start_worker("--tracker", self.all, "--group", GROUP, "--stop-without-lease",
                                       threads=8, env={"STAMPS": str(self.stamps)})
        self.submit(GROUP, "first")
        self.split()
        end = self.folder / "end"
        running = [f"running-{number}" for number in range(4)]
        for task in running:
            self.submit(GROUP, task, f"{STAMP}; until [ -e {end} ]; do sleep 0.1; done")
        wait_for("them to run", lambda: len(self.read_stamps()) == 5)
        self.start(1, more=lease)
        self.wait_spread([2, 2])
        # Of each part, so that the worker works for both by then.
        after = [next(task for task in (f"after-{number}" for number in range(100))
                      if part_of(task) == part) for part in range(PARTS)]
        for task in after:
            self.submit(GROUP, task, STAMP)
        wait_for("more to run", lambda: len(self.read_stamps()) >= 9)
        end.touch()
        self.check_each_ran_once(["first", *running, *after])
        self.assertNotIn("lease expired", worker.log())


class Killed(PartsTest):
    def test_failover_of_partitions_is_bounded_and_runs_jobs_once(self):
        self.start_group()
        self.submit(GROUP, "first")
        self.split()
        owners = self.wait_spread([1, 1, 2])
        victim = owners[0]
        done, tasks, failures = threading.Event(), ["first"], []

        def submit(name, which):
            number = 0
            while not done.is_set():
                number += 1
                some = [f"{name}-{number}-{place}" for place in range(10)]
                lines = "".join(json.dumps({"group": GROUP, "task_id": task, "shell": STAMP}) + "\n"
                                for task in some)
                # Of which one is asked first is whom it turns to.
                order = ",".join(self.address((which + place) % 3) for place in range(3))
                answer = self.one.client("--connect-timeout", "20s", "submit", "--stdin", stdin=lines,
                                         status=None, env={"CARILLON_TRACKER": order})
                if answer.status == 0:
                    tasks.extend(some)
                else:
                    failures.append(repr(answer))

        users = [threading.Thread(target=submit, args=(f"user{which}", which)) for which in range(2)]
        for user in users:
            user.start()
        try:
            wait_for("some jobs", lambda: len(self.read_stamps()) > 60)
            due = [task for task in (f"due-{number}" for number in range(60))
                   if owners[part_of(task)] == victim]
            at = (accounts.now() + datetime.timedelta(seconds=2)).isoformat()
            self.submit_lines([{"task_id": task, "at": at, "priority": 0} for task in due])
            load_before = slowness()
            left_at = time.time()
            self.trackers[victim].kill()
            wait_for("its jobs", lambda: set(due) <= {task for task, _ in self.read_stamps()},
                     pause=0.02)
            before = len(self.read_stamps())
            wait_for("more jobs", lambda: len(self.read_stamps()) > before + 40)
        finally:
            done.set()
            for user in users:
                user.join()
        slowest = max(at - left_at for task, at in self.read_stamps() if task in due)
        allowed = BOUND * max(load_before, slowness())
        print(f"its jobs started after {slowest:.2f} s (allowed {allowed:.1f} s)", flush=True)
        self.assertLess(slowest, allowed)
        self.assertEqual(failures, [])
        self.check_each_ran_once(tasks + due)
        states = collections.Counter(
            row["state"] for row in self.client("-o", "jsonl", "history", "--limit", 0).lines())
        self.assertEqual(set(states), {"succeeded"})


class Rolling(PartsTest):
    def schedules(self):
        """One of each overlap rule in each part."""
        found = {}
        for (number, overlap), part in itertools.product(enumerate(OVERLAPS), range(PARTS)):
            task = next(task for task in (f"{overlap}-{name}" for name in itertools.count())
                        if part_of(task) == part)
            found[task] = (GROUP, overlap, 500 if (part + number) % 2 else 1000)
        return found

    def test_rolling_restart_of_partition_owners_runs_each_fire_once(self):
        workers = self.start_group(threads=8)
        self.submit(GROUP, "first")
        self.split()
        self.wait_spread([1, 1, 2])
        self.schedule(self.schedules())
        self.wait_fired()
        done, tasks, failures = threading.Event(), collections.defaultdict(list), []

        def submit(which):
            order = ",".join(self.address((which + place) % 3) for place in range(3))
            for number in itertools.count():
                if done.wait(0.2):
                    return
                some = [f"user{which}-{number}-{place}" for place in range(PARTS)]
                lines = "".join(json.dumps({"group": GROUP, "task_id": task, "shell": STAMP}) + "\n" for task in some)
                answer = self.one.client("--connect-timeout", "20s", "submit", "--stdin", stdin=lines,
                                         status=None, env={"CARILLON_TRACKER": order})
                if answer.status == 0:
                    tasks[which] += some
                else:
                    failures.append(repr(answer))

        users = [threading.Thread(target=submit, args=(which,)) for which in range(3)]
        for user in users:
            user.start()
        try:
            for which in range(3):
                before = [len(tasks[user]) for user in range(3)]
                wait_for("some jobs of each", lambda: all(
                    len(tasks[user]) > before[user] + 2 * PARTS for user in range(3)))
                self.assertEqual(self.trackers[which].stop(), 0)
                self.wait_spread([2, 2])
                self.start(which)
                self.wait_spread([1, 1, 2])
        finally:
            done.set()
            for user in users:
                user.join()
        self.assertEqual(failures, [])
        self.check_fires()
        self.check_each_ran_once(["first", *itertools.chain.from_iterable(tasks.values())])
        states = collections.Counter(
            row["state"] for row in self.client("-o", "jsonl", "history", "--limit", 0).lines()
            if row["task_id"] not in self.scheduled)
        self.assertEqual(set(states), {"succeeded"})
        for worker in workers:
            self.assertTrue(worker.is_running())


class CutOffTogether(PartsTest):
    SLACK = 0.3  # in which a shell notes that it was told to end

    def test_new_partition_owner_waits_for_worker_known_to_old_owner(self):
        """A host with a job tracker and a task tracker, which goes on while the two reach each other."""
        database, to_second = faults.Proxy(self.mariadb.port), faults.Proxy(self.ports[1])
        self.addCleanup(database.close)
        self.addCleanup(to_second.close)
        tokens = self.one.folder / "run" / "carillon"
        self.start(0, database_port=database.port)
        first = self.one.start_worker(
            "--tracker", f"{self.address(0)},tcp://127.0.0.1:{to_second.port}", "--group", GROUP,
            "--stop-without-lease", threads=2, env=self.env)
        self.client("submit", "--group", GROUP, "--task-id", "first", "--shell", "true", which=0)
        self.split(parts=2, which=0)
        self.start(1)
        shutil.copy(tokens / f"{self.ports[1]}.token", tokens / f"{to_second.port}.token")
        of_first = next(part for part, owner in self.wait_spread([1, 1]).items() if owner == 0)
        wait_for("it to work for both", lambda: f"registered  tracker=tcp://127.0.0.1:{to_second.port}" in first.log())
        task = next(task for task in map("long-{}".format, itertools.count()) if part_of(task, 2) == of_first)
        self.submit(GROUP, task, "trap 'echo end $(date +%s.%N) >> \"$STAMPS\"; exit 1' TERM; "
                                 f"{STAMP}; for i in $(seq 1200); do sleep 0.05; done", which=0)
        wait_for("it to run", self.read_stamps)
        self.one.start_worker("--tracker", self.address(1), "--group", GROUP, threads=2, env=self.env)
        time.sleep(3.5)  # A lease since the second job tracker has begun to work.
        database.cut_off()
        to_second.cut_off()
        ends, starts = wait_for("it to end, and to run elsewhere", lambda: self.ends_and_starts(task))
        print(f"its lease ended {starts[1] - ends[0]:.2f} s before it ran elsewhere", flush=True)
        self.assertLess(ends[0], starts[1] + self.SLACK)

    def ends_and_starts(self, task):
        stamps = self.read_stamps()
        ends = [stamp for what, stamp in stamps if what == "end"]
        starts = [stamp for what, stamp in stamps if what == task]
        return (ends, starts) if ends and len(starts) == 2 else None


if __name__ == "__main__":
    harness.main()
