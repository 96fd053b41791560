"""Several job trackers on one database, each with the node groups that it looks after: killed, frozen,
restarted in turn and joined by others, while every group has work."""

import collections
import datetime
import itertools
import json
import pathlib
import re
import shutil
import signal
import threading
import time

import accounts
import faults
import harness
from harness import E2eTest, slowness, wait_for
from outbox_test import entries

BOUND = 5.0  # seconds from the death of a job tracker to its jobs starting elsewhere
KEEP_STAMPS = 'echo "$CARILLON_TASK_ID $(date +%s.%N)" >> "$STAMPS"'
GROUPS = [f"group-{number}" for number in range(4)]
# What the runs of a schedule with this overlap rule do besides noting themselves.
OVERLAPS = {"parallel": "true", "queue": "true", "skip": "sleep 0.7", "queue_one": "sleep 0.7",
            "cancel_running": "sleep 0.7"}


class ClusterTest(E2eTest):
    uses_mariadb = True

    def setUp(self):
        super().setUp()
        self.stamps, self.notes = self.folder / "stamps", self.folder / "notes"
        self.env = {"STAMPS": str(self.stamps), "NOTES": str(self.notes)}
        self.one = self.cluster(self.mariadb, tracker=False)
        self.ports = [harness.free_port() for _ in range(3)]
        self.trackers = [None] * 3

    def start(self, which, database_port=None, more=()):
        self.one.port = self.ports[which]
        self.one.store_url = self.mariadb.url(self.one.database, database_port)
        tracker = self.one.start_tracker("--name", f"tracker-{which}", *more)
        self.trackers[which] = tracker
        self.addCleanup(tracker.kill)
        self.addCleanup(tracker.send, signal.SIGCONT)
        return tracker

    def address(self, which):
        return f"tcp://127.0.0.1:{self.ports[which]}"

    @property
    def all(self):
        return ",".join(self.address(which) for which in range(3))

    def start_workers(self, threads=4):
        return [self.one.start_worker("--tracker", self.all, "--group", group, threads=threads, env=self.env)
                for group in GROUPS]

    def client(self, *args, which=None, **kwargs):
        tracker = self.all if which is None else self.address(which)
        return self.one.client(*args, env={"CARILLON_TRACKER": tracker}, **kwargs)

    def submit(self, group, task, shell=KEEP_STAMPS, which=None, more=()):
        return self.client("submit", "--group", group, "--task-id", task, *more, "--shell", shell,
                           which=which)

    def groups_of(self):
        """Which of the groups each job tracker looks after, by its number here."""
        owners = dict(self.one.sql("SELECT g.name, t.name FROM lts_node_group g "
                                   "JOIN lts_partition p ON p.partition_id = g.group_id % 64 "
                                   "JOIN lts_tracker t ON t.session_id = p.owner AND t.lane = 0 "
                                   "WHERE t.ended = 0"))
        found = collections.defaultdict(list)
        for group, tracker in owners.items():
            if group in GROUPS:
                found[int(tracker.rsplit("-", 1)[1])].append(group)
        return found

    def wait_divided(self, counts):
        return wait_for("the groups to be divided", lambda: (
            sorted(len(groups) for groups in self.groups_of().values()) == counts
            and self.groups_of()))

    def start_cluster(self, trackers=2, database_port=None, threads=4):
        self.start(0, database_port)
        workers = self.start_workers(threads)
        for which in range(1, trackers):
            self.start(which)
        self.wait_divided([2, 2] if trackers == 2 else [1, 1, 2])
        return workers

    def read_stamps(self):
        if not self.stamps.exists():
            return []
        return [(task, float(at)) for task, at in
                (line.split() for line in self.stamps.read_text().splitlines())]

    def is_idle(self):
        return not self.client("-o", "jsonl", "waiting").lines() and \
            not self.client("-o", "jsonl", "executing").lines()

    def check_each_ran_once(self, tasks):
        wait_for("all to end", self.is_idle)
        self.assertEqual(sorted(task for task, _ in self.read_stamps()), sorted(tasks))

    def schedule(self, tasks):
        """Tasks that fire from soon on: their groups, overlap rules and milliseconds, by task id."""
        self.scheduled = tasks
        self.first = accounts.now().replace(microsecond=0) + 3 * accounts.SECOND
        specs = [{"task_id": task, "group": group, "overlap": overlap, "every": f"{step}ms",
                  "first": self.first.isoformat(), "shell": f"{accounts.NOTE}; {OVERLAPS[overlap]}"}
                 for task, (group, overlap, step) in tasks.items()]
        self.client("submit", "--stdin", stdin="".join(json.dumps(spec) + "\n" for spec in specs))

    def wait_fired(self, since=None):
        """Each of them runs, for a fire later than `since`."""
        def fired():
            return {run.task_id for run in accounts.notes(self.notes)
                    if since is None or accounts.instant(run.trigger_time) > since}
        wait_for("all to fire", lambda: fired() == set(self.scheduled), patience=120, pause=0.3)

    def check_fires(self):
        """Each fire until now has one outcome, none ran twice, and what ran is what is recorded."""
        through = accounts.now()
        self.wait_fired(through)
        for task, (group, _, _) in self.scheduled.items():
            self.client("suspend", "--group", group, task)
        wait_for("all to end", self.is_idle, patience=120)
        rows = collections.defaultdict(list)
        for row in self.client("-o", "jsonl", "history", "--limit", 0).lines():
            if row["task_id"] in self.scheduled:
                rows[row["task_id"]].append(row)
        runs = accounts.notes(self.notes)
        self.assertEqual(accounts.doubled(runs, dead_nodes=()), [])
        noted = {(run.job_id, run.attempt, run.node) for run in runs}
        for task, (_, overlap, step) in self.scheduled.items():
            fires = accounts.every_so_often(step, self.first, accounts.now())
            self.assertEqual(accounts.account(fires, rows[task], through), [], f"fires of {task}")
            # One that is cancelled by the next fire may have written nothing yet.
            allowed = {"succeeded", "killed"} if overlap == "cancel_running" else {"succeeded"}
            ran = [row for row in rows[task] if row["attempt"]]
            self.assertLessEqual({row["state"] for row in ran}, allowed, task)
            recorded = {(row["job_id"], row["attempt"], row["node"]): row["state"] for row in ran}
            own = {(run.job_id, run.attempt, run.node) for run in runs if run.task_id == task}
            self.assertEqual(own - set(recorded), set(), f"ran, and is not recorded: {task}")
            self.assertEqual({run for run, state in recorded.items() if state == "succeeded"} - noted, set(), task)
        ended = collections.Counter()
        for row in itertools.chain.from_iterable(rows.values()):
            ended[row["state"]] += row["count"] if row["attempt"] == 0 else 1
        print(f"fires: {dict(ended)}", flush=True)


