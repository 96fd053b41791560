"""Metrics, figures, autoscaling and alert rules, as operators use them."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import harness
from harness import BIN, SOURCE, BothStores, E2eTest, wait_for

SAMPLE = re.compile(r"^(\w+)(\{[^}]*\})? (\S+)$")
NAME = re.compile(r"\bcarillon_[a-z_]+\b")


def get(url, host=None):
    request = urllib.request.Request(url, headers={"Host": host} if host else {})
    with urllib.request.urlopen(request, timeout=30) as page:
        return page.read().decode()


def samples(text):
    """The samples of a page, with their labels as text."""
    found = {}
    for line in text.splitlines():
        match = SAMPLE.match(line)
        if match:
            found[match[1] + (match[2] or "")] = float(match[3])
    return found


def promtool(*args, text=None):
    if not shutil.which("promtool"):
        harness.skip("promtool is not installed (apt-get install prometheus)")
    done = subprocess.run(["promtool", *map(str, args)], input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Metrics(E2eTest):
    def setUp(self):
        super().setUp()
        self.one = self.cluster(flags=["--http", "127.0.0.1:0", "--http-names", "carillon.example"])
        self.http = self.one.tracker.ready()["http"]

    def worker(self):
        worker = self.one.start_worker("--metrics", "127.0.0.1:0")
        return worker.ready()["http"]

    def metrics(self):
        return samples(get(self.http + "/metrics"))

    def test_metrics_describe_the_jobs_that_ran(self):
        worker = self.worker()
        for number in range(5):
            self.one.submit("--task-id", f"good-{number}", "--shell", "echo hello")
        self.one.submit("--task-id", "bad", "--shell", "exit 3")
        self.one.submit("--task-id", "nightly", "--cron", "0 3 * * *", "--", "true")
        for task in [f"good-{number}" for number in range(5)] + ["bad"]:
            self.one.wait_ended(task)
        text = get(self.http + "/metrics")
        found = samples(text)
        group = 'group="default"'
        for name, value in {
                "carillon_jobs_submitted_total": 7,
                f'carillon_group_jobs_submitted_total{{{group},kind="now"}}': 6,
                f'carillon_group_jobs_submitted_total{{{group},kind="cron"}}': 1,
                f"carillon_group_attempts_started_total{{{group}}}": 6,
                f'carillon_group_attempts_ended_total{{{group},outcome="succeeded"}}': 5,
                f'carillon_group_attempts_ended_total{{{group},outcome="failed"}}': 1,
                f"carillon_group_lateness_seconds_count{{{group}}}": 6,
                f"carillon_group_queue_wait_seconds_count{{{group}}}": 6,
                f"carillon_group_run_seconds_count{{{group}}}": 6,
                f"carillon_group_workers{{{group}}}": 1,
                f"carillon_group_threads{{{group}}}": 2}.items():
            self.assertEqual(found[name], value, name)
        self.assertGreater(found["carillon_commit_seconds_count"], 0)
        self.assertGreaterEqual(found["carillon_claim_batch_jobs_sum"], 6)
        self.assertLess(found[f"carillon_group_lateness_seconds_sum{{{group}}}"], 60)
        version = subprocess.run([BIN / "jobtracker", "--version"], capture_output=True, text=True,
                                 check=True).stdout.split()[1]
        self.assertEqual(found[f'carillon_build_info{{version="{version}"}}'], 1)
        get(self.http + "/metrics")
        self.assertGreaterEqual(self.metrics()["carillon_http_request_seconds_count"], 2)

        at_worker = get(worker + "/metrics")
        found = samples(at_worker)
        for name, value in {
                'carillon_worker_runs_total{outcome="succeeded"}': 5,
                'carillon_worker_runs_total{outcome="failed"}': 1,
                "carillon_worker_run_seconds_count": 6,
                "carillon_worker_output_bytes_total": 5 * len("hello\n"),
                "carillon_worker_threads": 2,
                "carillon_worker_threads_free": 2,
                "carillon_worker_registered": 1,
                "carillon_worker_registrations_total": 1,
                f'carillon_build_info{{version="{version}"}}': 1}.items():
            self.assertEqual(found[name], value, name)
        self.assertEqual(get(worker + "/healthz"), "ok\n")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            get(worker + "/readyz")
        self.assertEqual(refused.exception.code, 404)
        for page in (text, at_worker):
            self.assertEqual(promtool("check", "metrics", text=page), (0, ""))

    def test_a_restarted_job_tracker_is_a_new_registration(self):
        worker = self.worker()
        self.one.tracker.kill()
        self.one.start_tracker()
        wait_for("the task tracker to be back", lambda: samples(
            get(worker + "/metrics"))["carillon_worker_registrations_total"] == 2)

    def test_autoscaler_sees_the_work_of_a_group(self):
        def work():
            try:
                return json.loads(get(f"{self.http}/autoscale/default"))
            except urllib.error.HTTPError as early:
                self.assertEqual(early.code, 503)
                return {"due": None}
        for number in range(3):
            self.one.submit("--task-id", f"long-{number}", "--shell", "sleep 120")
        wait_for("three due jobs", lambda: work()["due"] == 3)
        self.assertEqual(work(), {"group": "default", "due": 3, "executing": 0, "threads": 0,
                                  "wanted_threads": 3})
        self.worker()
        wait_for("two running jobs", lambda: work()["due"] == 1 and work()["executing"] == 2)
        self.assertEqual(work(), {"group": "default", "due": 1, "executing": 2, "threads": 2,
                                  "wanted_threads": 3})
        for path, host, status in (("/autoscale/nowhere", None, 404), ("/autoscale/", None, 404),
                                   ("/autoscale/a%20b", None, 404),
                                   ("/autoscale/default", "evil.example", 403)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                get(self.http + path, host)
            self.assertEqual(refused.exception.code, status, path)
        self.assertIn("wanted_threads", get(self.http + "/autoscale/default", "carillon.example:8080"))

    def test_dashboards_and_alert_rules_name_metrics_that_exist(self):
        worker = self.worker()
        self.one.submit("--task-id", "a", "--", "true")
        self.one.wait_ended("a")
        known = {re.match(r"\w+", name)[0] for page in (self.http, worker)
                 for name in samples(get(page + "/metrics"))}
        dashboards = sorted((SOURCE / "packaging" / "grafana").glob("*.json"))
        self.assertEqual(len(dashboards), 2)
        texts = {path.name: json.dumps([target["expr"] for panel in json.loads(path.read_text())["panels"]
                                        for target in panel["targets"]])
                 for path in dashboards}
        texts["group variable"] = dashboards[0].read_text() + dashboards[1].read_text()
        texts["rules"] = "\n".join(line for line in (
            SOURCE / "packaging" / "prometheus" / "carillon.rules.yml").read_text().splitlines()
            if not line.lstrip().startswith("#"))
        for name, text in texts.items():
            named = set(NAME.findall(text))
            self.assertTrue(named, name)
            self.assertLessEqual(named, known, name)
        uids = [json.loads(path.read_text())["uid"] for path in dashboards]
        self.assertEqual(len(set(uids)), 2)

    def test_top_shows_the_groups(self):
        self.worker()
        self.one.submit("--task-id", "long", "--shell", "sleep 120")
        wait_for("the running job", lambda: self.one.rows("executing"))
        rows = self.one.client("-o", "json", "top").json()
        self.assertEqual([(row["group"], row["workers"], row["threads"], row["executing"]) for row in rows],
                         [("default", 1, 2, 1)])
        table = self.one.client("top", "--once").out
        self.assertIn("groups 1  workers 1  threads 1 of 2  running 1  due 0", table)
        self.assertRegex(table, r"(?m)^GROUP +WORKERS")
        self.assertNotIn("\x1b", table)

    def test_top_on_a_terminal_ends_with_a_key(self):
        self.worker()
        for key in (b"q", b"\x03"):
            with self.subTest(key):
                main, terminal = pty.openpty()
                top = subprocess.Popen([BIN / "jobclient", "top"], stdin=terminal, stdout=terminal,
                                       stderr=terminal, env={**self.one.client_env(), "TERM": "xterm"})
                os.close(terminal)
                shown = b""
                until = time.monotonic() + harness.PATIENCE
                while b"default" not in shown and time.monotonic() < until:
                    if select.select([main], [], [], 1)[0]:
                        shown += os.read(main, 65536)
                os.write(main, key)
                self.assertEqual(top.wait(harness.PATIENCE), 0)
                shown += os.read(main, 65536)
                os.close(main)
                self.assertTrue(shown.startswith(b"\x1b[?1049h"), shown)
                self.assertIn(b"workers 1", shown)
                self.assertTrue(shown.endswith(b"\x1b[?25h\x1b[?1049l"), shown)


class AlertRules(unittest.TestCase):
    def test_alert_rules_are_valid_and_fire(self):
        status, said = promtool("check", "rules", SOURCE / "packaging" / "prometheus" / "carillon.rules.yml")
        self.assertEqual(status, 0, said)
        status, said = promtool("test", "rules", SOURCE / "tests" / "data" / "prometheus" / "carillon_test.yml")
        self.assertEqual(status, 0, said)


class Figures(BothStores):
    def test_each_minute_is_recorded(self):
        one = self.cluster(self.store, workers=1)
        for number in range(4):
            one.submit("--task-id", f"task-{number}", "--shell", "exit 1" if number == 0 else "true")
        for number in range(4):
            one.wait_ended(f"task-{number}")
        wait_for("the figures of the minute", lambda: one.number(
            "SELECT COALESCE(SUM(ended), 0) FROM lts_figures") == 4, 100)
        rows = one.sql("SELECT SUM(submitted), SUM(started), SUM(failed), MAX(workers), MAX(threads),"
                       " MAX(lateness_p99_ms) > 0 FROM lts_figures")
        self.assertEqual([int(value) for value in rows[0]], [4, 4, 1, 1, 2, 1])
        # Of the last minute that is over, so for at most a minute.
        group, = one.client("-o", "json", "top").json()
        if group["ended"] > 0:
            self.assertLessEqual(group["lateness_p50_ms"], group["lateness_p99_ms"])
            self.assertEqual((group["failed"] <= group["ended"], group["threads"]), (True, 2))


class FiguresOnSqlite(Figures, E2eTest):
    store_name = "sqlite"


class FiguresOnMariadb(Figures, E2eTest):
    store_name = "mariadb"


if __name__ == "__main__":
    harness.main()
