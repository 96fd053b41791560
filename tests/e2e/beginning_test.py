"""The beginning of a session, of a job tracker that starts or takes over, while its store fails."""

import os
import socket
import subprocess
import time

import faults
import harness
from cluster_test import GROUPS, ClusterTest
from harness import E2eTest, wait_for


class CutOffWhileItBegins(ClusterTest):
    """The connection is lost in the COMMIT that begins a session, and nobody knows whether it is stored."""

    def setUp(self):
        super().setUp()
        self.proxy = faults.Proxy(self.mariadb.port)
        self.addCleanup(self.proxy.close)

    def check_taken_over(self, cut, when, **more):
        """The first job tracker makes way for a session of its own, to take what the other had."""
        taker = self.start(0, self.proxy.port)
        self.start_workers()
        self.start(1)
        self.wait_divided([2, 2])
        self.proxy.cut_at(cut, when, **more)
        self.assertEqual(self.trackers[1].stop(), 0)
        self.assertTrue(self.proxy.struck.wait(harness.PATIENCE), "it began no session")
        wait_for("it to have all", lambda: len(self.groups_of()[0]) == len(GROUPS))
        tasks = [f"after-{group}" for group in GROUPS]
        for group, task in zip(GROUPS, tasks, strict=True):
            self.submit(group, task, which=0)
        self.one.port = self.ports[0]
        self.check_each_ran_once(tasks)
        self.assertTrue(taker.is_running(), "it was not restarted")
        self.assertEqual(taker.stop(), 0)

    def test_a_takeover_survives_a_cut_during_its_commit(self):
        for when in (faults.BEFORE, faults.AFTER):
            with self.subTest(when):
                self.check_taken_over(faults.COMMIT, when, after=b"REPLACE INTO lts_partition")
                self.stamps.unlink()
                for worker in self.one.workers:
                    worker.kill()

    def test_a_takeover_survives_a_cut_right_after_its_commit(self):
        self.check_taken_over(b"wait_timeout = DEFAULT", faults.BEFORE)

    def test_a_start_survives_a_cut_during_its_commit(self):
        for when in (faults.BEFORE, faults.AFTER):
            with self.subTest(when):
                self.proxy.cut_at(faults.COMMIT, when, after=b"REPLACE INTO lts_partition")
                tracker = self.start(0, self.proxy.port)
                self.assertTrue(self.proxy.struck.is_set(), "it began no session")
                self.assertEqual(tracker.stop(), 0)


class KilledAndStartedAgain(ClusterTest):
    """Its session has not ended, and so is watched before another one takes its place."""

    def test_a_restart_after_a_kill_waits_out_the_old_session(self):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(str(self.folder / "notify"))
        self.one.env.update(CARILLON_SILENCE="6s", NOTIFY_SOCKET=str(self.folder / "notify"))
        started = self.start(0)
        self.assertNotIn("waiting until", started.log())
        self.assertEqual(manager.recv(1024).split(b"\n")[0], b"READY=1")
        started.kill()

        again = self.one.start_tracker("--name", "tracker-0", "--store-wait", "1s", wait=False)
        self.addCleanup(again.kill)
        wait_for("it to say so", lambda: "waiting until" in again.own_log(), patience=4)
        self.assertRegex(again.own_log(), "trackers=tracker-0 +at_most=6s\n")
        self.assertEqual(again.lines(), [])
        again.ready()
        self.assertEqual(again.own_log().count("waiting until"), 1)
        self.assertEqual([manager.recv(1024).split(b"\n")[0] for _ in range(2)],
                         [b"EXTEND_TIMEOUT_USEC=60000000", b"READY=1"])

    def test_a_start_beside_another_job_tracker_does_not_wait(self):
        self.one.env["CARILLON_SILENCE"] = "60s"
        self.start(0)
        self.assertNotIn("waiting until", self.start(1).log())