class Divided(ClusterTest):
    def test_each_group_has_one_owner_and_any_tracker_answers(self):
        self.start_cluster()
        tasks = []
        for which in range(2):
            for group in GROUPS:
                tasks.append(f"{group}-of-{which}")
                self.submit(group, tasks[-1], which=which)
        self.check_each_ran_once(tasks)
        claimed = [self.client("-o", "json", "stats", which=which).json()["jobs_claimed_total"]
                   for which in range(2)]
        self.assertEqual(claimed, [4, 4])
        # The same of each, whichever the groups' owners are.
        groups, nodes = ([self.client("-o", "jsonl", verb, which=which).lines() for which in range(2)]
                         for verb in ("groups", "nodes"))
        for rows in nodes:
            for row in rows:
                row.pop("last_seen")
        self.assertEqual((groups[0], nodes[0]), (groups[1], nodes[1]))
        self.assertEqual({row["group"]: (row["nodes"], row["executing"]) for row in groups[0]},
                         dict.fromkeys(GROUPS, (1, 0)))
        self.assertEqual([row["free"] for row in nodes[0]], [row["threads"] for row in nodes[0]])

    def test_a_schedule_is_visible_and_cancellable_through_any_job_tracker(self):
        self.start_cluster()
        for group in GROUPS:
            self.submit(group, f"tick-{group}", which=0, more=["--every", "1s"])
        for which in range(2):
            rows = self.client("-o", "jsonl", "list", which=which).lines()
            self.assertEqual(sorted(row["task_id"] for row in rows),
                             [f"tick-{group}" for group in GROUPS])
        wait_for("all to run", lambda: len({task for task, _ in self.read_stamps()}) == 4)
        for group in GROUPS:
            self.client("cancel", "--group", group, f"tick-{group}", which=1)
        self.assertEqual(self.client("-o", "jsonl", "list", which=0).lines(), [])

    def test_a_worker_that_cannot_reach_its_owner_names_it(self):
        self.start_cluster()
        group = self.groups_of()[0][0]
        said = f"owner={self.address(0)}  group={group}"
        stray = self.one.start_worker("--tracker", self.address(1), "--group", group, wait=False)
        wait_for("it to be said", lambda: said in stray.log())
        self.assertIn("(list it in --tracker)", stray.log())
        time.sleep(2)  # It is sent away several times meanwhile.
        self.assertEqual(stray.log().count(said), 1)
        self.assertEqual(stray.stop(), 0)

    def test_one_submission_for_many_groups_is_answered_in_order(self):
        self.start_cluster()
        tasks = [f"job-{number}" for number in range(20)]
        text = "".join(f'{{"task_id": "{task}", "group": "{GROUPS[number % 4]}", '
                       f'"shell": "echo $CARILLON_TASK_ID 0 >> $STAMPS"}}\n'
                       for number, task in enumerate(tasks))
        answers = self.client("-o", "jsonl", "submit", "--stdin", stdin=text, which=1).lines()
        self.assertEqual([answer["task_id"] for answer in answers], tasks)
        self.assertEqual({answer["status"] for answer in answers}, {"accepted"})
        self.check_each_ran_once(tasks)

    def test_feedback_of_every_group_reaches_listeners_at_any_tracker(self):
        self.start_cluster()
        told, tasks = [], []
        for which in range(2):
            for group in GROUPS:
                tasks.append(f"{group}-{which}")
                self.submit(group, tasks[-1], more=["--need-feedback", "--client-group", "billing"])
            rows = self.client("-o", "jsonl", "feedback", "--client-group", "billing", "--limit", 4,
                               which=which).lines()
            told += [row["task_id"] for row in rows]
        self.assertEqual(sorted(told), sorted(tasks))
        self.assertEqual(self.one.number("SELECT COUNT(*) FROM lts_feedback_queue"), 0)

    def test_a_group_that_moved_away_and_back_is_recovered(self):
        workers = self.start_cluster()
        group = self.groups_of()[1][0]
        self.assertEqual(self.trackers[1].stop(), 0)
        wait_for("the first to have all again", lambda: len(self.groups_of()[0]) == len(GROUPS))
        self.submit(group, "long", f"{KEEP_STAMPS}; sleep 2",
                    more=["--need-feedback", "--client-group", "billing"])
        wait_for("it to run", lambda: len(self.read_stamps()) == 1)
        workers[GROUPS.index(group)].kill()
        self.one.start_worker("--tracker", self.all, "--group", group, threads=4,
                              env={"STAMPS": str(self.stamps)})
        row, = self.client("-o", "jsonl", "feedback", "--client-group", "billing", "--limit", 1).lines()
        self.assertEqual((row["task_id"], row["state"], row["attempt"]), ("long", "succeeded", 2))
        self.assertEqual([task for task, _ in self.read_stamps()], ["long", "long"])

    def submit_parent(self, group, task, child_group, child, **more):
        spec = {"task_id": task, "group": group, "manual": True, "shell": KEEP_STAMPS,
                "overlap": "parallel", "children": [{"group": child_group, "task_id": child}]}
        return self.client("-o", "jsonl", "submit", "--stdin", stdin=json.dumps(spec) + "\n",
                           **more)

    def test_a_child_loop_across_two_job_trackers_is_refused(self):
        self.start_cluster()
        (here, there), (elsewhere, _) = self.groups_of().values()
        first = self.submit_parent(here, "a", elsewhere, "b").lines()[0]
        self.assertIn(f"not defined yet: {elsewhere}/b", first["warning"])
        second = self.submit_parent(elsewhere, "b", there, "c").lines()[0]
        self.assertIn(f"not defined yet: {there}/c", second["warning"])
        refused = self.submit_parent(there, "c", here, "a", status=1).lines()[0]
        self.assertIn(f"children form a loop: {there}/c > {here}/a > {elsewhere}/b > {there}/c",
                      refused["reason"])
        again = self.submit_parent(elsewhere, "before", here, "a").lines()[0]
        self.assertNotIn("warning", again)

    def test_a_stored_child_loop_is_not_run_endlessly(self):
        # As two submissions at the same time may store it, each before the other is to be seen.
        self.start_cluster()
        (here, _), (elsewhere, _) = self.groups_of().values()

        def rename(old, new):
            for tracker in self.trackers[:2]:
                tracker.kill()
            for table in ("lts_repeat_job_queue", "lts_task_id"):
                self.one.write(f"UPDATE {table} SET task_id = '{new}' WHERE task_id = '{old}'")
            for which in range(2):
                self.start(which)
            self.wait_divided([2, 2])

        self.submit_parent(here, "a", elsewhere, "b")
        rename("a", "hidden")
        self.submit_parent(elsewhere, "b", here, "a")
        rename("hidden", "a")
        self.client("trigger", "a", "--group", here)
        wait_for("the loop to be noticed", lambda: any(
            "children form a loop: " in row["message"]
            for row in self.client("-o", "jsonl", "history").lines()))
        self.check_each_ran_once(["a"])

    def test_a_success_triggers_children_in_every_group(self):
        self.start_cluster()
        for group in GROUPS:
            self.submit(group, f"child-of-{group}", more=["--manual"])
        children = [{"group": group, "task_id": f"child-of-{group}"} for group in GROUPS]
        children += [{"group": group, "task_id": "nobody"} for group in GROUPS]
        parent = {"task_id": "parent", "group": GROUPS[0], "shell": KEEP_STAMPS, "children": children}
        self.client("submit", "--stdin", stdin=json.dumps(parent) + "\n")
        wait_for("the children", lambda: len(self.read_stamps()) == 5)
        time.sleep(1)
        self.check_each_ran_once(["parent", *(f"child-of-{group}" for group in GROUPS)])
        self.assertEqual(self.one.number("SELECT COUNT(*) FROM lts_inbox"), 0)
        own = next(groups for groups in self.groups_of().values() if GROUPS[0] in groups)
        left_out = self.client("-o", "jsonl", "history", "--task-id", "nobody").lines()
        self.assertEqual(sorted(row["group"] for row in left_out), sorted(set(GROUPS) - set(own)))
        self.assertEqual({row["message"] for row in left_out},
                         {"not triggered by a parent's success: is not defined"})

    def test_a_new_group_is_known_to_the_other_job_tracker(self):
        self.start_cluster()
        for number in range(10):
            makes, knows = number % 2, 1 - number % 2
            group = f"new-{number}"
            self.client("submit", "--group", group, "--task-id", "held", "--manual", "--handler", "noop",
                        which=makes)
            listed = self.client("-o", "jsonl", "list", "--group", group, which=knows)
            self.assertEqual([row["task_id"] for row in listed.lines()], ["held"])
            self.client("suspend", "held", "--group", group, which=knows)


