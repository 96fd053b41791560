"""A short chaos: each fault of chaos_run.py once, some more, and an account of every job.

The seed is printed, and CARILLON_SEED=N draws the same faults again; who is in the middle of what when
they strike is left to the machine. For minutes, with a report: long/chaos.py.
"""

import os
import random
import sys

import harness
from chaos_run import Chaos
from harness import E2eTest, Mariadb, skip


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
            chaos.strike(20)
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
