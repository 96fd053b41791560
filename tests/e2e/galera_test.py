"""Job trackers on a Galera cluster of three nodes, which are killed, frozen and join again under load."""

import atexit
import pathlib
import signal
import tempfile
import time

import accounts
import faults
import harness
from cluster_test import GROUPS, ClusterTest
from galera import Galera
from harness import slowness, wait_for
from recovery_test import Load

FROZEN = 10.0  # seconds; a node is expelled from its cluster after 6 to 7
EXPELLED = 8.0
NEXT_HOST = 2.0  # seconds until a job tracker works on the next host of its list


class GroupLoad(Load):
    BATCH, PAUSE = 12, 0.5

    def spec(self, task_id):
        group = GROUPS[int(task_id.removeprefix("job-")) % len(GROUPS)]
        return {"task_id": task_id, "group": group, "shell": accounts.NOTE}


class GaleraTest(ClusterTest):
    uses_mariadb = False
    galera = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not Galera.is_installed():
            harness.skip("Galera is not installed (apt-get install galera-4 mariadb-server-core)")
        if GaleraTest.galera is None:
            folder = tempfile.TemporaryDirectory(prefix="carillon-e2e-")
            atexit.register(folder.cleanup)
            GaleraTest.galera = Galera(pathlib.Path(folder.name))
            atexit.register(GaleraTest.galera.close)
        cls.mariadb = GaleraTest.galera

    def setUp(self):
        super().setUp()
        self.nodes = self.galera.nodes
        self.restarts = 0

    def start(self, which, port=None, more=(), wait=True):
        """On its own node, with the others to go to; or on the node behind that port alone."""
        self.one.port = self.ports[which]
        self.one.store_url = (self.nodes[0].url(self.one.database, port) if port
                              else self.galera.url(self.one.database, first=which))
        tracker = self.one.start_tracker("--name", f"tracker-{which}", *more, wait=wait)
        self.trackers[which] = tracker
        self.addCleanup(tracker.kill)
        return tracker

    def start_three(self, port=None):
        self.start(0, port)
        self.start_workers()
        for which in (1, 2):
            self.start(which, port)
        self.wait_divided([1, 1, 2])

    def begin_load(self):
        self.schedule({f"tick-{group}": (group, "parallel", 500) for group in GROUPS})
        return GroupLoad(self.one, {"CARILLON_TRACKER": self.all})

    def go_on(self, seconds):
        """As a service: a job tracker that another one took over from is started again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for which, tracker in enumerate(self.trackers):
                if not tracker.is_running():
                    self.assertEqual(tracker.wait(), 3, tracker.own_log())
                    self.restarts += 1
                    self.start(which, wait=False)
            time.sleep(0.1)

    def check_load(self, load):
        """All that was acknowledged ran, once, and each fire has one outcome."""
        load.finish()
        self.check_fires()
        self.assertEqual(load.failures, [])
        rows = [row for row in self.client("-o", "jsonl", "history", "--limit", 0).lines()
                if row["task_id"].startswith("job-")]
        done = [row["task_id"] for row in rows if row["state"] == "succeeded"]
        self.assertEqual(sorted(done), sorted(load.accepted))
        runs = accounts.notes(self.notes)
        self.assertEqual(load.accepted - {run.task_id for run in runs}, set(), "never ran")
        self.assertEqual(accounts.doubled(runs, dead_nodes=()), [])
        print(f"{len(load.accepted)} jobs, {len(runs)} runs, {self.restarts} restarts", flush=True)


class Start(GaleraTest):
    def test_three_job_trackers_start_concurrently_on_an_empty_database(self):
        trackers = [self.start(which, self.nodes[which].port, wait=False) for which in range(3)]
        for tracker in trackers:
            tracker.ready()
        numbers = self.one.sql("SELECT DISTINCT session_id, number FROM lts_tracker WHERE ended = 0")
        self.assertEqual(len({number for _, number in numbers}), 3)
        self.start_workers()
        self.wait_divided([1, 1, 2])
        for group in GROUPS:
            self.submit(group, f"first-{group}")
        self.check_each_ran_once([f"first-{group}" for group in GROUPS])


class NextHost(GaleraTest):
    def works_within(self, seconds, number):
        load_before = slowness()
        began = time.monotonic()
        self.submit(GROUPS[0], f"job-{number}")
        wait_for("it to run", lambda: len(self.read_stamps()) == number, pause=0.02)
        took = time.monotonic() - began
        allowed = seconds * max(load_before, slowness())
        print(f"a job ran after {took:.2f} s (allowed {allowed:.1f} s)", flush=True)
        self.assertLess(took, allowed)

    def test_a_job_tracker_skips_non_primary_and_read_only_nodes(self):
        first, second, third = self.nodes
        self.addCleanup(first.run, "SET GLOBAL wsrep_reject_queries = NONE", "mysql")
        self.addCleanup(second.run, "SET GLOBAL read_only = 0", "mysql")
        self.start(0)
        self.one.start_worker("--tracker", self.address(0), "--group", GROUPS[0],
                              env={"STAMPS": str(self.stamps)})
        self.works_within(NEXT_HOST, 1)
        # Every query is answered by error 1047, as where there is no primary component.
        first.run("SET GLOBAL wsrep_reject_queries = ALL", "mysql")
        self.works_within(NEXT_HOST, 2)
        second.run("SET GLOBAL read_only = 1", "mysql")
        sessions = second.run("SELECT id FROM information_schema.processlist "
                              f"WHERE db = '{self.one.database}'", "mysql")
        for session, in sessions:
            second.run(f"KILL {session}", "mysql")
        self.works_within(NEXT_HOST, 3)
        count = f"SELECT COUNT(*) FROM information_schema.processlist WHERE db = '{self.one.database}'"
        wait_for("two connections to the third node", lambda: int(third.run(count, "mysql")[0][0]) >= 2)
        self.assertTrue(self.trackers[0].is_running())


class Thawed(GaleraTest):
    def test_a_frozen_then_resumed_node_fences_no_job_tracker(self):
        # All of them go to the first node through a proxy that follows its health, one step late.
        proxy = faults.Proxy(self.nodes[0].port)
        self.addCleanup(proxy.close)
        self.start_three(proxy.port)
        load = self.begin_load()
        time.sleep(2)
        frozen = self.nodes[0].server
        self.addCleanup(frozen.send, signal.SIGCONT)
        frozen.send(signal.SIGSTOP)
        began = time.monotonic()
        proxy.lead_to(self.nodes[1].port)
        time.sleep(max(0.0, began + FROZEN - time.monotonic()))
        frozen.send(signal.SIGCONT)
        proxy.lead_to(self.nodes[0].port)
        time.sleep(FROZEN)
        for tracker in self.trackers:
            self.assertTrue(tracker.is_running(), tracker.own_log())
        self.check_load(load)
        self.galera.wait_synced()


class Nodes(GaleraTest):
    def test_every_job_ends_once_when_nodes_are_killed_and_frozen(self):
        self.start_three()
        load = self.begin_load()
        self.go_on(2)
        for node in self.nodes:
            node.server.kill()
            self.go_on(EXPELLED)
            node.rejoin()
            self.galera.wait_synced()
            self.go_on(1)
        for node in self.nodes:
            self.addCleanup(node.server.send, signal.SIGCONT)
            node.server.send(signal.SIGSTOP)
            self.go_on(FROZEN)
            node.server.send(signal.SIGCONT)
            self.galera.wait_synced()
            self.go_on(1)
        for tracker in self.trackers:
            tracker.ready()
        self.check_load(load)


if __name__ == "__main__":
    harness.main()
