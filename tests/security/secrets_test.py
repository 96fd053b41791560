"""What the programs keep from other users of the machine, and from the jobs that they run."""

import os
import pathlib
import pwd
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import BIN, E2eTest  # noqa: E402

OTHER = "nobody"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def mode_of(path):
    return stat.S_IMODE(pathlib.Path(path).stat().st_mode)


def arguments_of(pid):
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode()


class Files(E2eTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.umask, os.umask(0o022))
        self.one = self.cluster()

    def test_folders_are_private_and_files_of_jobs_are_not(self):
        data = self.folder / "worker"
        (data / "outbox").mkdir(parents=True)
        (data / "outbox").chmod(0o755)  # as of an earlier version
        self.one.start_worker(data=data)
        note = self.folder / "note"
        self.one.submit("--wait", "--shell", f"touch {note}")
        self.assertEqual(mode_of(note), 0o644)
        self.assertEqual(mode_of(data / "outbox"), 0o700)
        other = self.folder / "new"
        self.one.start_worker(data=other)
        self.assertEqual(mode_of(other), 0o700)

    def test_servers_leave_no_core_files(self):
        worker = self.one.start_worker()
        for program in (self.one.tracker, worker):
            limits = pathlib.Path(f"/proc/{program.pid}/limits").read_text(encoding="ascii")
            self.assertRegex(limits, r"(?m)^Max core file size +0 ")

    def test_a_key_folder_that_others_may_change_is_refused(self):
        keys = self.folder / "keys"
        self.one.client("keys", "new", keys)
        for folder in (keys, keys / "clients"):
            folder.chmod(0o777)
            done = subprocess.run([BIN / "jobtracker", "--listen", "tcp://127.0.0.1:0", "--http", "off",
                                   "--data", self.folder / "other", "--keys", keys],
                                  capture_output=True, text=True, env=self.one.env, timeout=harness.PATIENCE)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{folder} is writable by other users (run chmod go-w '{folder}')", done.stderr)
            folder.chmod(0o700)


class Secrets(E2eTest):
    def secret_file(self, name, text, mode=0o600):
        path = self.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def test_secrets_in_arguments_are_hidden(self):
        one = self.cluster(flags=["--xxl-token", "first-secret", "--xxl-token=second-secret",
                                  "--smtp", "smtp://ann:third-secret@127.0.0.1"])
        self.assertNotIn("secret", arguments_of(one.tracker.pid))
        self.assertIn("--xxl-token", arguments_of(one.tracker.pid))

    def test_secrets_are_read_from_files(self):
        store = self.secret_file("store", f"sqlite:{self.folder}/by-file.db\n")
        token = self.secret_file("token", "one\ntwo\n")
        one = self.cluster(flags=["--store-file", store, "--xxl-token-file", token])
        self.assertTrue((self.folder / "by-file.db").exists())
        self.assertNotIn("by-file", arguments_of(one.tracker.pid))

    def test_a_secret_file_that_every_user_can_read_is_refused(self):
        store = self.secret_file("store", "sqlite:/nowhere/x.db\n", mode=0o644)
        for flags, error in (([f"--store-file={store}"], f"run chmod o= '{store}'"),
                             ([f"--store-file={store}", "--store=sqlite:/x.db"], "contradict each other")):
            done = subprocess.run([BIN / "jobtracker", *flags], capture_output=True, text=True,
                                  env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
                                  timeout=harness.PATIENCE)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"^jobtracker: --store-file")
            self.assertIn(error, done.stderr)