class Killed(ClusterTest):
    def check(self, leave, database_port=None):
        self.start_cluster(database_port=database_port)
        victims = self.groups_of()[0]
        long_ones = [f"long-{group}" for group in GROUPS]
        for group in GROUPS:
            self.submit(group, f"long-{group}", f"{KEEP_STAMPS}; sleep 6")
        wait_for("them to run", lambda: len(self.read_stamps()) == 4)
        due = []
        at = (accounts.now() + datetime.timedelta(seconds=2)).isoformat()
        for group in GROUPS:
            due.append(f"due-{group}")
            self.submit(group, due[-1], more=["--at", at])
        load_before = slowness()
        left_at = time.time()
        leave(self.trackers[0])
        wait_for("the others", lambda: len(self.read_stamps()) == 8, pause=0.02)
        late = {task: stamp - left_at for task, stamp in self.read_stamps()[4:]}
        allowed = BOUND * max(load_before, slowness())
        slowest = max(late[f"due-{group}"] for group in victims)
        print(f"its jobs started after {slowest:.2f} s (allowed {allowed:.1f} s)", flush=True)
        self.assertLess(slowest, allowed)
        self.one.port = self.ports[1]
        self.check_each_ran_once(long_ones + due)
        self.assertEqual({row["state"] for row in self.client("-o", "jsonl", "history", "--limit", 0).lines()},
                         {"succeeded"})

    def test_jobs_of_a_killed_job_tracker_fail_over_in_time(self):
        self.check(lambda tracker: tracker.kill())

    def test_a_stalled_job_tracker_is_replaced_and_exits_on_resuming(self):
        self.check(lambda tracker: tracker.send(signal.SIGSTOP))
        self.trackers[0].send(signal.SIGCONT)
        self.assertEqual(self.trackers[0].wait(), 3)
        self.assertIn("another job tracker took over", self.trackers[0].log())

    def test_a_job_tracker_stalled_briefly_keeps_its_groups(self):
        self.one.env["CARILLON_SILENCE"] = "10s"
        self.start_cluster()
        before = self.groups_of()
        self.trackers[0].send(signal.SIGSTOP)
        time.sleep(4)
        self.trackers[0].send(signal.SIGCONT)
        for group in GROUPS:
            self.submit(group, f"after-{group}")
        wait_for("them to run", lambda: len(self.read_stamps()) == 4)
        self.assertEqual(self.groups_of(), before)
        self.assertNotIn("another job tracker", self.trackers[1].log())

    def test_a_job_tracker_with_a_hanging_commit_is_replaced(self):
        proxy = faults.Proxy(self.mariadb.port)
        self.addCleanup(proxy.close)

        def hang(_):
            proxy.cut_at(faults.COMMIT, faults.HANG)
            self.assertTrue(proxy.struck.wait(harness.PATIENCE), "nothing was committed")

        self.check(hang, proxy.port)
        self.assertEqual(self.trackers[0].wait(), 3)
        self.assertIn("heartbeats pause", self.trackers[0].log())


