"""kill -9 under load, on both stores: nothing acknowledged is lost, nothing runs twice without need.

Kills come at moments drawn from a seed, which a failure names: CARILLON_SEED=N repeats them.
"""

import collections
import datetime
import itertools
import os
import pathlib
import random
import shutil
import signal
import threading
import time

import accounts
import faults
import harness
from harness import BothStores, E2eTest, slowness, wait_for

BOUND = 5.0  # seconds from a worker's death to the start of its jobs elsewhere, on a quiet machine


class Load:
    """Submits jobs in the background, batch by batch, until it is told to finish."""

    BATCH, PAUSE = 80, 0.25

    def __init__(self, cluster, env=()):
        self.cluster = cluster
        self.env = {"CARILLON_CONNECT_TIMEOUT": "120s", "CARILLON_ANSWER_TIMEOUT": "120s", **dict(env)}
        self.accepted = set()
        self.failures = []
        self._finishing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @staticmethod
    def notes_itself(task_id):
        return int(task_id.removeprefix("job-")) % 3 != 0

    def spec(self, task_id):
        what = {"shell": accounts.NOTE} if self.notes_itself(task_id) else {"handler": "noop"}
        return {"task_id": task_id, **what}

    def _run(self):
        for start in itertools.count(0, self.BATCH):
            if self._finishing.wait(self.PAUSE):
                return
            ids = [f"job-{number}" for number in range(start, start + self.BATCH)]
            try:
                # One batch is one request with one number, sent again until it is answered.
                for answer in self.cluster.submit_all([self.spec(task_id) for task_id in ids],
                                                      patience=180, env=self.env):
                    if answer["status"] == "accepted":
                        self.accepted.add(answer["task_id"])
                    else:
                        self.failures.append(answer)
            except AssertionError as error:
                self.failures.append(str(error))

    def finish(self):
        self._finishing.set()
        self._thread.join(300)
        assert not self._thread.is_alive(), "the submissions hang"


SCHEDULES = [
    {"task_id": "parallel", "cron": "* * * * * ?", "tz": "UTC", "overlap": "parallel", "shell": accounts.NOTE},
    {"task_id": "skipping", "cron": "*/2 * * * * ?", "tz": "UTC", "shell": accounts.NOTE},
    {"task_id": "queueing", "cron": "* * * * * ?", "tz": "UTC", "overlap": "queue", "shell": accounts.NOTE},
    {"task_id": "catching-up", "cron": "* * * * * ?", "tz": "UTC", "overlap": "parallel",
     "misfire": "fire_all", "shell": accounts.NOTE},
]
STEPS = {"parallel": 1, "skipping": 2, "queueing": 1, "catching-up": 1}


class LoadedTest(E2eTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("CARILLON_SEED", random.randrange(1_000_000)))
        self.random = random.Random(self.seed)
        self.notes = self.folder / "notes"
        self.dead = set()
        print(f"CARILLON_SEED={self.seed}", flush=True)

    def start_worker(self, cluster):
        return cluster.start_worker("--kill-grace", "500ms", threads=4, env={"NOTES": str(self.notes)})

    def kill_worker(self, cluster, index):
        worker = cluster.workers.pop(index)
        self.dead.add(worker.node)
        return worker.kill()

    def end_schedules(self, cluster):
        for task in STEPS:
            cluster.client("suspend", task)
        wait_for("all to end", cluster.is_idle, patience=240, pause=0.3)

    def check(self, cluster, load):
        self.assertEqual(load.failures, [])
        history = cluster.history()
        runs = accounts.notes(self.notes)
        states = collections.Counter(row["state"] for row in history)
        print(f"{len(load.accepted)} accepted, {len(runs)} noted, history: {dict(states)}", flush=True)
        done = {row["task_id"] for row in history if row["state"] == "succeeded"}
        self.assertEqual(load.accepted - done, set(), "acknowledged, and never succeeded")
        noted = {run.task_id for run in runs}
        must_note = {task for task in load.accepted if load.notes_itself(task)}
        self.assertEqual(must_note - noted, set(), "succeeded, and never ran")
        self.assertEqual(accounts.doubled(runs, self.dead), [])
        # Fires that are due at the moment of the suspension are cancelled: those that wait as one
        # row, those that are claimed each by itself.
        allowed = {"succeeded", "lost", "missed", "skipped", "cancelled"}
        self.assertEqual(set(states) - allowed, set(), "no failure is counted")
        self.assertLessEqual(states["cancelled"], 5 * len(STEPS))
        finals = [row["task_id"] for row in history if row["state"] == "succeeded"
                  and row["task_id"].startswith("job-")]
        self.assertEqual(len(finals), len(set(finals)), "a job ended twice")
        for task, step in STEPS.items():
            rows = [row for row in history if row["task_id"] == task]
            first, last = accounts.first_end_and_last_run(rows)
            fires = accounts.every_seconds(step, first - accounts.SECOND, accounts.now())
            wrong = accounts.account(fires, rows, last)
            if wrong:
                print("\n".join(f"{row}" for row in rows), flush=True)
            self.assertEqual(wrong, [], f"fires of {task}")
        self.assertEqual(cluster.number("SELECT COUNT(*) FROM lts_executing_job_queue"), 0)
        self.assertEqual(cluster.number("SELECT COUNT(*) FROM lts_wjq_default"), 0)


