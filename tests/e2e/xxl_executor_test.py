#!/usr/bin/env python3
"""A task tracker as an executor under an xxl-job admin, in dialects B, C and D."""

import os
import pathlib
import re
import shutil
import subprocess

import harness
from harness import BIN, E2eTest, Program, make_certificate, skip, wait_for
from xxl_admin import APP, TOKEN, Admin


class ExecutorTest(E2eTest):
    dialect = "B"

    def setUp(self):
        super().setUp()
        self.one = self.cluster(tracker=False)
        self.admin = Admin(self.dialect)
        self.addCleanup(self.admin.stop)
        self.lives = 0

    def flags(self, *more, token=TOKEN, admins=None, port=0):
        return ["--tracker", "off", "--xxl-admin", admins or self.admin.url, "--xxl-appname", APP,
                "--xxl-port", port, "--data", self.one.folder / "data", *(["--xxl-token", token] if token else []), *more]

    def start(self, *more, registered=True, **kwargs):
        self.lives += 1
        executor = Program([BIN / "tasktracker", *self.flags(*more, **kwargs)],
                           self.one.folder / "logs" / f"executor-{self.lives}.log", self.one.env,
                           "tasktracker")
        self.one.workers.append(executor)
        executor.address = executor.ready()["xxl"]
        if registered:
            wait_for("the registration", lambda: executor.address in self.admin.addresses)
        return executor

    def ended(self, log_id):
        return wait_for(f"the result of {log_id}", lambda: self.admin.result(log_id))

    def run_job(self, **call):
        """The result of a trigger that is taken."""
        log_id, answer = self.admin.run(**call)
        self.assertEqual(answer["code"], 200, answer)
        return self.ended(log_id)

    def log_has(self, log_id, text):
        return wait_for(f"{text!r} in the log",
                        lambda: text in self.admin.log(log_id)["logContent"])


