"""A job tracker that finds tables of an older version which another one works on; and a task tracker
that nobody answers."""

import pathlib

import harness
from harness import E2eTest, wait_for


class Standby(E2eTest):
    """One of a newer version stands by until the others have ended."""

    uses_mariadb = True

    def test_new_version_stands_by_until_older_job_trackers_stop(self):
        cluster = self.cluster(self.mariadb)
        old = cluster.tracker
        self.addCleanup(old.kill)
        newest = cluster.number("SELECT MAX(version) FROM lts_schema")
        cluster.sql(f"DELETE FROM lts_schema WHERE version = {newest}")
        cluster.port = harness.free_port()
        new = cluster.start_tracker(wait=False)
        self.addCleanup(new.kill)
        wait_for("it to stand by", lambda: "stands by" in cluster.client(
            "--connect-timeout", "100ms", "stats", status=None).err)
        self.assertEqual(new.lines(), [])
        self.assertEqual(old.stop(), 0)
        new.ready()
        self.assertEqual(cluster.number("SELECT MAX(version) FROM lts_schema"), newest)


class CutOff(E2eTest):
    """One job tracker only: while it is away, a task tracker has no lease."""

    def test_stop_without_lease_stops_runs_when_the_lease_ends(self):
        cluster = self.cluster()
        cluster.start_worker("--stop-without-lease", "--kill-grace", "200ms")
        pids = self.folder / "pids"
        cluster.submit("--task-id", "long", "--shell",
                       f'echo $$ >> {pids}; [ "$CARILLON_ATTEMPT" = 1 ] && exec sleep 600; true')
        wait_for("the run", lambda: pids.exists() and pids.read_text().endswith("\n"))
        process = pathlib.Path("/proc", pids.read_text().strip())
        cluster.tracker.kill()
        wait_for("it to be stopped", lambda: not process.exists())
        cluster.start_tracker()
        cluster.wait_ended("long", ["succeeded"])
        self.assertEqual([row["state"] for row in reversed(cluster.history("long"))],
                         ["later", "succeeded"])


if __name__ == "__main__":
    harness.main()