class KilledTogether(ClusterTest):
    """A task tracker dies, and job trackers come and go while its lease runs out."""

    def check(self, happens, and_tracker=True):
        workers = self.start_cluster()
        group = self.groups_of()[0][0]
        first = workers[GROUPS.index(group)]
        tasks = [f"long-{number}" for number in range(3)]
        for task in tasks:
            self.submit(group, task, f'{KEEP_STAMPS}; [ "$CARILLON_ATTEMPT" = 1 ] && exec sleep 600; true')
        wait_for("them to run", lambda: len(self.read_stamps()) == 3)
        second = self.one.start_worker("--tracker", self.all, "--group", group, threads=4,
                                       env={"STAMPS": str(self.stamps)})
        time.sleep(4)  # Nobody is about to give groups away.
        load_before = slowness()
        killed = [first, self.trackers[0]] if and_tracker else [first]
        for program in killed:
            program.send(signal.SIGKILL)
        killed_at = time.time()
        for program in killed:
            program.kill()
        happens()
        wait_for("them to run elsewhere", lambda: len(self.read_stamps()) == 6, pause=0.02)
        slowest = max(at for _, at in self.read_stamps()) - killed_at
        allowed = BOUND * max(load_before, slowness())
        print(f"its jobs ran elsewhere after {slowest:.2f} s (allowed {allowed:.1f} s)", flush=True)
        self.assertLess(slowest, allowed)
        self.check_each_ran_once(tasks * 2)
        rows = self.client("-o", "jsonl", "history", "--limit", 0).lines()
        # Each hand-out that did not arrive has a number, and no run began with it.
        gone = collections.Counter(re.findall(r"did not arrive; its job is requeued  job=(\d+)", "".join(
            log.read_text("utf-8", "replace") for log in (self.one.folder / "logs").glob("*.log"))))
        ends = {(row["task_id"], row["state"]): str(row["job_id"]) for row in rows}
        self.assertEqual(sorted((row["task_id"], row["attempt"], row["state"], row["node"]) for row in rows),
                         sorted(end for task in tasks for end in [
                             (task, 1, "lost", first.node),
                             (task, 2 + gone[ends[task, "succeeded"]], "succeeded", second.node)]))

    def test_runs_fail_over_when_worker_and_job_tracker_die_together(self):
        self.check(lambda: None)

    def test_failover_is_not_delayed_by_restarting_the_killed_job_tracker(self):
        self.check(lambda: self.start(0))

    def test_failover_is_not_delayed_by_stopping_the_other_job_tracker(self):
        def happens():
            time.sleep(1.8)
            self.assertEqual(self.trackers[1].stop(), 0)

        self.check(happens, and_tracker=False)

    def test_failover_is_not_delayed_by_stopping_its_own_job_tracker(self):
        def happens():
            time.sleep(1.8)
            self.assertEqual(self.trackers[0].stop(), 0)

        self.check(happens, and_tracker=False)


