"""The three programs as a user of a shell meets them: ready lines, help, stopping, exit statuses."""

import contextlib
import datetime
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

import harness
from harness import BIN, SOURCE, E2eTest, wait_for

PROGRAMS = ("jobtracker", "tasktracker", "jobclient")
EXIT_USAGE, EXIT_STORE = 2, 3
DONE, REFUSED, USAGE, UNREACHABLE, NOT_FOUND, OWN_FAILURE = 0, 1, 2, 3, 4, 125


def run(program, *args, env=None, patience=harness.PATIENCE):
    return subprocess.run([BIN / program, *map(str, args)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=patience,
                          env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(env or {})})


def setting(program, flag):
    """The name of a flag in the environment and the file, in lower case."""
    name = flag.replace("-", "_")
    return "http_url" if (program, name) == ("jobclient", "http") else name


class Help(unittest.TestCase):
    def test_help_has_examples_and_names_every_default(self):
        for program in PROGRAMS:
            with self.subTest(program):
                done = run(program, "--help")
                self.assertEqual(done.returncode, DONE)
                self.assertEqual(done.stderr, "")
                self.assertRegex(done.stdout, rf"^Usage: {program} ")
                self.assertIn("\nExamples\n", done.stdout)
                self.assertIn("--config FILE", done.stdout)
                self.assertIn("CARILLON_", done.stdout)
                self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

    def test_version_is_one_line_with_the_name_and_a_number(self):
        for program in PROGRAMS:
            with self.subTest(program):
                done = run(program, "--version")
                self.assertEqual(done.returncode, DONE)
                self.assertRegex(done.stdout, rf"^{program} \d+\.\d+\.\d+.*\n$")

    def test_programs_allocate_with_mimalloc(self):
        for program in PROGRAMS:
            with self.subTest(program):
                done = run(program, "--version", env={"MIMALLOC_VERBOSE": "1"})
                self.assertIn("mimalloc: ", done.stderr)

    def test_help_verb_and_help_flags_print_the_same(self):
        for program in PROGRAMS:
            for words in (["help"], ["help", "--help"], ["-h"]):
                with self.subTest(program=program, words=words):
                    done = run(program, *words)
                    self.assertEqual((done.returncode, done.stderr), (DONE, ""))
                    self.assertEqual(done.stdout, run(program, "--help").stdout)

    def test_help_shows_the_data_folder_of_this_user(self):
        for program in PROGRAMS:
            with self.subTest(program):
                done = run(program, "--help", env={"XDG_STATE_HOME": "/state"})
                self.assertIn(f"[default: /state/carillon/{program}, CARILLON_DATA]", done.stdout)

    def test_every_verb_has_a_help_page(self):
        verbs = re.findall(r"^  ([a-z][\w-]*(?: [a-z][\w-]*)*) {2,}", run("jobclient", "--help").stdout,
                           re.M)
        for verb in ("submit", "groups add", "groups split", "import crontab", "import lts",
                     "import xxl-job", "keys new"):
            self.assertIn(verb, verbs)
        for verb in set(verbs) - {"help"}:
            with self.subTest(verb):
                done = run("jobclient", *verb.split(), "--help")
                self.assertEqual(done.returncode, DONE)
                self.assertIn(f"jobclient {verb}", done.stdout)


