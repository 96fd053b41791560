"""import xxl-job, of databases in the forms that its versions have (xxl_tables.py)."""

import datetime

import harness
import xxl_tables
from harness import E2eTest

ZONE = "Asia/Shanghai"


def next_ms(hour, minute):
    """The next time that a clock in Shanghai shows so; it has had one offset since 1991."""
    now = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=8)))
    then = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if then <= now:
        then += datetime.timedelta(days=1)
    return int(then.timestamp()) * 1000


def fill(version):
    """Two groups, a job of each kind, users."""
    job = lambda **values: xxl_tables.insert_job(version, **values)
    title = "name" if version >= "3.5" else "title"
    rows = xxl_tables.insert("xxl_job_group", id=1, app_name="billing", address_type=0,
                             address_list="http://10.0.0.1:9999/", **{title: "账单"})
    rows += xxl_tables.insert("xxl_job_group", id=2, app_name="mail", address_type=1,
                              address_list="http://m1:9999/,http://m2:9999/", **{title: "Mail"})
    rows += job(id=1, job_group=1, name="月报 'eu'", executor_handler="echo",
                executor_param='{"region":"eu\\\\"}', executor_fail_retry_count=3,
                executor_timeout=90, trigger_next_time=next_ms(2, 30), child_jobid="2,3")
    rows += job(id=2, job_group=1, name="stopped", executor_handler="echo", trigger_status=0,
                executor_block_strategy="DISCARD_LATER")
    rows += job(id=3, job_group=2, name="a script", glue_type="GLUE_SHELL",
                glue_source="echo \"got $(cat)\"\r\n", executor_param="a b", schedule_conf="0 0 0 1 1 ?")
    for number in range(2):
        rows += xxl_tables.insert("xxl_job_logglue", job_id=3, glue_type="GLUE_SHELL",
                                  glue_source=f"exit {number}", glue_remark=f"version {number}",
                                  update_time=f"2024-01-0{number + 1} 10:00:00")
    rows += xxl_tables.insert("xxl_job_logglue", job_id=3, glue_type="GLUE_SHELL",
                              glue_source="echo \"got $(cat)\"\r\n", glue_remark="说 it")
    rows += job(id=4, job_group=1, name="sharded", executor_handler="echo",
                executor_route_strategy="SHARDING_BROADCAST")
    rows += job(id=5, job_group=1, name="groovy", glue_type="GLUE_GROOVY", glue_source="class X {}")
    if version > "2.2":
        rows += job(id=6, job_group=1, name="by hand", executor_handler="echo", executor_param="yes",
                    schedule_type="NONE", schedule_conf="", trigger_status=0)
        rows += job(id=7, job_group=2, name="each minute", executor_handler="noop",
                    schedule_type="FIX_RATE", schedule_conf="60", misfire_strategy="FIRE_ONCE_NOW",
                    executor_block_strategy="COVER_EARLY", alarm_email="ops@example.com")
    rows += xxl_tables.insert("xxl_job_user", username="admin", password="secret-hash", role=1)
    rows += xxl_tables.insert("xxl_job_user", username="ann", password="secret-hash", role=0,
                              permission="1,2")
    return rows


