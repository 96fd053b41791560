"""Pre-generation from end to end, on both stores at once: 20 s ahead, every 18 s, three batches.

The job tracker is killed inside the second batch. Every second of the schedule has one outcome: it
ran, or it is recorded as missed while no tracker was there.
"""

import time

import harness
import pregeneration
from harness import E2eTest

HORIZON, PERIOD = 20, 18


class Pregeneration(E2eTest):
    uses_mariadb = True

    def test_pregeneration_survives_a_kill_without_gaps_or_duplicates(self):
        flags = ["--pregenerate-horizon", f"{HORIZON}s", "--pregenerate-period", f"{PERIOD}s"]
        watches = []
        for store in ("sqlite", self.mariadb):
            cluster = self.cluster(store, flags)
            cluster.start_worker(threads=4)
            watches.append(pregeneration.Watch(cluster, HORIZON))
        start = time.monotonic()
        for watch in watches:
            watch.submit()
        # The second batch is generated at 18 s. On SQLite the tracker dies with it half used, on
        # MariaDB as near to its making as it can be hit; then there are two more.
        kills = {0: 24.0, 1: 18.0}
        while time.monotonic() - start < 62:
            for index, watch in enumerate(watches):
                if index in kills and time.monotonic() - start >= kills[index]:
                    watch.kill_and_restart(pause=kills.pop(index) / 4)
                watch.sample()
            time.sleep(0.2)
        for watch in watches:
            with self.subTest(watch.cluster.store_url):
                watch.finish()
                self.assertEqual(watch.problems(), [])
                down = sum(end - begin for begin, end in watch.down)
                print(f"{len(watch.rows)} rows, {watch.missed()} missed in {down:.1f} s", flush=True)
                self.assertLessEqual(watch.missed(), down + 1)
                furthest = max(ahead for _, _, ahead in watch.samples)
                self.assertGreater(furthest, HORIZON - PERIOD, "it was generated ahead")
                self.assertGreater(len(watch.rows), 30)


if __name__ == "__main__":
    harness.main()