class Usage(E2eTest):
    """What is wrong is refused before anything is started, in words that say what to do."""

    def refused(self, program, *args, env=None, status=EXIT_USAGE):
        done = run(program, *args, env=env)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        last = done.stderr.splitlines()[-1]
        self.assertRegex(last, rf"^{program}: \S")
        return last

    def config(self, text):
        path = self.folder / "settings.toml"
        path.write_text(text)
        return path

    def test_unknown_configuration_key_is_reported_with_file_and_line(self):
        for program in PROGRAMS:
            with self.subTest(program):
                path = self.config('# ours\nlog_level = "info"\nlog_lefel = "debug"\n')
                if program == "jobclient":
                    path = self.config('# ours\noutput = "table"\nlog_lefel = "debug"\n')
                said = self.refused(program, "--config", path, *(["list"] if program == "jobclient" else []))
                self.assertIn(f"{path}:3", said)
                self.assertIn("log_lefel", said)

    def test_tables_of_other_programs_are_checked_too(self):
        for program in PROGRAMS:
            flags = re.findall(r"^  (?:-\w, )?--([a-z-]+)", run(program, "--help").stdout, re.M)
            keys = [setting(program, flag) for flag in flags
                    if flag not in ("config", "help", "version", "completion")]
            self.assertGreater(len(keys), 5)
            reader, *args = ("jobclient", "next", "@daily") if program != "jobclient" else ("tasktracker",)
            with self.subTest(program):
                path = self.config(f"[{program}]\n" + "".join(f'{key} = "x"\n' for key in keys))
                # What the reader then has to say is of its own flags.
                said = self.refused(reader, "--config", path, *args, "--insecure=x")
                self.assertIn("--insecure", said)
                path = self.config(f'[{program}]\n{keys[0]} = "x"\nfrobnicate = "x"\n')
                said = self.refused(reader, "--config", path, *args)
                self.assertIn(f"{path}:3: unknown key 'frobnicate' of {program}", said)

    def test_documented_example_configuration_serves_every_program(self):
        page = (SOURCE / "docs" / "reference" / "configuration.md").read_text()
        path = self.config(re.search(r"```toml\n(.*?)```", page, re.S)[1])
        for program in PROGRAMS:
            with self.subTest(program):
                # What the program then has to say is of its own flags.
                args = ("next", "@daily") if program == "jobclient" else ()
                self.assertRegex(self.refused(program, "--config", path, *args, "--insecure=x"), "^[a-z]+: --insecure: ")
        self.assertEqual(run("jobclient", "--config", path, "next", "@daily").returncode, 0)

    def test_configuration_page_lists_every_flag(self):
        page = (SOURCE / "docs" / "reference" / "configuration.md").read_text()
        for program in PROGRAMS:
            with self.subTest(program):
                flags = re.findall(r"^  (?:-\w, )?--([a-z-]+)", run(program, "--help").stdout, re.M)
                section = re.search(rf"^## {program}$(.*?)(?:^## |\Z)", page, re.M | re.S)[1]
                rows = re.findall(r"^\| (?:`-\w`, )?`--([a-z-]+)[^|]*\| `(\w+)` \| (?:`(\w+)` )?\|", section, re.M)
                self.assertEqual(sorted(flag for flag, _, _ in rows),
                                 sorted(set(flags) - {"help", "version", "completion"}))
                for flag, variable, key in rows:
                    name = setting(program, flag)
                    self.assertEqual(variable, "CARILLON_" + name.upper())
                    self.assertEqual(key, "" if flag == "config" else name)

    def test_key_of_another_program_is_referred_to_its_table(self):
        path = self.config('log_level = "info"\n')
        said = self.refused("jobclient", "--config", path, "next", "@daily")
        self.assertIn(f"{path}:1: unknown key 'log_level' (move it into [jobtracker] or [tasktracker])", said)

    def test_invalid_file_value_is_refused_even_when_overridden(self):
        for program, key, wrong, right in (("jobtracker", "lease", "3 blinks", "3s"),
                                           ("jobtracker", "listen", "nowhere", "tcp://127.0.0.1:0"),
                                           ("jobtracker", "http", "nowhere", "off"),
                                           ("tasktracker", "tracker", "nowhere", "tcp://127.0.0.1:1")):
            with self.subTest(key):
                path = self.config(f'{key} = "{wrong}"\n')
                self.assertIn(f"{path}:1: {key}: '{wrong}'",
                              self.refused(program, "--config", path, f"--{key}", right))

    def test_invalid_duration_error_names_source_and_format(self):
        path = self.config('lease = "3 blinks"\n')
        said = self.refused("jobtracker", "--config", path)
        self.assertIn(f"{path}:1", said)
        self.assertIn("'3 blinks' is not a duration", said)
        self.assertIn("1h30m", said)
        self.assertIn("--lease", self.refused("jobtracker", "--lease", "3blinks"))
        self.assertIn("CARILLON_LEASE", self.refused("jobtracker", env={"CARILLON_LEASE": "3"}))

    def test_out_of_range_settings_are_refused_with_their_limits(self):
        for program, flags, words in (
                ("jobtracker", ["--lease", "40000d"], "'40000d' is too long, must be 2s to 1d"),
                ("jobtracker", ["--store-wait", "106751991d"], "'106751991d' is too long"),
                ("jobtracker", ["--pregenerate-horizon", "2us"], "must be 1s to 366d"),
                ("jobtracker", ["--pregenerate-period", "3h"],
                 "--pregenerate-period is 3h, must be shorter than pregenerate-horizon, which is 10m"),
                ("jobtracker", ["--name", ""], "'' is empty, must be 1 to 200 bytes"),
                ("jobtracker", ["--name", "a\nb"], "control characters"),
                ("jobtracker", ["--name", "x" * 3000], "has 3000 bytes"),
                ("tasktracker", ["--drain-timeout", "110000d"], "'110000d' is too long"),
                ("tasktracker", ["--kill-grace", "110000d"], "'110000d' is too long"),
                ("tasktracker", ["--label", "a=1", "--label", "a=2"], "'a' is given twice"),
                ("tasktracker", ["--label", "a=" + "x" * 70000], "has 70002 bytes, at most 200")):
            with self.subTest(program=program, flags=flags[0]):
                said = self.refused(program, *flags)
                self.assertIn(flags[0], said)
                self.assertIn(words, said)

    def test_flag_overrides_environment_which_overrides_file(self):
        # A zone is looked up only where it counts; other values are checked wherever they stand.
        path = self.config('tz = "nowhere"\nlease = "bad"\n')
        bad_file = self.refused("jobtracker", "--config", path)
        self.assertIn(f"{path}:2", bad_file)
        path = self.config('tz = "file"\n')
        env = {"CARILLON_TZ": "environment", "HOME": str(self.folder)}
        self.assertIn("'file'", self.refused("jobtracker", "--config", path,
                                             env={"HOME": str(self.folder)}))
        self.assertIn("'environment'", self.refused("jobtracker", "--config", path, env=env))
        self.assertIn("'flag'", self.refused("jobtracker", "--config", path, "--tz", "flag",
                                             env=env))

    def test_a_missing_configuration_file_is_named(self):
        self.assertIn("none.toml", self.refused("jobtracker", "--config", "none.toml"))

    def test_a_misspelt_flag_and_verb_are_named(self):
        self.assertIn("--stroe", self.refused("jobtracker", "--stroe", "x"))
        self.assertIn("frobnicate", self.refused("jobclient", "frobnicate"))
        self.assertIn("did you mean '--replace-on-exist'?",
                      self.refused("jobclient", "submit", "--replace", "--", "true"))

    def test_invalid_address_is_named_with_source_and_example(self):
        for program, flag, args in (("jobtracker", "listen", []), ("tasktracker", "tracker", []),
                                    ("jobclient", "tracker", ["list"])):
            with self.subTest(program):
                said = self.refused(program, *args, f"--{flag}", "localhost")
                self.assertIn(f"--{flag}: 'localhost' is not an address", said)
                self.assertIn("tcp://127.0.0.1:35001", said)
                name = f"CARILLON_{flag.upper()}"
                self.assertIn(f"environment {name}: 'x'", self.refused(program, *args, env={name: "x"}))

    def test_unquoted_text_in_the_file_is_explained(self):
        path = self.config("# ours\nstore = mysql://app:hush@db/carillon\n")
        said = self.refused("jobtracker", "--config", path)
        self.assertIn(f"{path}:2", said)
        self.assertIn('store = "..."', said)
        self.assertNotIn("hush", said)

    def test_keys_are_never_overwritten(self):
        folder = self.folder / "keys"
        self.assertEqual(run("jobclient", "keys", "new", folder).returncode, DONE)
        before = (folder / "server.key").read_text()
        said = self.refused("jobclient", "keys", "new", folder)
        self.assertIn(f"{folder}/server.key already exists", said)
        self.assertIn("another folder", said)
        self.assertEqual((folder / "server.key").read_text(), before)

    def test_unknown_store_is_refused(self):
        self.assertIn("postgres", self.refused("jobtracker", "--store", "postgres://x"))

    def test_non_loopback_listen_requires_keys_or_insecure(self):
        said = self.refused("jobtracker", "--listen", "tcp://0.0.0.0:0", "--data", self.folder,
                            "--http", "off", env={"XDG_RUNTIME_DIR": str(self.folder)})
        self.assertIn("--keys", said)
        self.assertIn("--insecure", said)

    def test_worker_refuses_invalid_kind_threads_and_label(self):
        self.refused("tasktracker", "--allow", "everything")
        self.refused("tasktracker", "--threads", "0")
        self.refused("tasktracker", "--label", "no-equals-sign")