class CutOffWhileItTakesOver(ClusterTest):
    def test_a_job_tracker_lost_during_takeover_delays_others_only_briefly(self):
        proxy = faults.Proxy(self.mariadb.port)
        self.addCleanup(proxy.close)
        self.start(1)
        self.start_workers()
        taker = self.start(0, proxy.port)
        self.wait_divided([2, 2])
        proxy.cut_at(b"REPLACE INTO lts_partition", faults.HANG)
        self.trackers[1].kill()
        self.assertTrue(proxy.struck.wait(harness.PATIENCE), "it took nothing over")
        proxy.cut_off()
        taker.kill()  # And the database does not hear of that.
        began = time.monotonic()
        self.start(1)  # Within a minute, or this fails.
        print(f"the next one works after {time.monotonic() - began:.1f} s", flush=True)
        tasks = [f"after-{group}" for group in GROUPS]
        for group, task in zip(GROUPS, tasks, strict=True):
            self.submit(group, task, which=1)
        self.check_each_ran_once(tasks)


class CutOff(ClusterTest):
    def test_runs_continue_when_their_job_tracker_loses_the_database(self):
        proxy = faults.Proxy(self.mariadb.port)
        self.addCleanup(proxy.close)
        self.start(0, proxy.port)
        self.start_workers()
        self.start(1)
        for group in GROUPS:  # They would take over what runs.
            self.one.start_worker("--tracker", self.address(1), "--group", group, wait=False,
                                  env={"STAMPS": str(self.stamps)})
        self.wait_divided([2, 2])
        tasks = [f"long-{group}" for group in self.groups_of()[0]]
        for task in tasks:
            self.submit(task[len("long-"):], task, f"{KEEP_STAMPS}; sleep 9")
        wait_for("them to run", lambda: len(self.read_stamps()) == 2)
        load_before = slowness()
        cut_at = time.monotonic()
        proxy.cut_off()
        wait_for("the other to take over", lambda: len(self.groups_of()[1]) == 4, pause=0.02)
        took = time.monotonic() - cut_at
        allowed = 4 * max(load_before, slowness())
        print(f"the other took over after {took:.2f} s (allowed {allowed:.1f} s)", flush=True)
        self.assertLess(took, allowed)
        wait_for("the ends", lambda: len(self.client("-o", "jsonl", "history", which=1).lines()) == 2)
        self.assertTrue(self.trackers[0].is_running())
        proxy.mend()
        self.assertEqual(self.trackers[0].wait(), 3)
        self.assertIn("another job tracker took over", self.trackers[0].log())
        self.check_each_ran_once(tasks)


