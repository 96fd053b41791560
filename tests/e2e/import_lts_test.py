"""import lts, of a database that a real LTS 1.7.0 has made (tests/data/lts/README.md)."""

import harness
from harness import SOURCE, E2eTest

DUMP = SOURCE / "tests/data/lts/lts-1.7.0.sql"
SUSPENDED = ["suspended-cron", "suspended-overlapping", "suspended-repeat"]
REFUSED = ["empty-values", "running-cron", "running-now", "running-overlapping_1122-033600",
           "step-over"]
ZONE = "Asia/Shanghai"


def by_task(rows):
    return {(row["group"], row["task_id"]): row for row in rows}


class ImportLts(E2eTest):
    uses_mariadb = True

    def setUp(self):
        super().setUp()
        self.database = self.mariadb.new_database()
        self.mariadb.run(DUMP.read_text("utf-8"), self.database)
        # One that may only read is enough.
        self.mariadb.run("CREATE USER IF NOT EXISTS reader IDENTIFIED BY 'reader'; "
                         f"GRANT SELECT ON {self.database}.* TO reader", self.database)
        self.lts = f"mysql://reader:reader@127.0.0.1:{self.mariadb.port}/{self.database}"

    def import_lts(self, cluster, *flags, url=None, tz=ZONE, status=1, stdin=None):
        return cluster.client("-o", "jsonl", "import", "lts", url or self.lts, "--tz", tz, *flags,
                              status=status, stdin=stdin)

    def test_a_preview_shows_the_jobs_and_changes_nothing(self):
        cluster = self.cluster("sqlite", tracker=False)
        before = self.mariadb.run("SELECT COUNT(*) FROM lts_wjq_orders", self.database)
        rows = self.import_lts(cluster).lines()
        self.assertEqual(len(rows), 52)
        tasks = by_task(rows)
        self.assertEqual(len(tasks), 51)  # A run of running-cron executes.
        self.assertEqual(sorted(row["task_id"] for row in rows if row["status"] == "refused"),
                         REFUSED)
        # What LTS made ahead comes of its definition, and not once more.
        self.assertEqual(tasks["orders", "order-sync"]["waiting"], 20)
        self.assertFalse(any(row["task_id"].startswith("order-sync_") for row in rows))
        self.assertEqual(tasks["orders", "month-end"]["retries"], 10)
        self.assertEqual(tasks["orders", "priority-most"]["priority"], 0)
        self.assertEqual(tasks["orders", "priority-max"]["priority"], 999)
        self.assertEqual(tasks["orders", "five-times"]["schedule"], "every 1m30s, 4 times")
        self.assertIn("would never run it again", tasks["orders", "lost-repeat"]["note"])
        self.assertIn("client group web", tasks["orders", "mail-1001"]["note"])
        # LTS's own next fires are fires here.
        self.assertFalse([row for row in rows if "--tz" in row["note"]])
        after = self.mariadb.run("SELECT COUNT(*) FROM lts_wjq_orders", self.database)
        self.assertEqual(after, before)

    def test_detects_a_wrong_time_zone_from_fires_lts_planned(self):
        cluster = self.cluster("sqlite", tracker=False)
        rows = by_task(self.import_lts(cluster, tz="Europe/Berlin").lines())
        self.assertIn("--tz must be the zone", rows["orders", "nightly-close"]["note"])
        self.assertEqual("", rows["orders", "poll-stock"]["tz"])

    def test_imports_a_node_group_only_once(self):
        cluster = self.cluster("sqlite")
        url = self.lts + "\n"
        flags = ["--group", "orders", "--handler", "order-runner", "--handler-from", "shardField"]
        rows = self.import_lts(cluster, *flags, "--apply", url="-", stdin=url).lines()
        self.assertEqual({row["group"] for row in rows}, {"orders"})
        self.assertEqual({row["status"] for row in rows}, {"accepted", "refused"})
        defined = by_task(cluster.rows("list", "--group", "orders"))
        self.assertEqual(sorted(task for (_, task), row in defined.items()
                                if row["state"] == "suspended"), SUSPENDED)
        waiting = {row["task_id"]: row for row in cluster.rows("waiting", "--group", "orders")}
        self.assertEqual(waiting["in-2030"]["trigger_time"], "2030-01-01T00:00:00.000Z")
        self.assertIn("订单-42", waiting)

        def spec(task):
            return cluster.client("-o", "json", "show", task, "--group", "orders").json()["spec"]
        close = spec("nightly-close")
        self.assertEqual(close["params"], {"region": "eu", "shardField": "close"})
        self.assertEqual(close["handler"], "close")
        self.assertEqual((close["cron"], close["tz"]), ("0 30 2 * * ?", ZONE))
        self.assertEqual(close["retries"], 3)
        told = spec("mail-1001")
        self.assertEqual((told["need_feedback"], told["client_group"]), (True, "web"))
        self.assertEqual((spec("five-times")["every"], spec("five-times")["count"]), ("1m30s", 4))
        self.assertEqual(spec("order-sync")["overlap"], "parallel")
        self.assertEqual(spec("order-sync")["handler"], "order-runner")
        self.assertEqual(spec("chinese")["params"], {"城市": "北京,上海", "greeting": "你好,世界"})
        self.assertEqual(spec("quotes")["params"]["lines"], "one\ntwo\r\nthree\tend")
        self.assertEqual(spec("quotes")["params"]["text"],
                         "it's \"quoted\" and \\slashed\\ and `ticked`")

        # One that has ended leaves no task behind, and still is not submitted again.
        cluster.client("cancel", "in-2030", "--group", "orders")
        # Whoever resumed it here wins, and is told.
        cluster.client("resume", "suspended-cron", "--group", "orders")
        again = cluster.client("import", "lts", self.lts, "--tz", ZONE, *flags, "--apply", status=1)
        self.assertIn("0 jobs submitted, ", again.err)
        self.assertIn("not imported; nothing was changed", again.err)
        self.assertIn("suspended-cron: is suspended in LTS and active here", again.err)
        self.assertEqual(by_task(cluster.rows("list", "--group", "orders")).keys(), defined.keys())
        self.assertNotIn("in-2030", [row["task_id"] for row in cluster.rows("waiting")])

        # What was suspended here stays so when it is replaced, whatever it is in LTS.
        cluster.client("suspend", "nightly-close", "--group", "orders")
        replaced = self.import_lts(cluster, *flags, "--replace", "--apply").lines()
        self.assertEqual({row["status"] for row in replaced}, {"accepted", "refused"})
        defined = by_task(cluster.rows("list", "--group", "orders"))
        self.assertEqual(sorted(task for (_, task), row in defined.items()
                                if row["state"] == "suspended"), ["nightly-close", *SUSPENDED])

    def test_reports_how_existing_jobs_differ_and_changes_nothing(self):
        cluster = self.cluster("sqlite")
        flags = ["--group", "orders", "--apply"]
        self.import_lts(cluster, *flags)
        there = self.import_lts(cluster, *flags).lines()
        here_already = "exists here or has run here (--replace submits it)"
        self.assertEqual({row["note"] for row in there if row["status"] == "duplicate"},
                         {here_already})

        self.mariadb.run("UPDATE lts_cron_job_queue SET cron_expression = '0 45 2 * * ?' "
                         "WHERE task_id = 'nightly-close';"
                         "UPDATE lts_repeat_job_queue SET repeat_interval = 120000, priority = 7 "
                         "WHERE task_id = 'five-times'", self.database)
        cluster.client("suspend", "month-end", "--group", "orders")
        cluster.client("resume", "suspended-cron", "--group", "orders")
        before = cluster.rows("list", "--group", "orders")
        notes = {row["task_id"]: row["note"] for row in self.import_lts(cluster, *flags).lines()
                 if row["status"] == "duplicate" and row["note"] != here_already}
        self.assertEqual(notes.keys(), {"nightly-close", "five-times", "month-end", "suspended-cron"})
        self.assertIn(f"its schedule is cron 0 45 2 * * ? in {ZONE} in LTS and cron 0 30 2 * * ? in {ZONE} "
                      "here (--replace changes it)", notes["nightly-close"])
        self.assertIn("its schedule is every 2m, counted in LTS and every 1m30s, counted here",
                      notes["five-times"])
        self.assertIn("its priority is 7 in LTS and ", notes["five-times"])
        self.assertIn("is active in LTS and suspended here (jobclient resume", notes["month-end"])
        self.assertIn("is suspended in LTS and active here (jobclient suspend", notes["suspended-cron"])
        state = [(row["task_id"], row["state"], row["schedule"]) for row in before]
        self.assertEqual([(row["task_id"], row["state"], row["schedule"])
                          for row in cluster.rows("list", "--group", "orders")], state)

        self.import_lts(cluster, *flags, "--replace")
        changed = by_task(cluster.rows("list", "--group", "orders"))
        self.assertEqual(changed["orders", "nightly-close"]["schedule"], "0 45 2 * * ?")

    def test_exits_with_zero_when_the_whole_group_is_imported(self):
        cluster = self.cluster("sqlite")
        for status in ("accepted", "duplicate"):
            rows = self.import_lts(cluster, "--group", "data-warehouse", "--apply", status=0).lines()
            self.assertEqual([row["status"] for row in rows], [status] * 2)

    def test_an_unknown_node_group_is_refused_naming_the_known_ones(self):
        cluster = self.cluster("sqlite", tracker=False)
        self.mariadb.run("CREATE TABLE lts_wjq_empty LIKE lts_wjq_orders", self.database)
        answer = self.import_lts(cluster, "--group", "orders", "--group", "ordres", status=4)
        self.assertIn("LTS has no node group 'ordres' (it has 'data-warehouse', 'empty', ", answer.err)
        self.assertEqual(answer.out, "")
        self.assertEqual(self.import_lts(cluster, "--group", "empty", status=0).lines(), [])
        rows = self.import_lts(cluster, "--group", "Data-Warehouse", status=0).lines()
        self.assertEqual({row["group"] for row in rows}, {"data-warehouse"})

    def test_jobs_suspended_in_lts_stay_suspended(self):
        self.mariadb.run("DELETE FROM lts_cron_job_queue; DELETE FROM lts_suspend_job_queue;"
                         "DELETE FROM lts_repeat_job_queue; DELETE FROM lts_wjq_orders;"
                         "DELETE FROM lts_executing_job_queue;" + "".join(
            "INSERT INTO lts_suspend_job_queue (job_id, job_type, priority, rely_on_prev_cycle,"
            " task_id, real_task_id, gmt_created, gmt_modified, submit_node_group,"
            " task_tracker_node_group, is_running, need_feedback, cron_expression, trigger_time)"
            f" VALUES ('J{i}', 'CRON', 100, 1, 's{i}', 's{i}', 1, 1, 'web', 'orders', 0, 0,"
            " '* * * * * ?', 0);" for i in range(300)), self.database)
        cluster = self.cluster("sqlite")
        cluster.start_worker("--group", "orders")
        self.import_lts(cluster, "--group", "orders", "--shell", "true", "--apply", status=0)
        defined = cluster.rows("list", "--group", "orders")
        self.assertEqual([row["state"] for row in defined], ["suspended"] * 300)
        cluster.client("resume", "s7", "--group", "orders")
        self.assertEqual(cluster.wait_ended("s7")["state"], "succeeded")
        # Neither a run, nor a fire that a suspension has ended.
        self.assertEqual({row["task_id"] for row in cluster.history()}, {"s7"})

    def test_a_shell_line_runs_the_imported_jobs(self):
        cluster = self.cluster("sqlite")
        cluster.start_worker("--group", "data-warehouse")
        line = 'echo "$CARILLON_TASK_ID: $CARILLON_PARAM_SAME_ID"'
        self.import_lts(cluster, "--group", "data-warehouse", "--shell", line, "--apply", status=0)
        ended = cluster.wait_ended("nightly-close")
        self.assertEqual(ended["state"], "succeeded")
        out = cluster.client("logs", "nightly-close", "--group", "data-warehouse").out
        self.assertEqual(out, "nightly-close: another group\n")
        self.import_lts(cluster, "--group", "data-warehouse", "--apply", status=0)
        self.assertEqual(len(cluster.history("nightly-close")), 1)

    def test_a_job_tracker_does_not_touch_an_lts_database(self):
        tables = self.mariadb.run("SHOW TABLES", self.database)
        cluster = self.cluster("sqlite", tracker=False)
        tracker = cluster.start_tracker("--store", self.mariadb.url(self.database), wait=False)
        self.assertEqual(tracker.wait(), 2)
        self.assertRegex(tracker.log(), r"jobtracker: store: .* is a database of LTS .*jobclient import lts")
        self.assertEqual(self.mariadb.run("SHOW TABLES", self.database), tables)

    def test_explains_problems_with_the_database(self):
        cluster = self.cluster("sqlite", tracker=False)
        url = self.mariadb.url(self.mariadb.new_database())
        self.assertIn("no tables of LTS",
                      self.import_lts(cluster, url=url, status=2).err)
        missing = self.import_lts(cluster, url=self.mariadb.url("nope"), status=2).err
        self.assertIn("Unknown database 'nope' (1049): name the one that LTS's job trackers have as jdbc.url",
                      missing)
        self.assertNotIn("CREATE DATABASE", missing)
        ours = self.cluster(self.mariadb)
        self.assertIn("the store of a Carillon job tracker",
                      self.import_lts(cluster, url=ours.store_url, status=2).err)
        wrong = self.mariadb.url(self.database, password="secret-word")
        answer = self.import_lts(cluster, url=wrong, status=2)
        self.assertNotIn("secret-word", answer.err)
        self.mariadb.run("ALTER TABLE lts_cron_job_queue DROP COLUMN rely_on_prev_cycle",
                         self.database)
        self.assertIn("lts_cron_job_queue as a table of LTS 1.7",
                      self.import_lts(cluster, status=2).err)


if __name__ == "__main__":
    harness.main()