class AwayWhileItBegins(ClusterTest):
    """--store-wait is for a process that starts: one that has worked waits as long as its store is away."""

    def setUp(self):
        super().setUp()
        self.proxy = faults.Proxy(self.mariadb.port)
        self.addCleanup(self.proxy.close)
        self.addCleanup(lambda: self.mariadb.server.is_running() or self.mariadb.start())

    def take_over_from_nothing(self):
        """The database is killed while the first job tracker begins its next session."""
        taker = self.start(0, self.proxy.port, ["--store-wait", "1s"])
        self.start_workers()
        self.start(1)
        self.wait_divided([2, 2])
        self.proxy.cut_at(faults.COMMIT, faults.BEFORE, after=b"REPLACE INTO lts_partition")
        self.assertEqual(self.trackers[1].stop(), 0)
        self.assertTrue(self.proxy.struck.wait(harness.PATIENCE), "it began no session")
        self.mariadb.server.kill()
        wait_for("it to be said", lambda: "the store is unreachable" in taker.own_log())
        time.sleep(4)
        self.assertTrue(taker.is_running(), taker.own_log())
        return taker

    def test_a_running_job_tracker_waits_for_its_database_and_continues(self):
        taker = self.take_over_from_nothing()
        self.mariadb.start()
        wait_for("it to have all", lambda: len(self.groups_of()[0]) == len(GROUPS))
        wait_for("it to be said", lambda: "the store is reachable again" in taker.own_log())
        self.submit(GROUPS[0], "after", which=0)
        self.one.port = self.ports[0]
        self.check_each_ran_once(["after"])
        self.assertTrue(taker.is_running())

    def test_a_signal_stops_a_waiting_job_tracker_at_once(self):
        self.assertEqual(self.take_over_from_nothing().stop(patience=2), 0)


class OutrunWhileItBegins(ClusterTest):
    """Another job tracker has the turn to begin, and stands still."""

    TURN = "CONCAT('carillon.', MD5(DATABASE()))"

    def test_a_start_blocked_by_another_job_tracker_gives_up(self):
        self.start(0).stop()
        other = subprocess.Popen([*self.mariadb.client_argv(self.one.database), "--unbuffered"], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(other.communicate)
        other.stdin.write(f"SELECT GET_LOCK({self.TURN}, 10);\n")
        other.stdin.flush()
        self.assertEqual(other.stdout.readline(), "1\n")
        self.one.port = self.ports[1]
        tracker = self.one.start_tracker("--store-wait", "1s", wait=False)
        self.addCleanup(tracker.kill)
        self.assertEqual(tracker.wait(), 3)
        self.assertRegex(tracker.log(), r"jobtracker: store: another job tracker has been opening .* for longer than "
                                        r"5s \(it creates or migrates the tables, or has stalled\)")


class FullWhileItBegins(E2eTest):
    """A disk that is nearly full is no wrong configuration."""

    def setUp(self):
        super().setUp()
        self.one = self.cluster(tracker=False)
        self.one.data.mkdir()
        self.disk = ["unshare", "-rm", "sh", "-c",
                     f'mount -t tmpfs -o size=1m none {self.one.data} && '
                     f'head -c {1_000_000} /dev/zero > {self.one.data}/ballast; exec "$@"', "sh"]
        mounted = subprocess.run([*self.disk, "true"], capture_output=True, text=True)
        if mounted.returncode != 0:
            harness.skip(f"a file system of our own is not permitted here: {mounted.stderr.strip()}")

    def start(self, *flags):
        return harness.Program(
            [harness.BIN / "jobtracker", "--data", self.one.data, "--listen",
             f"tcp://127.0.0.1:{self.one.port}", "--http", "off", *flags],
            self.one.folder / "logs" / "jobtracker.log", self.one.env, "jobtracker", prefix=self.disk)

    def test_a_start_on_a_full_disk_reports_it_and_exits(self):
        tracker = self.start("--store-wait", "1s")
        self.assertEqual(tracker.wait(), 3)
        self.assertIn("the store is full; retrying", tracker.log())
        self.assertRegex(tracker.log(), "jobtracker: store: .*full.*free space")

    def test_a_start_on_a_full_disk_continues_with_free_space(self):
        tracker = self.start()
        self.addCleanup(tracker.kill)
        wait_for("it to be said", lambda: "the store is full" in tracker.log())
        os.remove(f"/proc/{tracker.pid}/root{self.one.data}/ballast")
        tracker.ready()
        self.assertIn("the store is reachable again", tracker.log())
        self.assertEqual(tracker.stop(), 0)


if __name__ == "__main__":
    harness.main()