class WorkerCutOff(ClusterTest):
    """Task trackers reach one of two job trackers through a network that fails, the other always."""

    def setUp(self):
        super().setUp()
        self.end = self.folder / "end"
        # It says which process it is and since when, and runs until it is told to end.
        self.long = (f'echo "$$ $(date +%s.%N)" > {self.folder}/began-$CARILLON_TASK_ID-$CARILLON_ATTEMPT; '
                     f"{accounts.NOTE}; until [ -e {self.end} ]; do sleep 0.1; done")

    def start_worker(self, group, port, *more):
        self.one.port = port
        return self.one.start_worker(*more, "--group", group, "--stop-without-lease", "--kill-grace",
                                     "500ms", env={"NOTES": str(self.notes)}, wait=False)

    def noted(self, task, attempt=1):
        return [run.node for run in accounts.notes(self.notes)
                if (run.task_id, run.attempt) == (task, attempt)]

    def began(self, task, attempt):
        """The process, and when it began."""
        pid, at = (self.folder / f"began-{task}-{attempt}").read_text().split()
        return pid, float(at)

    def runs(self, task, attempt):
        pid, _ = self.began(task, attempt)
        return pathlib.Path("/proc", pid).exists()

    def test_jobs_of_workers_cut_off_from_their_owner_fail_over(self):
        proxy = faults.Proxy(self.ports[0])
        self.addCleanup(proxy.close)
        self.start(0, more=["--advertise", f"tcp://127.0.0.1:{proxy.port}"])
        tokens = pathlib.Path(self.one.env["XDG_RUNTIME_DIR"], "carillon")
        shutil.copy(tokens / f"{self.ports[0]}.token", tokens / f"{proxy.port}.token")
        workers = {group: self.start_worker(group, proxy.port, "--tracker", self.address(1))
                   for group in GROUPS}
        self.start(1)
        owners = self.wait_divided([2, 2])
        own, other = owners[0][0], owners[1][0]
        self.submit(own, "own", self.long, which=0)
        self.submit(other, "other", self.long, which=1)
        wait_for("both to run", lambda: self.noted("own") and self.noted("other"))
        elsewhere = self.start_worker(own, self.ports[0])
        elsewhere.ready()
        registered = workers[other].log().count("registered")

        load_before = slowness()
        proxy.cut_off()
        cut_at = time.time()
        waits = []
        for number in range(10):
            submitted_at = time.time()
            self.submit(other, f"quick-{number}", accounts.NOTE, which=1)
            wait_for("the other's job", lambda: self.noted(f"quick-{number}"), pause=0.02)
            waits.append(time.time() - submitted_at)
        wait_for("its own to run elsewhere", lambda: self.noted("own", 2))
        took = self.began("own", 2)[1] - cut_at
        allowed = BOUND * max(load_before, slowness())
        print(f"its job ran elsewhere after {took:.2f} s (allowed {allowed:.1f} s), the other's after "
              f"{max(waits):.2f} s", flush=True)
        self.assertLess(took, allowed)
        self.assertLess(max(waits), allowed)
        self.assertEqual(self.noted("own", 2), [elsewhere.node])
        wait_for("its own to be stopped", lambda: not self.runs("own", 1))
        self.assertTrue(self.runs("other", 1))
        self.assertEqual(workers[other].log().count("registered"), registered)

        proxy.mend()
        self.end.touch()
        wait_for("all to end", self.is_idle)
        self.assertEqual(elsewhere.stop(), 0)
        self.submit(own, "after", accounts.NOTE, which=0)
        wait_for("it to be back", lambda: self.noted("after"))
        self.assertEqual(self.noted("after"), [workers[own].node])
        wait_for("all to end", self.is_idle)
        rows = self.client("-o", "jsonl", "history", "--limit", 0, which=0).lines()
        ends = sorted((row["task_id"], row["attempt"], row["state"]) for row in rows)
        tasks = ["after", "other", *(f"quick-{number}" for number in range(10))]
        self.assertEqual(ends, sorted([("own", 1, "lost"), ("own", 2, "succeeded"),
                                       *((task, 1, "succeeded") for task in tasks)]))
        runs = sorted((run.task_id, run.attempt) for run in accounts.notes(self.notes))
        self.assertEqual(runs, sorted((task, attempt) for task, attempt, _ in ends))


class Stalled(ClusterTest):
    def test_a_database_stall_of_ten_seconds_causes_no_failover(self):
        self.start_cluster()
        before = self.groups_of()
        logs = [tracker.log().count("rebalanced the node groups") for tracker in self.trackers[:2]]
        # What runs and ends meanwhile, what comes due, and what is submitted.
        for group in GROUPS:
            self.submit(group, f"runs-{group}", f"{KEEP_STAMPS}; sleep 6")
        wait_for("them to run", lambda: len(self.read_stamps()) == len(GROUPS))
        at = (accounts.now() + datetime.timedelta(seconds=6)).isoformat()
        for group in GROUPS:
            self.submit(group, f"due-{group}", more=["--at", at])
        server = self.mariadb.server
        self.addCleanup(server.send, signal.SIGCONT)
        server.send(signal.SIGSTOP)
        stalled_at = time.monotonic()
        users = [threading.Thread(target=self.submit, args=(group, f"meanwhile-{group}")) for group in GROUPS]
        for user in users:
            user.start()
        time.sleep(10)
        self.assertEqual(len(self.read_stamps()), len(GROUPS), "nothing is decided meanwhile")
        server.send(signal.SIGCONT)
        print(f"it stood still for {time.monotonic() - stalled_at:.1f} s", flush=True)
        for user in users:
            user.join()
        for group in GROUPS:
            self.submit(group, f"after-{group}")
        tasks = [f"{what}-{group}" for group in GROUPS for what in ("runs", "due", "meanwhile", "after")]
        self.check_each_ran_once(tasks)
        rows = self.client("-o", "jsonl", "history", "--limit", 0).lines()
        self.assertEqual(sorted((row["task_id"], row["attempt"], row["state"]) for row in rows),
                         sorted((task, 1, "succeeded") for task in tasks))
        time.sleep(2)  # As long as a silence, and more.
        self.assertEqual(self.groups_of(), before)
        for tracker, count in zip(self.trackers[:2], logs, strict=True):
            self.assertTrue(tracker.is_running())
            self.assertEqual(tracker.log().count("rebalanced the node groups"), count)
            self.assertNotIn("stopped sending heartbeats", tracker.log())