class Kills:
    """The programs are killed."""

    def test_acknowledged_jobs_run_once_whatever_is_killed(self):
        cluster = self.cluster(self.store)
        for _ in range(2):
            self.start_worker(cluster)
        cluster.submit_all(SCHEDULES)
        load = Load(cluster)
        for victim in self.random.sample(["tracker", "worker", "both"], 3):
            time.sleep(self.random.uniform(1.0, 4.0))
            if victim != "worker":
                cluster.tracker.kill()
            if victim != "tracker":
                self.kill_worker(cluster, self.random.randrange(2))
            if victim != "worker":
                time.sleep(self.random.uniform(0.0, 1.5))
                cluster.start_tracker()
            if victim != "tracker":
                self.start_worker(cluster)
        load.finish()
        # The last schedules' runs while everything is well again.
        time.sleep(2)
        self.end_schedules(cluster)
        self.check(cluster, load)

    def test_rolling_restart_of_workers_loses_no_runs(self):
        cluster = self.cluster(self.store)
        for _ in range(2):
            self.start_worker(cluster)
        load = Load(cluster)
        for _ in range(5):
            time.sleep(self.random.uniform(0.2, 1.0))
            leaving = cluster.workers.pop(0)
            self.start_worker(cluster)
            self.assertEqual(leaving.stop(), 0)
        load.finish()
        wait_for("all to end", cluster.is_idle, patience=240, pause=0.3)
        self.assertEqual(load.failures, [])
        history = cluster.history()
        self.assertEqual({row["state"] for row in history}, {"succeeded"})
        self.assertEqual({row["task_id"] for row in history}, load.accepted)
        self.assertEqual(len(history), len(load.accepted))

    def test_jobs_of_a_dead_worker_restart_on_another_in_time(self):
        cluster = self.cluster(self.store)
        first = self.start_worker(cluster)
        stamps = self.folder / "stamps"
        line = (f'echo "$CARILLON_TASK_ID $CARILLON_ATTEMPT $CARILLON_NODE $(date +%s.%N)" >> {stamps}; '
                '[ "$CARILLON_ATTEMPT" = 1 ] && exec sleep 600; true')
        cluster.submit_all([{"task_id": f"long-{number}", "shell": line} for number in range(4)])
        wait_for("four runs", lambda: len(self.stamps(stamps)) == 4)
        second = self.start_worker(cluster)
        load_before = slowness()
        killed_at = time.time()
        self.kill_worker(cluster, 0)
        wait_for("four more runs", lambda: len(self.stamps(stamps)) == 8, pause=0.01)
        allowed = BOUND * max(load_before, slowness())
        again = self.stamps(stamps)[4:]
        self.assertEqual({(attempt, node) for _, attempt, node, _ in again}, {("2", second.node)})
        slowest = max(float(at) for _, _, _, at in again) - killed_at
        print(f"recovered after {slowest:.2f} s (allowed {allowed:.1f} s)", flush=True)
        self.assertLess(slowest, allowed)
        wait_for("the ends", cluster.is_idle)
        for number in range(4):
            rows = cluster.history(f"long-{number}")
            self.assertEqual([(row["attempt"], row["state"], row["node"]) for row in reversed(rows)],
                             [(1, "lost", first.node), (2, "succeeded", second.node)])

    @staticmethod
    def stamps(path):
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def test_late_report_changes_nothing(self):
        cluster = self.cluster(self.store)
        frozen = self.start_worker(cluster)
        gate = self.folder / "gate"
        cluster.submit("--task-id", "twice", "--shell",
                       f'{accounts.NOTE}; [ "$CARILLON_ATTEMPT" = 2 ] || '
                       f'while ! test -e {gate}; do sleep 0.05; done')
        wait_for("the run", lambda: accounts.notes(self.notes))
        frozen.send(signal.SIGSTOP)
        other = self.start_worker(cluster)
        row = wait_for("the second attempt", lambda: [
            row for row in cluster.history("twice") if row["state"] == "succeeded"])[0]
        self.assertEqual((row["attempt"], row["node"]), (2, other.node))
        gate.touch()
        frozen.send(signal.SIGCONT)
        wait_for("the late report", lambda: cluster.stats()["late_reports_total"] > 0)
        self.assertEqual([(row["attempt"], row["state"]) for row in reversed(cluster.history("twice"))],
                         [(1, "lost"), (2, "succeeded")])
        self.assertRegex(cluster.tracker.log(),
                         rf"ignored a late report  job={row['job_id']}  attempt=1 ")
        self.assertEqual(cluster.submit("--task-id", "twice", "--", "true").json()["status"], "accepted")
        self.assertEqual(cluster.wait_ended("twice")["state"], "lost")
        wait_for("rest", cluster.is_idle)

    def test_disconnected_worker_keeps_its_jobs_within_its_lease(self):
        cluster = self.cluster(self.store, flags=["--lease", "12s"])
        direct = cluster.port
        proxy = faults.Proxy(direct)
        self.addCleanup(proxy.close)
        tokens = pathlib.Path(cluster.env["XDG_RUNTIME_DIR"], "carillon")
        shutil.copy(tokens / f"{direct}.token", tokens / f"{proxy.port}.token")
        cluster.port = proxy.port
        worker = self.start_worker(cluster)
        cluster.port = direct
        ended = self.folder / "ended"
        for task in ("ends", "goes-on"):
            gate = self.folder / f"gate-{task}"
            cluster.submit("--task-id", task, "--shell", f"{accounts.NOTE}; until [ -e {gate} ]; do sleep 0.05; "
                                                         f"done; echo said; touch {ended}-{task}")
        wait_for("both to run", lambda: len(accounts.notes(self.notes)) == 2)
        other = self.start_worker(cluster)  # Which has threads for both.

        proxy.cut_off()
        cut_at = time.monotonic()
        (self.folder / "gate-ends").touch()
        wait_for("a run to end", pathlib.Path(f"{ended}-ends").exists)
        time.sleep(max(0.0, cut_at + 6 - time.monotonic()))
        self.assertEqual(cluster.history(), [], "nobody has heard of its end")
        self.assertEqual({(row["task_id"], row["node"]) for row in cluster.rows("executing")},
                         {("ends", worker.node), ("goes-on", worker.node)})
        proxy.mend()
        self.assertEqual(cluster.wait_ended("ends")["state"], "succeeded")
        (self.folder / "gate-goes-on").touch()
        self.assertEqual(cluster.wait_ended("goes-on")["state"], "succeeded")
        wait_for("the output", lambda: cluster.client("logs", "ends").out == "said\n")
        self.assertEqual({(row["task_id"], row["attempt"], row["node"]) for row in cluster.history()},
                         {("ends", 1, worker.node), ("goes-on", 1, worker.node)})
        self.assertEqual(len(accounts.notes(self.notes)), 2, "each ran once")
        self.assertTrue(other.is_running())

    def test_worker_and_tracker_killed_together_lose_no_claimed_jobs(self):
        cluster = self.cluster(self.store)
        first = cluster.start_worker(threads=8, env={"NOTES": str(self.notes)})
        self.dead.add(first.node)
        stamps = self.folder / "stamps"
        line = (f'echo "$CARILLON_TASK_ID $CARILLON_ATTEMPT $CARILLON_NODE $(date +%s.%N)" >> {stamps}; '
                '[ "$CARILLON_ATTEMPT" = 1 ] && exec sleep 600; true')
        running = [f"runs-{number}" for number in range(4)]
        cluster.submit_all([{"task_id": task, "shell": line} for task in running])
        wait_for("four runs", lambda: len(self.stamps(stamps)) == 4)
        # So close together that some are always claimed, which is 50 ms ahead, when the tracker dies.
        start = accounts.now() + datetime.timedelta(seconds=2)
        due = [f"due-{number}" for number in range(300)]
        cluster.submit_all([{"task_id": task, "shell": accounts.NOTE, "at": (
            start + datetime.timedelta(milliseconds=10 * number)).isoformat()} for number, task in enumerate(due)])
        wait_for("some of them", lambda: len(accounts.notes(self.notes)) >= 60, pause=0.01)
        load_before = slowness()
        for program in (cluster.tracker, first):
            program.send(signal.SIGKILL)
        killed_at = time.time()
        for program in (cluster.tracker, first):
            program.kill()
        claimed = {task for (task,) in cluster.sql("SELECT task_id FROM lts_executing_job_queue")}
        self.assertLess(set(running), claimed, "others were claimed too")
        second = cluster.start_worker(threads=8, env={"NOTES": str(self.notes)}, wait=False)
        cluster.start_tracker()
        started_at = time.time()
        wait_for("four more runs", lambda: len(self.stamps(stamps)) == 8, pause=0.01)
        allowed = BOUND * max(load_before, slowness())
        again = self.stamps(stamps)[4:]
        self.assertEqual({(attempt, node) for _, attempt, node, _ in again}, {("2", second.node)})
        slowest = max(float(at) for _, _, _, at in again)
        print(f"{len(claimed)} were claimed; what ran began again {slowest - started_at:.2f} s after the job "
              f"tracker's start (allowed {allowed:.1f} s), {slowest - killed_at:.2f} s after the deaths", flush=True)
        self.assertLess(slowest - started_at, allowed)
        wait_for("the ends", cluster.is_idle)
        ends = [row for row in cluster.history() if row["state"] == "succeeded"]
        self.assertEqual(sorted(row["task_id"] for row in ends), sorted(running + due))
        for task in running:
            self.assertEqual([(row["attempt"], row["state"], row["node"]) for row in reversed(cluster.history(task))],
                             [(1, "lost", first.node), (2, "succeeded", second.node)])
        runs = accounts.notes(self.notes)
        self.assertEqual({run.task_id for run in runs}, set(due))
        self.assertEqual(accounts.doubled(runs, self.dead), [])

    def test_stalled_worker_keeps_its_jobs_within_its_lease(self):
        cluster = self.cluster(self.store, flags=["--lease", "60s"])
        worker = self.start_worker(cluster)
        gate = self.folder / "gate"
        cluster.submit("--task-id", "kept", "--shell", f"{accounts.NOTE}; while ! test -e {gate}; do sleep 0.05; done")
        wait_for("the run", lambda: accounts.notes(self.notes))
        worker.send(signal.SIGSTOP)
        self.start_worker(cluster)
        time.sleep(2)
        worker.send(signal.SIGCONT)
        cluster.tracker.kill()
        time.sleep(1)
        cluster.start_tracker()
        gate.touch()
        self.assertEqual(cluster.wait_ended("kept")["state"], "succeeded")
        self.assertEqual(len(accounts.notes(self.notes)), 1)

    def test_run_that_ends_without_a_tracker_is_reported_later(self):
        cluster = self.cluster(self.store)
        self.start_worker(cluster)
        gate = self.folder / "gate"
        cluster.submit("--task-id", "alone", "--shell",
                       f"{accounts.NOTE}; echo before; while ! test -e {gate}; do sleep 0.05; done; echo after; exit 0")
        wait_for("the run", lambda: accounts.notes(self.notes))
        cluster.tracker.kill()
        gate.touch()
        time.sleep(4)  # longer than a lease
        cluster.start_tracker()
        self.assertEqual(cluster.wait_ended("alone")["state"], "succeeded")
        self.assertIn("found executing jobs of an earlier session  jobs=1  ", cluster.tracker.log())
        self.assertEqual(len(accounts.notes(self.notes)), 1)
        wait_for("the output", lambda: cluster.client("logs", "alone").out == "before\nafter\n")


class KillsOnSqlite(BothStores, Kills, LoadedTest):
    store_name = "sqlite"


class KillsOnMariadb(BothStores, Kills, LoadedTest):
    store_name = "mariadb"


if __name__ == "__main__":
    harness.main()