class Dialects:
    """What holds in every dialect."""

    def test_executor_registers_runs_handlers_and_deregisters(self):
        executor = self.start()
        ready = executor.ready()
        self.assertEqual((ready["tracker"], ready["appname"]), ("off", APP))
        self.assertNotIn("group", ready)
        log_id, answer = self.admin.run(handler="echo", param="day=1, 日")
        self.assertEqual((answer["code"], answer["content"], answer["data"]), (200, None, None))
        result = self.ended(log_id)
        self.assertEqual(result["handleCode"], 200)
        self.assertEqual(result["logDateTim"], self.admin.triggered_ms)
        self.assertIn("day=1, 日\n", self.admin.log(log_id)["logContent"])
        day = next((self.one.folder / "data" / "xxl-job" / "log").iterdir())
        self.assertRegex(day.name, r"^\d{4}-\d\d-\d\d$")
        self.assertTrue((day / f"{log_id}.log").exists())
        self.assertEqual(self.admin.run(handler="nosuch")[1]["msg"],
                         "job handler [nosuch] not found.")
        self.assertEqual(executor.stop(), 0)
        self.assertEqual(self.admin.addresses, [])

    def test_executor_answers_beats_and_refuses_unknown_requests(self):
        executor = self.start()
        for body in ("", '""', "{}"):
            self.assertEqual(self.admin.ask("/beat", body)["code"], 200)
        log_id, _ = self.admin.run(job=7, handler="sleep", param="60s")
        self.log_has(log_id, "starts")
        self.assertEqual(self.admin.ask("/idleBeat", {"jobId": 7})["code"], 500)
        self.assertEqual(self.admin.ask("/idleBeat", {"jobId": 8})["code"], 200)
        self.assertEqual(self.admin.ask("/kill", {"jobId": 7})["code"], 200)
        result = self.ended(log_id)
        self.assertEqual((result["handleCode"], result["handleMsg"]),
                         (500, "scheduling center kill job. [job running, killed]"))
        self.assertEqual(self.admin.ask("/kill", {"jobId": 7})["code"], 200)
        for method, path, why in (("GET", "/beat", "HttpMethod not support"),
                                  ("POST", "/nope", "uri-mapping(/nope) not found"),
                                  ("POST", "/run", "request error")):
            answer = self.admin.ask(path, "{", method=method)
            self.assertEqual(answer["code"], 500)
            self.assertIn(why, answer["msg"])
        for headers in ({}, {"XXL-JOB-ACCESS-TOKEN": "wrong"}, {"XXL-JOB-ACCESS-TOKEN": ""}):
            answer = self.admin.ask("/beat", "{}", executor.address, headers)
            self.assertEqual((answer["code"], answer["msg"]), (500, "The access token is wrong."))

    def test_block_strategies_queue_discard_or_cover(self):
        self.start()
        first, _ = self.admin.run(handler="sleep", param="60s")
        self.log_has(first, "starts")
        second, answer = self.admin.run(handler="sleep", param="60s")
        self.assertEqual(answer["code"], 200)
        _, answer = self.admin.run(handler="sleep", executorBlockStrategy="DISCARD_LATER")
        self.assertEqual((answer["code"], answer["msg"]),
                         (500, "block strategy effect：Discard Later"))
        third, answer = self.admin.run(handler="sleep", param="10ms",
                                       executorBlockStrategy="COVER_EARLY")
        self.assertEqual(answer["code"], 200)
        self.assertEqual([self.ended(each)["handleCode"] for each in (first, second, third)],
                         [500, 500, 200])

    def test_timed_out_run_reports_code_502(self):
        self.start()
        result = self.run_job(handler="sleep", param="60s", executorTimeout=1)
        self.assertEqual((result["handleCode"], result["handleMsg"]),
                         (502, "job execute timeout after 1s"))

    def test_results_survive_admin_outages_and_an_executor_kill(self):
        executor = self.start()
        expected = {}  # code and message by log id
        for mode in ("refuses", "breaks", "hangs up", "away"):
            if mode == "away":
                self.admin.stop()
            self.admin.mode = mode
            away = mode == "away"
            for job in range(10):
                first, second = (
                    self.admin.run(job=job, handler="sleep" if away else "fail", param=param,
                                   address=executor.address)[0] for param in ("1ms", "60s"))
                # The second starts when the result of the first is on disk.
                expected[first] = (200, "slept 1ms") if away else (500, "1ms")
                expected[second] = (500, "the executor was killed before this run ended" if away else "60s")
            if mode == "away":
                logs = self.one.folder / "data" / "xxl-job" / "log"
                last = second
                wait_for("the last runs", lambda: all(
                    list(logs.glob(f"*/{each}.log")) for each in range(last - 18, last + 1, 2)))
            else:
                # Another handler would replace what still runs.
                for job in range(10):
                    wait_for("an idle job", lambda job=job: self.admin.ask(
                        "/idleBeat", {"jobId": job}, executor.address)["code"] == 200)
        executor.kill()
        self.assertEqual(self.admin.results, {})
        # One that does not reach the admin either.
        executor = self.start(registered=False)
        executor.kill()
        self.admin.mode = "takes"
        self.admin.start()
        self.start()
        wait_for("all results", lambda: len(self.admin.results) >= len(expected))
        self.assertEqual(sorted(self.admin.results), sorted(expected))
        for log_id, results in self.admin.results.items():
            self.assertTrue(all(each == results[0] for each in results), results)
            result = results[0]
            self.assertEqual((result["handleCode"], result["handleMsg"]), expected[log_id])
            self.assertEqual(tuple(result["executeResult"].values()), expected[log_id])
        self.assertLessEqual(max(self.admin.batches), 50)

    def test_a_hundred_concurrent_runs_report_once_each(self):
        self.start()
        ids = [self.admin.run(job=job, handler="echo", param=str(job))[0] for job in range(100)]
        wait_for("all results", lambda: set(ids) <= set(self.admin.results))
        self.assertTrue(all(len(self.admin.results[each]) == 1 for each in ids))


class B(Dialects, ExecutorTest):
    dialect = "B"


class C(Dialects, ExecutorTest):
    dialect = "C"


class D(Dialects, ExecutorTest):
    dialect = "D"