class DatabaseConnection(E2eTest):
    def setUp(self):
        super().setUp()
        if not harness.Mariadb.is_installed():
            harness.skip("mariadbd is not installed (apt-get install mariadb-server-core)")
        for name in ("ours", "theirs"):
            self.openssl("req", "-x509", *KEY, "-days", "2", "-subj", f"/CN={name}",
                         "-keyout", f"{name}.key", "-out", f"{name}.pem")
        self.openssl("req", *KEY, "-subj", "/CN=db", "-addext", "subjectAltName=DNS:localhost",
                     "-keyout", "db.key", "-out", "db.csr")
        self.openssl("x509", "-req", "-in", "db.csr", "-CA", "ours.pem", "-CAkey", "ours.key",
                     "-CAcreateserial", "-days", "2", "-copy_extensions", "copy", "-out", "db.pem")
        self.server = harness.Mariadb(self.folder / "mariadb", [f"--ssl-cert={self.folder}/db.pem",
                                                                f"--ssl-key={self.folder}/db.key"])
        self.addCleanup(self.server.close)
        self.url = self.server.url(self.server.new_database())
        # The server refuses this user without TLS.
        self.server.run(f"ALTER USER '{self.server.USER}'@'%' REQUIRE SSL", "mysql")

    def openssl(self, *args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=self.folder)

    def store(self, host, authority):
        return f"{self.url.replace('127.0.0.1', host)}?ssl-ca={self.folder}/{authority}.pem&ssl-mode=verify_identity"

    def test_only_the_named_server_of_the_authority_is_trusted(self):
        one = self.cluster(tracker=False)
        one.start_tracker("--store", self.store("localhost", "ours"))
        one.start_worker()
        one.submit("--wait", "--", "true")
        one.tracker.stop()
        for store, error in ((self.store("localhost", "theirs"), "unable to get local issuer certificate"),
                             (self.store("127.0.0.1", "ours"), "Validation of SSL server certificate failed"),
                             (self.store("localhost", "none"), "No such file")):
            tracker = one.start_tracker("--store", store, "--store-wait", "1s", wait=False)
            self.assertEqual(tracker.wait(), 3)
            self.assertIn(error, tracker.own_log())
            self.assertIn("check ssl-ca", tracker.own_log())


class RunAs(E2eTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            harness.skip("only root can run jobs as another user")
        self.user = pwd.getpwnam(OTHER)
        self.one = self.cluster()

    def output(self, *args):
        return self.one.client("submit", "--wait", *args).out

    def test_jobs_run_as_the_user_without_access_to_the_programs(self):
        keys = self.folder / "keys"
        self.one.client("keys", "new", keys)
        worker = self.one.start_worker("--run-as", OTHER)
        out = self.output("--shell", "id -u; id -G; echo $HOME $USER $LOGNAME; umask; grep CapEff /proc/self/status")
        groups = os.getgrouplist(OTHER, self.user.pw_gid)
        self.assertEqual(out.splitlines(),
                         [str(self.user.pw_uid), " ".join(map(str, groups)),
                          f"{self.user.pw_dir} {OTHER} {OTHER}", "0022", "CapEff:\t0000000000000000"])
        script = self.folder / "script.sh"
        script.write_text("id -u\n")
        self.assertEqual(self.output("--script", script).strip(), str(self.user.pw_uid))
        for path in (self.one.data / "carillon.db", keys / "server.key",
                     self.one.folder / "run" / "carillon" / f"{self.one.port}.token",
                     f"/proc/{worker.pid}/environ", f"/proc/{self.one.tracker.pid}/environ"):
            denied = self.one.client("submit", "--wait", "--", "cat", path, status=1)
            self.assertIn("Permission denied", denied.err)

    def test_a_run_of_another_user_is_stopped(self):
        self.one.start_worker("--run-as", OTHER)
        self.one.submit("--task-id", "long", "--timeout", "1s", "--", "sleep", "1000")
        self.assertEqual(self.one.wait_ended("long")["state"], "timed_out")

    def test_an_unknown_user_is_refused(self):
        for user, error in (("no-such-user", "there is no user 'no-such-user'"),
                            ("root", "is root and would keep all rights")):
            worker = self.one.start_worker("--run-as", user, wait=False)
            self.assertEqual(worker.wait(), 2)
            self.assertIn(error, worker.log())

    def test_missing_rights_are_named(self):
        worker = subprocess.run(
            ["setpriv", "--bounding-set=-setuid", "--inh-caps=-setuid", BIN / "tasktracker",
             "--run-as", OTHER, "--data", self.folder / "w"],
            capture_output=True, text=True, env=self.one.env, timeout=harness.PATIENCE)
        self.assertEqual(worker.returncode, 2)
        self.assertIn("CAP_SETUID", worker.stderr)


if __name__ == "__main__":
    harness.main()