class ImportXxl(E2eTest):
    uses_mariadb = True

    def database(self, version):
        name = self.mariadb.new_database()
        self.mariadb.run(xxl_tables.create(version) + fill(version), name)
        # One that may only read is enough, and need not see a password.
        self.mariadb.run(
            "CREATE USER IF NOT EXISTS reader IDENTIFIED BY 'reader'; "
            + "".join(f"GRANT SELECT ON {name}.{table} TO reader; "
                      for table in ("xxl_job_group", "xxl_job_info", "xxl_job_logglue"))
            + f"GRANT SELECT (id, username, role, permission) ON {name}.xxl_job_user TO reader", name)
        return f"mysql://reader:reader@127.0.0.1:{self.mariadb.port}/{name}"

    def import_xxl(self, cluster, url, *flags, tz=ZONE, status=1, stdin=None):
        return cluster.client("-o", "jsonl", "import", "xxl-job", url, "--tz", tz, *flags,
                              status=status, stdin=stdin)

    def test_reads_each_xxl_job_version(self):
        cluster = self.cluster("sqlite", tracker=False)
        for version in xxl_tables.VERSIONS:
            with self.subTest(version):
                rows = self.import_xxl(cluster, self.database(version), "--dispatch", "pull").lines()
                left = {(row["kind"], row["name"]): row for row in rows if row["status"] == "left"}
                self.assertEqual(sorted(left), [("group", "billing"), ("group", "mail"),
                                                ("user", "admin"), ("user", "ann")])
                self.assertEqual(left["group", "billing"]["title"], "账单")
                self.assertIn("may use billing, mail", left["user", "ann"]["note"])
                jobs = {row["xxl_job_id"]: row for row in rows if row["kind"] == "job"}
                self.assertEqual(sorted(jobs), [1, 2, 3, 4, 5] + ([6, 7] if version > "2.2" else []))
                self.assertEqual(jobs[1]["title"], "月报 'eu'")
                self.assertEqual((jobs[1]["schedule"], jobs[1]["tz"]), ("0 30 2 * * ?", ZONE))
                self.assertEqual((jobs[1]["note"], jobs[1]["state"]), ("", "active"))
                self.assertEqual((jobs[2]["state"], jobs[2]["block"]), ("suspended", "DISCARD_LATER"))
                self.assertNotIn("left out", jobs[3]["note"])
                self.assertEqual([number for number, row in jobs.items() if row["status"] == "refused"],
                                 [4, 5])
                if version > "2.2":
                    self.assertEqual((jobs[6]["schedule"], jobs[6]["state"]), ("manual", "active"))
                    self.assertEqual(jobs[7]["schedule"], "every 1m")

    def test_imports_the_jobs_only_once(self):
        url = self.database("2.4")
        cluster = self.cluster("sqlite")
        flags = ["--dispatch", "pull", "--apply"]
        rows = self.import_xxl(cluster, "-", *flags, stdin=url + "\n").lines()
        self.assertEqual({row["name"]: row["status"] for row in rows if row["kind"] == "job"},
                         {"xxl-1": "accepted", "xxl-2": "accepted", "xxl-3": "accepted",
                          "xxl-4": "refused", "xxl-5": "refused", "xxl-6": "accepted",
                          "xxl-7": "accepted"})
        defined = {row["task_id"]: row for row in cluster.rows("list")}
        self.assertEqual({task: row["state"] for task, row in defined.items()},
                         {"xxl-1": "active", "xxl-2": "suspended", "xxl-3": "active",
                          "xxl-6": "active", "xxl-7": "active"})

        def spec(task, group="billing"):
            return cluster.client("-o", "json", "show", task, "--group", group).json()["spec"]
        report = spec("xxl-1")
        self.assertEqual((report["handler"], report["payload"]), ("echo", '{"region":"eu\\\\"}'))
        self.assertEqual((report["description"], report["owner"]), ("月报 'eu'", "ann"))
        self.assertEqual((report["overlap"], report["misfire"], report["timeout"]),
                         ("queue", "skip", "1m30s"))
        self.assertEqual((report["retries"]["max"], report["retries"]["base"]), (3, "10s"))
        self.assertEqual(report["children"], [{"group": "billing", "task_id": "xxl-2"},
                                              {"group": "mail", "task_id": "xxl-3"}])
        self.assertNotIn("overlap", spec("xxl-2"))  # skip
        minute = spec("xxl-7", "mail")
        self.assertEqual((minute["every"], minute["overlap"]), ("1m", "cancel_running"))

        # Whoever resumed or removed one here wins, and is told.
        cluster.client("resume", "xxl-2", "--group", "billing")
        cluster.client("cancel", "xxl-7", "--group", "mail")
        again = cluster.client("import", "xxl-job", url, "--tz", ZONE, *flags, status=1)
        self.assertIn("0 jobs submitted, 5 exist here, 2 not imported; nothing was changed",
                      again.err)
        self.assertIn("xxl-2: is suspended in xxl-job and active here", again.err)
        self.assertNotIn("--replace changes it", again.err)
        self.assertEqual({row["task_id"] for row in cluster.rows("list")}, defined.keys() - {"xxl-7"})

        versions = cluster.rows("scripts", "list", "xxl-3", "--group", "mail")
        self.assertEqual([(row["remark"], row["used"]) for row in versions],
                         [("说 it", True), ("version 1", False), ("version 0", False)])
        cluster.client("scripts", "restore", "xxl-3", "--group", "mail", "--number",
                       str(versions[2]["version"]))
        self.assertEqual(cluster.client("scripts", "show", "xxl-3", "--group", "mail").out, "exit 0")
        cluster.client("scripts", "restore", "xxl-3", "--group", "mail", "--number",
                       str(versions[0]["version"]))

        # They run.
        for group in ("billing", "mail"):
            cluster.start_worker("--group", group)
        cluster.client("trigger", "xxl-6", "--group", "billing")
        cluster.client("trigger", "xxl-1", "--group", "billing")
        for task in ("xxl-6", "xxl-1", "xxl-2", "xxl-3"):
            self.assertEqual(cluster.wait_ended(task, ["succeeded", "failed"])["state"], "succeeded")
        self.assertEqual(cluster.client("logs", "xxl-3", "--group", "mail").out, "got a b\n")

    def test_imports_one_group_and_skips_it_when_repeated(self):
        url = self.database("3.4")
        cluster = self.cluster("sqlite")
        for status in ("accepted", "duplicate"):
            rows = self.import_xxl(cluster, url, "--dispatch", "pull", "--group", "mail", "--apply",
                                   "--prefix", "x", status=0).lines()
            self.assertEqual([(row["name"], row["status"]) for row in rows],
                             [("mail", "left"), ("x3", status), ("x7", status)])

    def test_an_unknown_app_is_refused_naming_the_known_ones(self):
        cluster = self.cluster("sqlite", tracker=False)
        answer = self.import_xxl(cluster, self.database("3.4"), "--group", "mail", "--group", "mial", status=4)
        self.assertEqual((answer.out, answer.err),
                         ("", '{"error":"xxl-job has no executor group with the app name \'mial\' '
                              '(it has \'billing\', \'mail\')","verb":"import xxl-job","exit_status":4}\n'))

    def test_imports_jobs_for_existing_executors(self):
        cluster = self.cluster("sqlite")
        url = self.database("2.4")
        for status in ("accepted", "duplicate"):
            rows = self.import_xxl(cluster, url, "--apply", status=0).lines()
            jobs = {row["name"]: row for row in rows if row["kind"] == "job"}
            self.assertEqual({row["status"] for row in jobs.values()}, {status})
        self.assertEqual([(jobs[name]["group"], jobs[name]["route"], jobs[name]["block"])
                          for name in ("xxl-1", "xxl-4", "xxl-7")],
                         [("billing", "ROUND", "SERIAL_EXECUTION"),
                          ("billing", "SHARDING_BROADCAST", "SERIAL_EXECUTION"),
                          ("mail", "ROUND", "COVER_EARLY")])
        first = cluster.client("-o", "json", "show", "xxl-1", "--group", "billing").json()
        self.assertEqual((first["spec"]["dispatch"], first["spec"]["handler"]), ("push", "echo"))

    def test_detects_a_wrong_time_zone_from_fires_xxl_job_planned(self):
        cluster = self.cluster("sqlite", tracker=False)
        rows = self.import_xxl(cluster, self.database("2.4"), "--dispatch", "pull",
                               tz="Europe/Berlin").lines()
        noted = [row["name"] for row in rows if "--tz must be the zone" in row["note"]]
        self.assertEqual(noted, ["xxl-1"])

    def test_explains_problems_with_the_database(self):
        cluster = self.cluster("sqlite", tracker=False)
        empty = self.mariadb.url(self.mariadb.new_database())
        self.assertIn("no tables of xxl-job", self.import_xxl(cluster, empty, status=2).err)
        name = self.mariadb.new_database()
        self.mariadb.run(xxl_tables.create("2.4"), name)
        url = self.mariadb.url(name)
        self.assertIn("no jobs in xxl-job",
                      cluster.client("import", "xxl-job", url, "--tz", ZONE, status=0).err)
        self.mariadb.run("ALTER TABLE xxl_job_info DROP COLUMN schedule_conf", name)
        self.assertIn("xxl_job_info has no column schedule_conf",
                      self.import_xxl(cluster, url, status=2).err)
        self.mariadb.run("DROP TABLE xxl_job_user", name)
        self.assertNotIn("p@ss", self.import_xxl(cluster, url, status=2).err)


if __name__ == "__main__":
    harness.main()
