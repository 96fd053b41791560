"""A short chaos: each fault of chaos_run.py once, some more, and an account of every job.

The seed is printed, and CARILLON_SEED=N draws the same faults again; who is in the middle of what when
they strike is left to the machine. For minutes, with a report: long/chaos.py.
"""

import os
import pathlib
import random
import sys
import tempfile
import unittest

import harness
from chaos_account import Notes
from chaos_run import Chaos
from harness import E2eTest, Mariadb, skip


class Account(unittest.TestCase):
    def repeats(self, first_began):
        folder = tempfile.TemporaryDirectory(prefix="carillon-e2e-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "notes"
        lines = ["time 1", "frozen worker-1", "time 5", "start t 7 2 worker-2", "end t 7 2 worker-2 0",
                 "thawed worker-1", "time 6"]
        lines.insert(first_began, "start t 7 1 worker-1")
        path.write_text("\n".join(lines))
        return dict(Notes(path).repeats())

    def test_a_freeze_excuses_what_had_begun_before_it(self):
        self.assertEqual(self.repeats(first_began=1), {"frozen": 1})

    def test_a_freeze_excuses_nothing_that_begins_after_it(self):
        self.assertEqual(self.repeats(first_began=6), {"NOTHING": 1})


class Short(E2eTest):
    def test_every_acknowledged_job_ends_once_and_runs_again_only_for_a_reason(self):
        if not Mariadb.is_installed():
            skip("mariadbd is not installed (apt-get install mariadb-server-core)")
        seed = int(os.environ.get("CARILLON_SEED", random.randrange(1_000_000)))
        print(f"CARILLON_SEED={seed}", flush=True)
        chaos = Chaos(self.folder, seed)
        self.addCleanup(chaos.close)
        try:
            chaos.start()
            chaos.strike(30)
            chaos.settle()
            wrong = chaos.account()
            self.assertFalse(wrong, "\n".join(wrong))
        except BaseException:
            for log in sorted(self.folder.glob("*.log")):
                print(f"---- {log.name}\n{log.read_text('utf-8', 'replace')[-harness.LOG_TAIL:]}",
                      file=sys.stderr)
            raise


if __name__ == "__main__":
    harness.main()