class Https(ExecutorTest):
    """An admin at an https:// address."""

    def setUp(self):
        super().setUp()
        self.certificate = self.one.folder / "admin.pem"
        make_certificate(self.certificate)
        self.admin = Admin(certificate=self.certificate)
        self.addCleanup(self.admin.stop)

    def test_executor_registers_only_with_a_trusted_admin(self):
        stranger = self.one.folder / "stranger.pem"
        make_certificate(stranger)
        for flags in ((), ("--xxl-ca", stranger)):
            executor = self.start(*flags, registered=False)
            wait_for("its complaint", lambda: "certificate" in executor.log())
            self.assertEqual(self.admin.calls, [])
            executor.kill()
        self.start("--xxl-ca", self.certificate)
        self.assertEqual(self.run_job(handler="echo", param="safe")["handleCode"], 200)

    def test_ca_file_without_certificates_is_refused(self):
        empty = self.one.folder / "empty.pem"
        empty.write_text("")
        done = subprocess.run([BIN / "tasktracker", *map(str, self.flags("--xxl-ca", empty))],
                              capture_output=True, text=True, timeout=60, env=self.one.env)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"--xxl-ca {empty} contains no PEM certificates", done.stderr)


class Scripts(ExecutorTest):
    def script(self, kind, source, **more):
        return {"glueType": f"GLUE_{kind}", "glueSource": source, "broadcastIndex": 2,
                "broadcastTotal": 5, **more}

    def test_scripts_in_each_language_get_parameter_and_shard(self):
        self.start()
        sources = {
            "SHELL": 'echo "got $1 $2 $3"; echo "problem" >&2',
            "PYTHON": "import sys\nprint('got', *sys.argv[1:])\nprint('problem', file=sys.stderr)",
            "NODEJS": "console.log('got', ...process.argv.slice(2)); console.error('problem')",
            "PHP": ("<?php echo 'got ', implode(' ', array_slice($argv, 1)), \"\\n\";"
                    "fwrite(STDERR, \"problem\\n\");"),
        }
        for job, (kind, source) in enumerate(sources.items(), 1):
            with self.subTest(kind):
                program = {"NODEJS": "node", "PHP": "php"}.get(kind)
                if program and not shutil.which(program):
                    skip(f"{program} is not installed (packaging/packages)")
                log_id, answer = self.admin.run(job=job, param="a b", **self.script(kind, source))
                self.assertEqual(answer["code"], 200, answer)
                self.assertEqual(self.ended(log_id)["handleCode"], 200)
                text = self.admin.log(log_id)["logContent"]
                self.assertIn("got a b 2 5\n", text)
                self.assertIn("problem\n", text)

    def test_python2_and_powershell_are_called_like_in_xxl_job(self):
        """Python 2 and PowerShell cannot be installed from Debian 12: stand-ins for them tell what
        they are called with, and what the script is."""
        folder = self.one.folder / "stand-ins"
        folder.mkdir()
        calls = {"PYTHON2": ("python2", [".py"]), "POWERSHELL": ("pwsh", ["-NoProfile", "-File", ".ps1"])}
        for program, options in calls.values():
            path = folder / program
            path.write_text(f"#!/bin/sh\necho stand-in {program}\nfor each; do echo \"<$each>\"; done\n"
                            f"cat \"${len(options)}\"\nexit 7\n")
            path.chmod(0o755)
        self.one.env["PATH"] = f"{folder}:{os.environ['PATH']}"
        self.start()
        for job, (kind, (program, options)) in enumerate(calls.items(), 1):
            with self.subTest(kind):
                source = f"the script in {kind}, whatever 'it' \"says\" 日\n"
                result = self.run_job(job=job, param="a b", **self.script(kind, source))
                self.assertEqual((result["handleCode"], result["handleMsg"]),
                                 (500, "script exit value(7) is failed"))
                text = self.admin.log(result["logId"])["logContent"]
                self.assertIn(f"stand-in {program}\n", text)
                *before, script = options
                self.assertRegex(text, "".join(f"<{each}>\n" for each in before)
                                 + rf"</[^\n]*{re.escape(script)}>\n<a b>\n<2>\n<5>\n")
                self.assertIn(source, text)

    def test_exit_status_and_missing_interpreter_are_reported(self):
        self.start()
        result = self.run_job(**self.script("SHELL", "exit 3"))
        self.assertEqual((result["handleCode"], result["handleMsg"]),
                         (500, "script exit value(3) is failed"))
        for kind, why in (("GROOVY", "glueType[GLUE_GROOVY] is not valid. This executor has no JVM"),
                          ("POWERSHELL", "no interpreter for powershell")):
            if kind == "POWERSHELL" and (shutil.which("pwsh") or shutil.which("powershell")):
                continue
            _, answer = self.admin.run(**self.script(kind, "x"))
            self.assertEqual(answer["code"], 500)
            self.assertIn(why, answer["msg"])

    def test_new_script_version_replaces_a_running_one(self):
        self.start()
        first, _ = self.admin.run(**self.script("SHELL", "echo begun; sleep 60"))
        self.log_has(first, "begun\n")
        second, answer = self.admin.run(
            **self.script("SHELL", "echo new", glueUpdatetime=1710000000001))
        self.assertEqual(answer["code"], 200)
        self.assertIn("change jobhandler or glue type", self.ended(first)["handleMsg"])
        self.assertEqual(self.ended(second)["handleCode"], 200)
        self.assertIn("new\n", self.admin.log(second)["logContent"])

    def test_kill_ends_all_processes_of_a_script(self):
        self.start()
        pids = self.folder / "pids"
        log_id, _ = self.admin.run(**self.script(
            "SHELL", f"sleep 300 & echo $$ $! > {pids}; echo begun; wait"))
        self.log_has(log_id, "begun\n")
        self.assertEqual(self.admin.ask("/kill", {"jobId": 1})["code"], 200)
        self.assertEqual(self.ended(log_id)["handleCode"], 500)
        for pid in pids.read_text().split():
            wait_for(f"the end of {pid}", lambda pid=pid: not pathlib.Path(f"/proc/{pid}").exists())

    def test_background_processes_survive_unless_leftovers_are_killed(self):
        go, lives, pid = (self.folder / name for name in ("go", "lives", "pid"))
        script = self.script("SHELL", f"nohup sh -c 'until [ -e {go} ]; do sleep 0.1; done; touch {lives}' &\n"
                                      f"echo $! > {pid}; exit 3")
        executor = self.start("--kill-leftovers")
        self.assertEqual(self.run_job(**script)["handleMsg"], "script exit value(3) is failed")
        wait_for("the end of what was left", lambda: not os.path.exists(f"/proc/{pid.read_text().strip()}"))
        executor.stop()
        executor = self.start()
        self.assertEqual(self.run_job(**script)["handleMsg"], "script exit value(3) is failed")
        executor.stop()
        go.touch()
        wait_for("what was left", lives.exists)

    def test_log_of_a_running_script_can_be_followed(self):
        self.start()
        gate = self.folder / "gate"
        os.mkfifo(gate)
        log_id, _ = self.admin.run(**self.script(
            "SHELL", f"echo one; printf half; read x < {gate}; echo ' whole'"))
        part = wait_for("the first line", lambda: (lambda p: p if "one\n" in p["logContent"] else None)(
            self.admin.log(log_id)))
        self.assertFalse(part["isEnd"])
        self.assertNotIn("half", part["logContent"])
        gate.write_text("go\n")
        self.ended(log_id)
        rest = self.admin.log(log_id, part["toLineNum"] + 1)
        self.assertTrue(rest["logContent"].startswith("half whole\n"), rest)
        after = self.admin.log(log_id, rest["toLineNum"] + 1)
        self.assertEqual((after["logContent"], after["toLineNum"] < after["fromLineNum"]), ("", True))

    def test_stop_waits_for_runs_but_a_second_stop_does_not(self):
        executor = self.start()
        log_id, _ = self.admin.run(handler="sleep", param="2s")
        self.log_has(log_id, "starts")
        self.assertEqual(executor.stop(), 0)
        self.assertEqual(self.ended(log_id)["handleMsg"], "slept 2s")
        executor = self.start()
        log_id, _ = self.admin.run(**self.script("SHELL", "echo begun; sleep 300"))
        self.log_has(log_id, "begun\n")
        executor.send(15)
        wait_for("it to leave", lambda: executor.address not in self.admin.addresses)
        self.assertEqual(executor.stop(), 0)
        self.assertEqual(self.ended(log_id)["handleMsg"], "the executor stops [job running, killed]")