class Servers(E2eTest):
    def test_stdout_has_only_the_ready_line(self):
        cluster = self.cluster()
        tracker = cluster.tracker
        self.assertEqual(len(tracker.lines()), 1)
        self.assertRegex(tracker.lines()[0],
                         r"^jobtracker: ready listen=tcp://127\.0\.0\.1:\d+ http=off "
                         rf"store=sqlite:{cluster.data}/carillon\.db$")
        worker = cluster.start_worker("--group", "ops", name="host-1", threads=3)
        cluster.submit("--task-id", "one", "--group", "ops", "--", "echo", "hello")
        cluster.wait_ended("one")
        self.assertEqual(worker.lines(), [
            f"tasktracker: ready group=ops name=host-1 threads=3 tracker=tcp://127.0.0.1:{cluster.port}"])
        self.assertEqual(tracker.stop(), 0)
        self.assertEqual(worker.stop(), 0)
        self.assertEqual(len(tracker.lines()), 1)

    def test_log_announces_only_a_new_store_with_its_path(self):
        cluster = self.cluster()
        path = cluster.data / "carillon.db"
        self.assertRegex(cluster.tracker.log(), rf"created a new store .*{path}")
        cluster.tracker.stop()
        cluster.tracker.log_path.unlink()
        cluster.start_tracker()
        self.assertNotIn("new store", cluster.tracker.log())

    def test_health_answers_from_the_start_but_readiness_only_when_ready(self):
        silent = socket.socket()
        silent.bind(("127.0.0.1", 0))  # takes no connections: a database that is away
        http = harness.free_port()
        cluster = self.cluster(tracker=False, flags=["--http", f"127.0.0.1:{http}"])

        def status(path):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{http}{path}", timeout=10) as page:
                    return page.status
            except urllib.error.HTTPError as error:
                return error.code
            except OSError:
                return None
        away = cluster.start_tracker("--store-wait", "60s", "--store",
                                     f"mysql://u:p@127.0.0.1:{silent.getsockname()[1]}/x", wait=False)
        wait_for("an answer of /healthz", lambda: status("/healthz") == 200)
        self.assertEqual(status("/readyz"), 503)
        self.assertTrue(away.is_running())
        away.kill()
        silent.close()
        ready = cluster.start_tracker().ready()
        self.assertEqual(ready["http"], f"http://127.0.0.1:{http}")
        self.assertEqual((status("/healthz"), status("/readyz")), (200, 200))

    def test_http_port_0_picks_and_reports_a_free_port(self):
        ready = self.cluster(flags=["--http", "127.0.0.1:0"]).tracker.ready()
        self.assertRegex(ready["http"], r"^http://127\.0\.0\.1:[1-9]\d+$")
        with urllib.request.urlopen(ready["http"] + "/healthz", timeout=30) as page:
            self.assertEqual(page.status, 200)

    def test_http_index_lists_pages_and_accepts_the_host_name(self):
        http = self.cluster(flags=["--http", "127.0.0.1:0"]).tracker.ready()["http"]

        def get(path, host="localhost"):
            request = urllib.request.Request(http + path, headers={"Host": host})
            with urllib.request.urlopen(request, timeout=30) as page:
                return page.read().decode()
        listed = re.findall(r"^/[\w/]+", get("/"), re.MULTILINE)
        self.assertEqual(listed, ["/api/v1", "/healthz", "/readyz", "/metrics", "/autoscale/GROUP"])
        for page in listed[1:4]:
            self.assertTrue(get(page))
        for name in (socket.gethostname(), socket.gethostname().split(".")[0] + ":9000"):
            self.assertEqual(get("/healthz", name), "ok\n")
        for path, host, status in (("/nowhere", "localhost", 404), ("/healthz", "evil.example", 403)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                get(path, host)
            self.assertEqual(refused.exception.code, status)

    def test_servers_raise_their_open_file_limit_but_not_for_jobs(self):
        def limit(process):
            text = Path(f"/proc/{process.pid}/limits").read_text()
            return int(re.search(r"^Max open files +(\d+)", text, re.MULTILINE).group(1))

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
            one = self.cluster(workers=1)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.assertEqual(limit(one.tracker), hard)
        self.assertEqual(limit(one.workers[0]), hard)
        self.assertEqual(one.submit("--wait", "--shell", "ulimit -Sn; ulimit -Hn").json()[0]["text"], f"200\n{hard}\n")

    def test_jobs_run_after_the_guard_process_was_killed(self):
        one = self.cluster(workers=1)
        children = Path(f"/proc/{one.workers[0].pid}/task/{one.workers[0].pid}/children").read_text().split()
        guards = [child for child in children if Path(f"/proc/{child}/comm").read_text() == "carillon-guard\n"]
        self.assertEqual(len(guards), 1)
        os.kill(int(guards[0]), signal.SIGKILL)
        for task in ("one", "two"):
            one.submit("--task-id", task, "--", "true")
            self.assertEqual(one.wait_ended(task)["state"], "succeeded")

    def test_no_temporary_files_are_used(self):
        nowhere = str(self.folder / "nowhere")
        cluster = self.cluster(flags=["--http", "127.0.0.1:0"], tracker=False)
        cluster.env |= {name: nowhere for name in ("TMPDIR", "TMP", "TEMP", "TEMPDIR")}
        cluster.start_tracker()
        cluster.start_worker()
        http = cluster.tracker.ready()["http"]
        cluster.submit("--task-id", "a", "--shell", "echo said")
        cluster.wait_ended("a")
        for path in ("/healthz", "/readyz", "/metrics"):
            with urllib.request.urlopen(http + path, timeout=30) as page:
                self.assertEqual(page.status, 200)
        self.assertFalse(os.path.exists(nowhere))
        own = str(cluster.folder)
        for program in (cluster.tracker, cluster.workers[0]):
            files = f"/proc/{program.pid}/fd"
            opened = [os.readlink(f"{files}/{number}") for number in os.listdir(files)]
            self.assertTrue(any(path.startswith(own) for path in opened), opened)
            self.assertEqual([path for path in opened if path.startswith("/") and
                              not path.startswith((own, "/dev/", "/proc/"))], [])

    def test_metrics_match_stats_and_the_documentation(self):
        cluster = self.cluster(flags=["--http", "127.0.0.1:0"])
        worker = cluster.start_worker("--metrics", "127.0.0.1:0")
        cluster.submit("--task-id", "counted", "--", "true")
        cluster.wait_ended("counted")

        def metrics(program):
            """Each metric with its type, and the numbers of those without labels."""
            with urllib.request.urlopen(program.ready()["http"] + "/metrics", timeout=30) as page:
                text = page.read().decode()
            return (dict(re.findall(r"^# TYPE carillon_(\w+) (\w+)$", text, re.MULTILINE)),
                    dict(re.findall(r"^carillon_(\w+) (\S+)$", text, re.MULTILINE)))
        types, shown = metrics(cluster.tracker)
        stats = cluster.stats()
        self.assertLessEqual(set(stats), set(shown))
        page = (SOURCE / "docs" / "reference" / "metrics.md").read_text()
        documented = dict(re.findall(r"^\| `carillon_(\w+)` \| (\w+) \|", page, re.MULTILINE))
        of_workers = {name: kind for name, kind in documented.items() if name.startswith("worker_")}
        self.assertEqual({**types, **of_workers}, documented)
        self.assertEqual(metrics(worker)[0], {**of_workers, "build_info": "gauge"})
        for name in ("jobs_submitted_total", "jobs_handed_out_total", "attempts_ended_total"):
            self.assertEqual((float(shown[name]), stats[name]), (1, 1), name)

    def test_signals_end_idle_servers_with_status_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                cluster = self.cluster(workers=1)
                self.assertEqual(cluster.workers[0].stop(number), 0)
                wait_for("the worker to be gone", lambda: all(
                    row["state"] != "alive" for row in cluster.rows("nodes")
                    if row["kind"] == "tasktracker"))
                self.assertEqual(cluster.tracker.stop(number), 0)

    def test_draining_worker_finishes_runs_and_takes_no_new_jobs(self):
        cluster = self.cluster()
        worker = cluster.start_worker(threads=2)
        begun, go = self.folder / "begun", self.folder / "go"
        cluster.submit("--task-id", "running", "--shell",
                       f"touch {begun}; while ! test -e {go}; do sleep 0.05; done")
        # What is handed out and not begun would go back.
        wait_for("the run", begun.exists)
        worker.send(signal.SIGTERM)
        # It says good-bye to what is new first; then this job must stay.
        wait_for("the worker to be seen draining", lambda: [
            row["state"] for row in cluster.rows("nodes")] == ["draining"])
        cluster.submit("--task-id", "new", "--", "true")
        time.sleep(0.5)
        self.assertTrue(worker.is_running())
        self.assertEqual([row["task_id"] for row in cluster.rows("waiting")], ["new"])
        go.touch()
        self.assertEqual(worker.wait(), 0)
        self.assertEqual(cluster.wait_ended("running")["state"], "succeeded")
        cluster.start_worker()
        self.assertEqual(cluster.wait_ended("new")["state"], "succeeded")

    def test_second_signal_stops_a_worker_and_its_runs_at_once(self):
        cluster = self.cluster()
        worker = cluster.start_worker("--drain-timeout", "10m")
        note = self.folder / "pid"
        cluster.submit("--task-id", "long", "--shell", f"echo $$ > {note}; sleep 600")
        wait_for("the run", lambda: note.exists() and note.read_text().strip())
        worker.send(signal.SIGTERM)
        time.sleep(0.3)
        self.assertTrue(worker.is_running())
        worker.send(signal.SIGTERM)
        self.assertEqual(worker.wait(), 0)
        child = int(note.read_text())
        wait_for("the run's end", lambda: not os.path.exists(f"/proc/{child}"))

    def test_drain_ends_at_its_timeout(self):
        cluster = self.cluster()
        worker = cluster.start_worker("--drain-timeout", "300ms", "--kill-grace", "200ms")
        cluster.submit("--task-id", "long", "--", "sleep", "600")
        wait_for("the run", lambda: cluster.rows("executing"))
        self.assertEqual(worker.stop(), 0)

    def test_port_in_use_exits_with_2(self):
        cluster = self.cluster()
        other = self.cluster(tracker=False)
        other.port = cluster.port
        tracker = other.start_tracker(wait=False)
        self.assertEqual(tracker.wait(), EXIT_USAGE)
        self.assertRegex(tracker.log(), rf"jobtracker: .*{cluster.port}.*in use")
        self.assertEqual(cluster.rows("list"), [], "the one that has the port is well")

    def test_data_folder_in_use_exits_with_3(self):
        cluster = self.cluster()
        other = self.cluster(tracker=False)
        other.data = cluster.data
        tracker = other.start_tracker("--store-wait", "300ms", wait=False)
        self.assertEqual(tracker.wait(), EXIT_STORE)
        self.assertRegex(tracker.log(), r"jobtracker: store: .*carillon\.db.*another")
        self.assertEqual(cluster.rows("list"), [], "the one that has the folder is well")

    def test_unusable_data_folder_exits_with_2_and_is_named(self):
        blocked = self.folder / "file"
        blocked.write_text("")
        cluster = self.cluster(tracker=False)
        cluster.data = blocked / "data"
        tracker = cluster.start_tracker(wait=False)
        self.assertEqual(tracker.wait(), EXIT_USAGE)
        self.assertIn(str(cluster.data), tracker.log())

    def test_task_tracker_refuses_an_unusable_data_folder(self):
        blocked = self.folder / "file"
        blocked.write_text("")
        done = run("tasktracker", "--data", blocked / "data")
        self.assertEqual(done.returncode, EXIT_USAGE)
        self.assertIn(f"cannot use folder {blocked / 'data'}: Not a directory", done.stderr)

    def test_foreign_store_file_is_refused_and_left_unchanged(self):
        cluster = self.cluster(tracker=False)
        cluster.data.mkdir()
        file = cluster.data / "carillon.db"
        file.write_text("a shopping list\n" * 100)
        tracker = cluster.start_tracker("--store-wait", "300ms", wait=False)
        self.assertIn(tracker.wait(), (EXIT_USAGE, EXIT_STORE))
        self.assertIn("carillon.db", tracker.log())
        self.assertEqual(file.read_text(), "a shopping list\n" * 100)

    def test_newer_sqlite_schema_exits_with_2_and_is_untouched(self):
        cluster = self.cluster()
        cluster.tracker.stop()

        def content(change=None):
            with contextlib.closing(sqlite3.connect(cluster.data / "carillon.db")) as db, db:
                if change:
                    db.execute(change)
                return list(db.iterdump())
        before = content("INSERT INTO lts_schema VALUES (999, 0)")
        tracker = cluster.start_tracker(wait=False)
        self.assertEqual(tracker.wait(), EXIT_USAGE)
        self.assertRegex(tracker.log(), r"jobtracker: store: .*999.*newer")
        self.assertEqual(content(), before)

    def test_worker_keeps_retrying_logs_once_and_connects(self):
        cluster = self.cluster()
        cluster.tracker.kill()
        worker = cluster.start_worker(wait=False)
        wait_for("its words", worker.log)
        time.sleep(3)
        self.assertTrue(worker.is_running())
        self.assertEqual(len(re.findall("warn|error", worker.log())), 1, worker.log())
        cluster.start_tracker()
        worker.ready()

    def test_jobs_survive_a_restart_of_the_job_tracker(self):
        cluster = self.cluster()
        cluster.submit("--task-id", "kept", "--", "echo", "kept")
        self.assertEqual(cluster.tracker.stop(), 0)
        cluster.start_tracker()
        cluster.start_worker()
        self.assertEqual(cluster.wait_ended("kept")["state"], "succeeded")


class FullDisk(E2eTest):
    """The data folder lies on a small file system that only the tracker sees.

    Without the ballast it is wide enough for the log that SQLite writes between two checkpoints."""

    def setUp(self):
        super().setUp()
        mounted = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            harness.skip(f"a file system of our own is not permitted here: {mounted.stderr.strip()}")

    @staticmethod
    def get(url):
        try:
            with urllib.request.urlopen(url, timeout=10) as page:
                return page.status, page.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_full_disk_refuses_submissions_loses_nothing_and_recovers(self):
        cluster = self.cluster(tracker=False)
        cluster.data.mkdir()
        script = f'mount -t tmpfs -o size=32m none {cluster.data} && exec "$@"'
        mounting = ["unshare", "-rm", "sh", "-c", script, "sh"]
        tracker = harness.Program(
            [BIN / "jobtracker", "--data", cluster.data, "--listen", "tcp://127.0.0.1:0", "--http", "127.0.0.1:0"],
            cluster.folder / "logs" / "jobtracker.log", cluster.env, "jobtracker", prefix=mounting)
        cluster.tracker = tracker
        ready = tracker.ready()
        cluster.port = int(ready["listen"].rsplit(":", 1)[1])
        self.assertEqual(self.get(ready["http"] + "/readyz")[0], 200)
        # It runs until the disk is full, and ends then.
        gate, ended = self.folder / "gate", self.folder / "ended"
        cluster.start_worker("--group", "slow")
        cluster.submit("--task-id", "slow", "--group", "slow", "--shell",
                       f"until [ -e {gate} ]; do sleep 0.1; done; echo done > {ended}")
        wait_for("the slow job to run", lambda: cluster.rows("executing"))
        # Most of it is something else, which can be removed.
        ballast = f"/proc/{tracker.pid}/root{cluster.data}/ballast"
        with open(ballast, "wb") as file:
            file.write(b"x" * 31_000_000)
        accepted, refused = [], None
        for number in range(400):
            answer = cluster.client("-o", "json", "submit", "--task-id", f"big-{number}", "--payload-file",
                                    "-", "--answer-timeout", "4s", "--", "wc", "-c",
                                    stdin="x" * 50_000, status=None)
            if answer.status != DONE:
                refused = answer
                break
            accepted.append(f"big-{number}")
        self.assertIsNotNone(refused, "the disk never became full")
        self.assertEqual(refused.status, REFUSED, refused)
        self.assertRegex(refused.err + refused.out, r"(?i)full|no space")
        self.assertGreater(len(accepted), 3)
        self.assertTrue(tracker.is_running())
        waiting = {row["task_id"] for row in cluster.rows("waiting")}
        self.assertEqual(waiting, set(accepted), "asking still works, and nothing is lost")
        # Operators see it as well: its log says it once, and it is not ready.
        self.assertEqual(tracker.log().count("the store is full"), 1, tracker.log())
        status, text = self.get(ready["http"] + "/readyz")
        self.assertEqual((status, "full" in text), (503, True))
        self.assertEqual(cluster.stats()["store_full"], 1)
        filler = f"{ballast}-2"
        with self.assertRaises(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        gate.touch()
        wait_for("the slow job to end", ended.exists)
        time.sleep(1)  # Its result is on its way, or has been refused.
        self.assertEqual(os.statvfs(filler).f_bavail, 0)
        self.assertTrue(tracker.is_running())
        os.unlink(filler)
        os.unlink(ballast)
        wait_for("room again", lambda: cluster.client(
            "submit", "--task-id", "after", "--", "true", status=None).status == DONE)
        cluster.start_worker()
        for task in [*accepted, "after"]:
            self.assertEqual(cluster.wait_ended(task)["state"], "succeeded")
        self.assertEqual(self.get(ready["http"] + "/readyz")[0], 200)
        self.assertIn("the store has space again", tracker.log())
        self.assertEqual(cluster.wait_ended("slow")["state"], "succeeded")
        self.assertEqual([row["attempt"] for row in cluster.history("slow")], [1])
        self.assertEqual(cluster.client("logs", accepted[0]).out.strip(), "50000")
        self.assertEqual(tracker.stop(), 0)


class Database(E2eTest):
    uses_mariadb = True

    def fails(self, url, *flags):
        cluster = self.cluster(tracker=False)
        tracker = cluster.start_tracker("--store", url, *flags, wait=False)
        status = tracker.wait()
        self.assertNotIn(harness.Mariadb.PASSWORD, tracker.log())
        self.assertNotIn("p%40ss", tracker.log())
        return status, tracker.log()

    def test_unreachable_database_exits_with_3_after_the_wait(self):
        start = time.monotonic()
        status, log = self.fails(self.mariadb.url("x", port=harness.free_port()), "--store-wait", "1s")
        self.assertEqual(status, EXIT_STORE)
        self.assertGreater(time.monotonic() - start, 1.0)
        self.assertRegex(log.splitlines()[-1], r"^jobtracker: store: .*127\.0\.0\.1.*check")

    def test_wrong_password_exits_with_2_at_once(self):
        status, log = self.fails(self.mariadb.url("mysql", password="wrong"))
        self.assertEqual(status, EXIT_USAGE)
        self.assertRegex(log.splitlines()[-1], r"^jobtracker: store: .*denied")

    def test_missing_database_exits_with_2_and_is_named(self):
        status, log = self.fails(self.mariadb.url("nowhere"))
        self.assertEqual(status, EXIT_USAGE)
        self.assertIn("nowhere", log.splitlines()[-1])

    def test_newer_database_schema_exits_with_2(self):
        cluster = self.cluster(self.mariadb)
        self.assertEqual(cluster.tracker.stop(), 0)
        self.mariadb.run("INSERT INTO lts_schema VALUES (999, 0)", cluster.database)
        tracker = cluster.start_tracker(wait=False)
        self.assertEqual(tracker.wait(), EXIT_USAGE)
        self.assertRegex(tracker.log(), r"999.*newer")

    def test_database_that_starts_within_the_wait_is_used(self):
        database = self.mariadb.new_database()
        self.mariadb.server.kill()
        cluster = self.cluster(tracker=False)
        tracker = cluster.start_tracker("--store", self.mariadb.url(database), "--store-wait", "60s",
                                        wait=False)
        wait_for("its words", lambda: "cannot reach the store" in tracker.log())
        self.mariadb.start()
        tracker.ready()

    def test_the_ready_line_hides_the_password(self):
        ready = self.cluster(self.mariadb).tracker.ready()
        self.assertRegex(ready["store"], rf"^mysql://carillon:\*\*\*@127\.0\.0\.1:{self.mariadb.port}/")

    def test_standby_job_tracker_stops_with_status_0(self):
        cluster = self.cluster(self.mariadb)
        first, cluster.port = cluster.tracker, 0
        self.addCleanup(first.kill)
        newest = cluster.number("SELECT MAX(version) FROM lts_schema")
        cluster.sql(f"DELETE FROM lts_schema WHERE version = {newest}")  # as if the tables were older
        second = cluster.start_tracker("--store-wait", "300ms", wait=False)
        wait_for("it to stand by", lambda: "standing by" in second.log())
        self.assertEqual(second.stop(), 0)
        self.assertTrue(first.is_running())


class Client(E2eTest):
    """Exit statuses of jobclient."""

    def setUp(self):
        super().setUp()
        self.one = self.cluster(workers=1)

    def test_exit_status_distinguishes_refused_and_not_found(self):
        self.one.submit("--task-id", "taken", "--manual", "--", "true")
        refused = self.one.submit("--task-id", "taken", "--", "true", status=REFUSED)
        self.assertEqual(refused.json()["status"], "duplicate")
        self.assertTrue(refused.json()["reason"])
        for verb in ("cancel", "suspend", "resume", "trigger", "kill", "show", "logs"):
            with self.subTest(verb):
                answer = self.one.client(verb, "nobody", status=NOT_FOUND)
                self.assertRegex(answer.err, rf"^jobclient: {verb}: .*nobody")

    def test_not_found_error_names_the_group_that_has_the_task(self):
        self.one.submit("--task-id", "theirs", "--group", "ops", "--manual", "--", "true")
        self.one.submit("--task-id", "once", "--group", "ops", "--at", "+10h", "--", "true")
        for task in ("theirs", "once"):
            for verb in ("suspend", "resume", "trigger", "kill", "show", "logs", "cancel"):
                with self.subTest(verb, task=task):
                    answer = self.one.client(verb, task, status=NOT_FOUND)
                    self.assertEqual(answer.err, f"jobclient: {verb}: task '{task}' is not in group 'default', "
                                                 "it is in group 'ops': --group ops\n")
        self.assertIn("there is no group 'nope' (--group names the group)",
                      self.one.client("trigger", "nobody", "--group", "nope", status=NOT_FOUND).err)

    def test_resubmitting_the_shown_spec_changes_one_property(self):
        self.one.submit("--task-id", "nightly", "--group", "ops", "--cron", "0 0 2 * * ?", "--tz", "Asia/Shanghai",
                        "--owner", "ann", "--retries", "3", "--alarm", "ops@example.com", "--", "true")
        before = self.one.client("-o", "json", "show", "nightly", "--group", "ops").json()["spec"]
        self.one.submit_all([{**before, "cron": "0 30 2 * * ?", "replace_on_exist": True}])
        after = self.one.client("-o", "json", "show", "nightly", "--group", "ops").json()["spec"]
        after.pop("replace_on_exist", None)
        self.assertEqual(after, {**before, "cron": "0 30 2 * * ?"})

    def test_one_rejected_job_exits_with_1_and_answers_stay_ordered(self):
        jobs = [{"task_id": "a", "command": ["true"]}, {"task_id": "a b", "group": "no group!", "command": ["true"]},
                {"task_id": "c", "cron": "0 0 30 2 *", "command": ["true"]},
                {"task_id": "d", "colour": "red", "command": ["true"]},
                {"task_id": "e", "command": ["true"]}]
        answers = self.one.submit_all(jobs, status=REFUSED)
        self.assertEqual([row["task_id"] for row in answers], ["a", "a b", "c", "d", "e"])
        self.assertEqual([row["status"] for row in answers],
                         ["accepted", "rejected", "rejected", "rejected", "accepted"])
        self.assertRegex(answers[3]["reason"], "line 4: .*colour")

    def test_invalid_input_exits_with_2_and_is_named(self):
        for args, word in ((["submit", "--payload-file", "no-such-file", "--", "cat"], "no-such-file"),
                           (["submit", "--payload-file", self.folder, "--", "cat"], str(self.folder)),
                           (["submit", "--cron", "@daily", "--every", "5s", "--", "true"], "--every"),
                           (["submit", "--priority", "1000", "--", "true"], "priority"),
                           (["submit", "--task-id", "x"], "submit"),
                           (["submit", "--task-id", "", "--", "true"], "--task-id"),
                           (["submit", "--http", "http://h/", "--param", "a=b"], "params"),
                           (["submit", "--cron", "* * * *", "--", "true"], "* * * *"),
                           (["history", "--task-id", ""], "--task-id"),
                           (["submit", "--timeout", "3 blinks", "--", "true"], "blinks"),
                           (["history", "--since", "yesterday"], "yesterday"),
                           (["next", "* * * *"], "next")):
            with self.subTest(args):
                answer = self.one.client(*args, status=USAGE)
                self.assertIn(word, answer.err)
                self.assertEqual(answer.out, "")

    def test_unreachable_tracker_exits_with_3(self):
        nowhere = ["--tracker", f"tcp://127.0.0.1:{harness.free_port()}", "--connect-timeout", "300ms"]
        for verb in (["list"], ["submit", "--", "true"], ["cancel", "x"], ["stats"]):
            with self.subTest(verb):
                answer = self.one.client(*nowhere, *verb, status=UNREACHABLE)
                self.assertRegex(answer.err, r"^jobclient: .*no job tracker reachable")

    def test_client_uses_the_tracker_that_answers(self):
        both = f"tcp://127.0.0.1:{harness.free_port()},tcp://127.0.0.1:{self.one.port}"
        self.assertEqual(self.one.client("--tracker", both, "list").status, DONE)

    def test_wait_prints_output_and_returns_the_jobs_exit_status(self):
        for line, status in (("echo out; echo err >&2", 0), ("exit 7", 7), ("kill -9 $$", 128 + 9),
                             ("kill -15 $$", 128 + 15)):
            with self.subTest(line):
                answer = self.one.client("submit", "--wait", "--shell", line, status=status)
                if status == 0:
                    self.assertEqual((answer.out, answer.err), ("out\n", "err\n"))

    def test_wait_exits_alike_for_every_run_kind_that_times_out(self):
        for run in (["--", "sleep", "60"], ["--shell", "sleep 60"], ["--handler", "sleep", "--payload", "60s"]):
            with self.subTest(run):
                answer = self.one.client("submit", "--wait", "--timeout", "300ms", *run, status=128 + 15)
                self.assertIn("ended as timed_out: timed out after 300ms", answer.err)

    def test_trigger_wait_returns_the_jobs_exit_status(self):
        self.one.submit("--task-id", "by-hand", "--manual", "--shell", "cat; exit 3")
        answer = self.one.client("trigger", "by-hand", "--payload", "spoken", "--wait", status=3)
        self.assertEqual(answer.out, "spoken")

    def test_wait_exits_with_125_when_jobclient_itself_fails(self):
        self.one.submit("--task-id", "taken", "--manual", "--", "true")
        self.one.client("submit", "--wait", "--task-id", "taken", "--", "true", status=OWN_FAILURE)
        self.one.client("trigger", "--wait", "nobody", status=OWN_FAILURE)
        self.one.client("--tracker", f"tcp://127.0.0.1:{harness.free_port()}", "--connect-timeout", "300ms",
                        "submit", "--wait", "--", "true", status=OWN_FAILURE)

    def test_wait_exits_with_2_on_wrong_usage(self):
        for args in (["--cron", "@daily", "--", "true"], ["--priority", "1000", "--", "true"], []):
            with self.subTest(args):
                self.one.client("submit", "--wait", *args, status=USAGE)

    def test_interrupted_wait_says_that_the_job_goes_on(self):
        self.one.submit("--task-id", "by-hand", "--manual", "--shell", "echo begun; exec sleep 600")
        for args in (["submit", "--wait", "--shell", "echo begun; exec sleep 600"],
                     ["trigger", "by-hand", "--wait"], ["logs", "-f", "by-hand"]):
            with self.subTest(args):
                waiting = subprocess.Popen([BIN / "jobclient", *args], env=self.one.client_env(),
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.addCleanup(waiting.kill)
                self.assertEqual(waiting.stdout.readline(), "begun\n")
                waiting.send_signal(signal.SIGINT)
                out, err = waiting.communicate(timeout=harness.PATIENCE)
                self.assertEqual((out, waiting.returncode), ("", -signal.SIGINT))
                self.assertRegex(err, rf"^jobclient: {args[0]}: job \d+ continues \(.*\)\n$")
                job = re.search(r"job (\d+)", err)[1]
                self.assertIn(job, [row["job_id"] for row in self.one.rows("executing")])
        for row in self.one.rows("executing"):
            self.one.client("kill", "--job", row["job_id"])

    def test_unknown_job_exits_with_4_but_silent_job_does_not(self):
        for args in (["logs", "--job", "12345"], ["logs", "-f", "--job", "12345"],
                     ["history", "--job", "12345"], ["kill", "--job", "12345"]):
            with self.subTest(args):
                self.assertIn("12345", self.one.client(*args, status=NOT_FOUND).err)
        job = self.one.submit("--task-id", "silent", "--", "true").json()["job_id"]
        self.one.wait_ended("silent")
        self.assertEqual(self.one.client("logs", "--job", job).err,
                         f"job {job} has no output\n")
        self.assertEqual([row["state"] for row in self.one.rows("history", "--job", job)],
                         ["succeeded"])

    def test_queries_can_be_limited_to_a_task(self):
        for task in ("early", "late"):
            self.one.submit("--task-id", task, "--at", "+1h", "--", "true")
            self.one.submit("--task-id", f"{task}-by-hand", "--manual", "--", "true")
        self.assertEqual([row["task_id"] for row in self.one.rows("waiting", "--task-id", "late")],
                         ["late"])
        self.assertEqual([row["task_id"] for row in self.one.rows("list", "--task-id", "late-by-hand")],
                         ["late-by-hand"])
        self.assertIn("its state is waiting", self.one.client("logs", "late").err)

    def test_nodes_list_each_workers_process_and_labels(self):
        second = self.one.start_worker("--label", "zone=a", "--label", "disk=ssd", name="worker-1")
        # A node is listed once the store has it, which may be after its ready line.
        def nodes():
            return self.one.rows("nodes", "--group", "default")
        wait_for("both nodes to be listed", lambda: len(nodes()) >= 2)
        rows = nodes()
        host = socket.gethostname()
        self.assertEqual({row["address"] for row in rows},
                         {f"{host} pid {worker.pid}" for worker in self.one.workers})
        self.assertEqual({row["labels"] for row in rows}, {"", "disk=ssd,zone=a"})
        self.assertNotIn("session", rows[0])
        self.one.client("nodes", "--group", "elsewhere", status=NOT_FOUND)
        self.assertEqual(second.stop(), 0)

    def test_overloaded_worker_takes_no_jobs_and_says_so(self):
        cluster = self.cluster()
        busy = cluster.start_worker("--memory-max", "1", "--cpu-max", "100")
        cluster.submit("--task-id", "a", "--", "true")

        def state(worker):
            return [row["state"] for row in cluster.rows("nodes") if row["name"] == worker.node]
        wait_for("the load to be seen", lambda: state(busy) == ["overloaded"])
        wait_for("the log to say so", lambda: "the machine is too busy" in busy.log())
        self.assertRegex(busy.log(), r"taking no new jobs.*load=\"?memory \d+%")
        self.assertEqual(cluster.stats()["workers_overloaded"], 1)
        self.assertEqual([row["task_id"] for row in cluster.rows("waiting")], ["a"])
        idle = cluster.start_worker("--memory-max", "100")
        cluster.wait_ended("a")
        self.assertEqual(state(idle), ["alive"])
        self.assertEqual([row["node"] for row in cluster.rows("history")], [idle.node])
        self.assertEqual(busy.stop(), 0)

    def test_load_limits_must_be_whole_percentages(self):
        for flag, value, said in (("--cpu-max", "0.9", "not a whole number"),
                                  ("--cpu-max", "0", "the minimum is 1"),
                                  ("--memory-max", "90%", "not a whole number"),
                                  ("--memory-max", "101", "the maximum is 100")):
            with self.subTest(flag=flag, value=value):
                worker = self.one.start_worker(flag, value, wait=False)
                self.assertEqual(worker.wait(), 2)
                self.assertIn(flag, worker.log())
                self.assertIn(said, worker.log())

    def test_blank_lines_on_stdin_are_skipped(self):
        answer = self.one.client("-o", "jsonl", "submit", "--stdin", status=REFUSED,
                                 stdin='\n{"task_id": "a", "command": ["true"]}\n \n{"task_id": "b"}\n\n')
        self.assertEqual([(row["task_id"], row["status"]) for row in answer.lines()],
                         [("a", "accepted"), ("b", "rejected")])
        self.assertRegex(answer.lines()[1]["reason"], "^line 4: ")

    def test_logs_follow_survives_a_tracker_restart(self):
        go = self.folder / "go"
        self.one.submit("--task-id", "talker", "--shell",
                        f"echo one; while ! test -e {go}; do sleep 0.05; done; echo two")
        wait_for("output", lambda: self.one.client("logs", "talker", status=None).out)
        following = subprocess.Popen([BIN / "jobclient", "logs", "-f", "talker"], env=self.one.client_env(),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(following.kill)
        self.assertEqual(following.stdout.readline(), "one\n")
        self.one.tracker.kill()
        time.sleep(1)
        self.one.start_tracker()
        go.touch()
        out, err = following.communicate(timeout=harness.PATIENCE)
        self.assertEqual((out, following.returncode), ("two\n", 0), err)

    def test_times_are_utc_with_milliseconds_and_ids_are_strings(self):
        self.one.submit("--task-id", "timed", "--", "true")
        row = self.one.wait_ended("timed")
        for field in ("trigger_time", "started_at", "ended_at"):
            self.assertRegex(row[field], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            then = datetime.datetime.fromisoformat(row[field].replace("Z", "+00:00"))
            now = datetime.datetime.now(datetime.timezone.utc)
            self.assertLess(abs((now - then).total_seconds()), 300)
        self.assertIsInstance(row["job_id"], str)


if __name__ == "__main__":
    harness.main()