class Together(ClusterTest):
    """A task tracker is stopped in order as its job tracker goes: with their machine, say."""

    def check(self, go):
        self.start_cluster()
        group = self.groups_of()[0][0]
        leaving = self.one.start_worker("--tracker", self.all, "--group", group, threads=4, env=self.env)
        tasks = [f"tick-{number}" for number in range(4)]
        for task in tasks:
            self.client("submit", "--group", group, "--task-id", task, "--every", "50ms", "--overlap", "parallel",
                        "--misfire", "fire_all", "--handler", "noop")
        time.sleep(2)
        go(self.trackers[0])
        leaving.send(signal.SIGTERM)
        self.assertEqual(leaving.wait(), 0)
        self.assertNotIn("did not confirm the sign-off", leaving.log())
        time.sleep(2)
        for task in tasks:
            self.client("cancel", task, "--group", group)
        wait_for("all to end", self.is_idle)
        rows = self.client("-o", "jsonl", "history", "--limit", 0).lines()
        given_back = sum(row["attempt"] > 1 for row in rows)
        print(f"{len(rows)} fires, {given_back} of them were claimed and given back", flush=True)
        self.assertGreater(len(rows), 100)
        self.assertEqual([row for row in rows if row["state"] not in ("succeeded", "cancelled")], [])

    def test_a_stopping_worker_loses_no_runs_when_its_tracker_dies(self):
        self.check(lambda tracker: tracker.kill())

    def test_a_stopping_worker_loses_no_runs_when_its_tracker_stops(self):
        self.check(lambda tracker: tracker.send(signal.SIGTERM))

    def test_a_stopping_worker_loses_no_runs_during_tracker_handover(self):
        def go(tracker):
            tracker.send(signal.SIGTERM)
            time.sleep(0.5)

        self.check(go)


class Gone(ClusterTest):
    SECONDS = 50

    def test_a_minute_without_database_loses_and_repeats_no_fire(self):
        workers = self.start_cluster(threads=10)
        before = self.groups_of()
        self.schedule({f"{overlap}-{group}": (group, overlap, 500 if (place + number) % 2 else 1000)
                       for place, group in enumerate(GROUPS) for number, overlap in enumerate(OVERLAPS)})
        for group in GROUPS:
            self.submit(group, f"runs-{group}", f"{KEEP_STAMPS}; sleep {self.SECONDS + 5}")
        self.wait_fired()
        self.addCleanup(lambda: self.mariadb.server.is_running() or self.mariadb.start())
        self.mariadb.server.kill()
        gone_at = time.monotonic()
        users = [threading.Thread(target=self.client, args=(
            "--answer-timeout", "120s", "submit", "--group", group, "--task-id", f"meanwhile-{group}", "--shell",
            KEEP_STAMPS), kwargs={"patience": 180}) for group in GROUPS]
        for user in users:
            user.start()
        for tracker in self.trackers[:2]:
            wait_for("it to be noticed", lambda: "the store is unreachable" in tracker.log())
        time.sleep(max(0.0, gone_at + self.SECONDS - time.monotonic()))
        load_before = slowness()
        self.mariadb.start()
        back_at = time.monotonic()
        for tracker in self.trackers[:2]:
            wait_for("it to be back", lambda: "the store is reachable again" in tracker.log(), pause=0.02)
        took = time.monotonic() - back_at
        allowed = 4 * max(load_before, slowness())
        print(f"the database was gone for {back_at - gone_at:.1f} s; both had it back after {took:.2f} s "
              f"(allowed {allowed:.1f} s)", flush=True)
        self.assertLess(took, allowed)
        for user in users:
            user.join()
        for group in GROUPS:
            self.submit(group, f"after-{group}")
        self.check_fires()
        tasks = [f"{what}-{group}" for group in GROUPS for what in ("runs", "meanwhile", "after")]
        self.check_each_ran_once(tasks)
        rows = [row for task in tasks for row in self.client("-o", "jsonl", "history", "--task-id", task).lines()]
        self.assertEqual(sorted((row["task_id"], row["attempt"], row["state"]) for row in rows),
                         sorted((task, 1, "succeeded") for task in tasks))
        for program in [*self.trackers[:2], *workers]:
            self.assertTrue(program.is_running(), f"{program.name} was not restarted")
        for tracker in self.trackers[:2]:
            self.assertNotIn("stopped sending heartbeats", tracker.log())
        self.assertEqual(self.groups_of(), before)


