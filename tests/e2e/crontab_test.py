"""The real input: a crontab of a dozen kinds of entries, on both stores at once.

Around a full minute the job tracker is killed and is away; after its restart a busy worker is
killed. The minute after that is quiet. Then every fire that was due is accounted for.
"""

import time

import harness
from crontab_run import CrontabRun, sleep_until_second
from harness import E2eTest


class Crontab(E2eTest):
    uses_mariadb = True

    def test_every_crontab_fire_has_one_outcome_despite_kills(self):
        runs = [CrontabRun(self.cluster(store, tracker=False)) for store in ("sqlite", self.mariadb)]
        for run in runs:
            run.start()
            self.assertEqual(len(run.entries), 15)
            self.assertEqual([row["schedule"] for row in run.refused], ["@reboot"])
        sleep_until_second(57)
        for run in runs:
            run.kill_tracker()
        sleep_until_second(4)
        for run in runs:
            run.restart_tracker()
        for run in runs:
            run.kill_busy_worker()
        sleep_until_second(3)
        for run in runs:
            with self.subTest(run.cluster.store_url):
                run.finish()
                print(f"{len(run.runs)} runs noted, {run.outcomes()}", flush=True)
                self.assertEqual(run.problems(), [])
                # Seven entries fire in every odd minute and eight in every even one; two were seen.
                self.assertGreaterEqual(len(run.runs), 15)


if __name__ == "__main__":
    harness.main()