class Access(ExecutorTest):
    def refused(self, *flags):
        done = subprocess.run([str(each) for each in (BIN / "tasktracker", *flags)],
                              capture_output=True, text=True, env=self.one.env, timeout=60)
        self.assertEqual(done.returncode, 2, done)
        return done.stderr

    def test_executor_without_a_token_runs_local_handlers_only(self):
        self.admin.token = ""
        executor = self.start(token="")
        self.assertTrue(executor.address.startswith("http://127.0.0.1:"), executor.address)
        self.assertEqual(self.run_job(handler="echo")["handleCode"], 200)
        _, answer = self.admin.run(glueType="GLUE_SHELL", glueSource="true")
        self.assertEqual(answer["code"], 500)
        self.assertIn("this executor has no token (give --xxl-token or --insecure)", answer["msg"])
        self.assertEqual(executor.stop(), 0)
        self.start("--insecure", token="")
        self.assertEqual(self.run_job(glueType="GLUE_SHELL", glueSource="true")["handleCode"], 200)

    def test_run_kinds_can_be_forbidden(self):
        executor = self.start("--allow", "script")
        _, answer = self.admin.run(handler="noop")
        self.assertIn("this worker does not accept handlers (see its --allow)", answer["msg"])
        executor.stop()
        self.start("--allow", "handler")
        _, answer = self.admin.run(glueType="GLUE_SHELL", glueSource="true")
        self.assertIn("this worker does not accept scripts (see its --allow)", answer["msg"])

    def test_wrong_flags_are_named(self):
        at_work = self.start()
        port = at_work.address.rstrip("/").rsplit(":", 1)[1]
        for flags, why in (
                (["--tracker", "off"], "--xxl-admin is missing, so there is nothing to do"),
                (["--xxl-appname", "x"], "--xxl-appname requires an xxl-job admin"),
                (["--xxl-admin", self.admin.url], "without an app name (give --xxl-appname NAME"),
                (["--xxl-admin", "h:8080", "--xxl-appname", "x"],
                 "xxl-job admin: 'h:8080' is not an address like http://HOST:PORT/"),
                (self.flags("--xxl-address", "me:1"),
                 "address for xxl-job: 'me:1' is not an address like http://HOST:PORT/"),
                (self.flags("--xxl-address", "http://worker.example:1/", token=""),
                 "an executor at worker.example would accept calls from every machine that reaches it"),
                (self.flags(port=port), "address in use (is another server running? choose "
                                                 "another with --xxl-port)"),
                (["--tracker", "off,tcp://127.0.0.1:1", "--xxl-admin", self.admin.url],
                 "off cannot be combined with an address")):
            with self.subTest(why):
                self.assertIn(why, self.refused(*flags))

    def test_executor_retries_after_a_refusal_or_admin_outage(self):
        self.admin.stop()
        executor = self.start(registered=False)
        wait_for("the warning", lambda: "does not register this executor" in executor.log())
        self.admin.token = "another"
        self.admin.start()
        wait_for("a refusal", lambda: self.admin.refusals)
        self.admin.token = TOKEN
        wait_for("the registration", lambda: executor.address in self.admin.addresses)

    def test_second_admin_is_used_when_the_first_is_down(self):
        other = Admin(self.dialect)
        self.addCleanup(other.stop)
        other.stop()
        self.start(admins=f"{other.url},{self.admin.url}", registered=False)
        wait_for("the registration", lambda: self.admin.addresses)
        self.assertEqual(self.run_job(handler="echo")["handleCode"], 200)

    def test_worker_serves_admin_and_job_tracker_at_once(self):
        both = self.cluster()
        worker = both.start_worker("--xxl-admin", self.admin.url, "--xxl-appname", APP,
                                   "--xxl-token", TOKEN, "--xxl-port", 0,
                                   "--xxl-address", "http://127.0.0.1:1/ignored")
        ready = worker.ready()
        self.assertEqual((ready["group"], ready["appname"], ready["xxl"]),
                         ("default", APP, "http://127.0.0.1:1/ignored"))
        wait_for("the registration", lambda: self.admin.addresses == ["http://127.0.0.1:1/ignored"])
        both.submit("--task-id", "mine", "--", "true")
        self.assertEqual(both.wait_ended("mine")["state"], "succeeded")
        self.assertEqual(worker.stop(), 0)
        self.assertEqual(self.admin.addresses, [])


if __name__ == "__main__":
    harness.main()