class Rolling(ClusterTest):
    """While every group gets one job after the other, and has a schedule."""

    def check(self, turns, late_max):
        for group in GROUPS:
            self.client("submit", "--group", group, "--task-id", f"tick-{group}", "--every", "200ms",
                        "--overlap", "parallel", "--handler", "noop")
        done, tasks, failures = threading.Event(), collections.defaultdict(list), []
        load_before = slowness()

        def submit(group):
            number = 0
            while not done.is_set():
                number += 1
                task = f"{group}-{number}"
                answer = self.client("--connect-timeout", "20s", "submit", "--group", group, "--task-id",
                                     task, "--shell", KEEP_STAMPS, status=None)
                if answer.status == 0:
                    tasks[group].append(task)
                else:
                    failures.append(repr(answer))

        users = [threading.Thread(target=submit, args=(group,)) for group in GROUPS]
        for user in users:
            user.start()
        try:
            for turn in turns:
                before = {group: len(tasks[group]) for group in GROUPS}
                wait_for("some jobs of each", lambda: all(
                    len(tasks[group]) > before[group] + 2 for group in GROUPS))
                turn()
        finally:
            done.set()
            for user in users:
                user.join()
        self.assertEqual(failures, [])
        for group in GROUPS:
            self.client("--connect-timeout", "20s", "cancel", f"tick-{group}", "--group", group)
        self.check_each_ran_once([task for of_group in tasks.values() for task in of_group])
        for group in GROUPS:
            late = max(row["lateness_ms"] for row in self.client(
                "-o", "jsonl", "history", "--task-id", f"tick-{group}", "--group", group, "--limit",
                0).lines() if row["attempt"] > 0) / 1000
            allowed = late_max * max(load_before, slowness())
            print(f"{group}: the latest fire: {late:.2f} s (allowed {allowed:.1f} s)", flush=True)
            self.assertLess(late, allowed)
            starts = sorted(at for task, at in self.read_stamps() if task.startswith(f"{group}-"))
            gap = max(b - a for a, b in zip(starts, starts[1:]))
            allowed = BOUND * max(load_before, slowness())
            print(f"{group}: the longest time without a start: {gap:.2f} s "
                  f"(allowed {allowed:.1f} s)", flush=True)
            self.assertLess(gap, allowed)

    def test_each_job_runs_once_during_a_rolling_restart(self):
        self.start_cluster()

        def restart(which):
            self.assertEqual(self.trackers[which].stop(), 0)
            self.start(which)
            self.wait_divided([2, 2])

        self.check([lambda: restart(0), lambda: restart(1)], 3)
        self.assertEqual(self.trackers[1].log().count("handing the node groups to the other job trackers"), 2)
        self.assertEqual(self.trackers[0].stop(), 0)
        wait_for("the other to have all", lambda: len(self.groups_of()[1]) == len(GROUPS))
        self.assertEqual(self.trackers[1].stop(), 0)  # There is nobody to tell.
        self.assertEqual(self.trackers[1].log().count("handing the node groups to the other job trackers"), 3)

    def test_each_job_runs_once_while_job_trackers_join_and_leave(self):
        self.start_cluster()

        def join():
            self.start(2)
            self.wait_divided([1, 1, 2])

        def leave():
            self.assertEqual(self.trackers[0].stop(), 0)
            self.wait_divided([2, 2])

        self.check([join, leave], 3)

    def test_each_job_runs_once_despite_a_killed_and_restarted_tracker(self):
        self.start_cluster()

        def kill():
            self.trackers[0].kill()
            self.start(0)

        self.check([kill], BOUND)


class Leftovers(ClusterTest):
    LEASE = ["--lease", "60s"]  # that of the dead has not ended when its result comes

    def test_a_stored_result_is_left_to_workers_of_its_group(self):
        data = self.folder / "shared-data"

        def worker(group):
            return self.one.start_worker("--tracker", self.all, "--group", group, threads=2,
                                         data=data, env={"STAMPS": str(self.stamps)})

        self.start(0, more=self.LEASE)
        workers = [worker(group) for group in GROUPS]
        self.start(1, more=self.LEASE)
        self.wait_divided([2, 2])
        self.submit(GROUPS[0], "work", f"{KEEP_STAMPS}; sleep 2")
        wait_for("the run", self.read_stamps)
        for tracker in self.trackers[:2]:
            tracker.kill()
        wait_for("its result on disk", lambda: entries(data / "outbox/reports") == 1)
        for one in workers:
            one.kill()
        for which in range(2):
            self.start(which, more=self.LEASE)
        owned = self.wait_divided([2, 2])
        stranger = next(groups for groups in owned.values() if GROUPS[0] not in groups)[0]
        worker(stranger)
        time.sleep(1)  # It has looked at what lies there, twice.
        self.assertEqual(entries(data / "outbox/reports"), 1)
        worker(GROUPS[0])
        self.check_each_ran_once(["work"])
        rows = self.client("-o", "jsonl", "history", "--group", GROUPS[0]).lines()
        self.assertEqual([(row["attempt"], row["state"]) for row in rows], [(1, "succeeded")])
        wait_for("an empty outbox", lambda: entries(data / "outbox/reports") == 0)


if __name__ == "__main__":
    harness.main()
