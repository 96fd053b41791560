"""Who may submit, and who may hand out jobs: the user of the tracker, by a token that only that user
can read."""

import os
import pathlib
import pwd
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import BIN, E2eTest, wait_for  # noqa: E402
from hostile import HostileTest  # noqa: E402

OTHER = "nobody"
WRONG_TOKEN = "0123456789" * 8


class Token(E2eTest):
    def setUp(self):
        super().setUp()
        self.one = self.cluster(workers=1)
        self.token = self.one.folder / "run" / "carillon" / f"{self.one.port}.token"

    def test_the_token_is_readable_by_its_user_only(self):
        self.assertEqual(stat.S_IMODE(self.token.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.token.parent.stat().st_mode), 0o700)
        self.assertEqual(self.token.stat().st_uid, os.getuid())
        self.assertEqual(len(self.token.read_bytes().strip()), 80)

    def test_programs_of_the_same_user_use_the_token_silently(self):
        answer = self.one.submit("--task-id", "mine", "--", "true")
        self.assertEqual(answer.err, "")
        self.one.wait_ended("mine")

    def denied(self, *flags, env=None):
        answer = self.one.client(*flags, "submit", "--task-id", "intruder", "--", "true",
                                 env=env, status=None)
        self.assertNotIn(answer.status, (0, None), answer)
        self.assertEqual(answer.out, "")
        self.assertNotIn("intruder", {row["task_id"] for row in self.one.history()})
        self.assertNotIn("intruder", {row["task_id"] for row in self.one.rows("waiting")})
        return answer

    def test_a_stalled_job_tracker_is_not_reported_as_denying_access(self):
        self.one.tracker.send(signal.SIGSTOP)
        self.addCleanup(self.one.tracker.send, signal.SIGCONT)
        worker = self.one.start_worker(wait=False)
        answer = self.one.client("--connect-timeout", "8s", "list", status=3)
        self.assertNotIn("denied", answer.err)
        self.assertRegex(answer.err, r"no (answer|connection)")
        wait_for("the task tracker to say so", lambda: "no answer from" in worker.log())
        self.assertNotIn("denied", worker.log())
        self.one.tracker.send(signal.SIGCONT)
        worker.ready()

    def test_a_foreign_port_is_distinguished_from_denied_access(self):
        other = self.cluster(flags=["--http", "127.0.0.1:0"])
        http = other.tracker.ready()["http"].replace("http:", "tcp:")
        said = f"the program that listens at {http} does not speak Carillon's protocol (is it the --http port"
        answer = other.client("--tracker", http, "list", status=3)
        self.assertIn(f"no job tracker reachable at {http} within 5s: {said}", answer.err)
        worker = other.start_worker("--tracker", http)
        wait_for("the task tracker to say so", lambda: said in worker.log())
        self.assertNotIn("denied", worker.log())

    def test_a_wrong_token_is_refused_with_a_clear_message(self):
        wrong = self.folder / "wrong.token"
        wrong.write_text(WRONG_TOKEN)
        wrong.chmod(0o600)
        self.assertRegex(self.denied("--token-file", wrong).err, r"^jobclient: submit: .*(?i:access denied)")

    def test_an_invalid_token_file_is_named_with_safe_advice(self):
        other = self.folder / "notes"
        other.write_text("mine")
        other.chmod(0o600)
        for path, why in ((self.folder, "is a folder"), (other, "contains no token")):
            with self.subTest(why):
                answer = self.one.client("--token-file", path, "list", status=2)
                self.assertIn(f"{path} {why} (give the file that the job tracker wrote", answer.err)

    def test_access_without_a_token_is_denied(self):
        empty = self.folder / "empty"
        empty.mkdir(mode=0o700)
        self.assertRegex(self.denied(env={"XDG_RUNTIME_DIR": str(empty)}).err, r"^jobclient: submit: .*token")

    def test_a_worker_with_a_wrong_token_gets_no_job(self):
        wrong = self.folder / "wrong.token"
        wrong.write_text(WRONG_TOKEN)
        wrong.chmod(0o600)
        worker = self.one.start_worker("--token-file", wrong, "--group", "theirs", wait=False)
        wait_for("its words", lambda: "denied" in worker.log())
        self.one.submit("--task-id", "theirs", "--group", "theirs", "--", "true")
        self.assertEqual([row["state"] for row in self.one.history("theirs")], [])
        self.assertNotIn("theirs", {row["group"] for row in self.one.rows("nodes")})

    def test_a_token_folder_open_to_other_users_is_refused(self):
        other = self.cluster(tracker=False)
        folder = other.folder / "run" / "carillon"
        folder.mkdir(mode=0o700)
        folder.chmod(0o755)
        tracker = other.start_tracker(wait=False)
        self.assertEqual(tracker.wait(), 2)
        self.assertRegex(tracker.log(), rf"jobtracker: .*{folder}.*")

    def test_a_token_readable_by_other_users_is_not_used(self):
        self.token.chmod(0o644)
        answer = self.one.client("list", status=None)
        self.assertNotEqual(answer.status, 0)
        self.assertIn(str(self.token), answer.err)

    def test_programs_reconnect_after_a_restart_even_with_a_new_token(self):
        for removed in (False, True):
            with self.subTest(removed=removed):
                self.one.tracker.kill()
                if removed:
                    self.token.unlink()
                self.one.start_tracker()
                self.one.submit("--task-id", f"after-{removed}", "--", "true")
                self.one.wait_ended(f"after-{removed}")

    def test_an_insecure_job_tracker_accepts_every_insecure_client(self):
        other = self.cluster(flags=["--insecure"])
        empty = self.folder / "empty"
        empty.mkdir(mode=0o700)
        other.client("--insecure", "list", env={"XDG_RUNTIME_DIR": str(empty)})


class Squatter:
    """A program at the port of a job tracker that has died. It offers one access mechanism after the
    other, says whatever completes a handshake without a secret, and notes what it is told."""

    MECHANISMS = (b"NULL", b"PLAIN", b"CURVE")
    READY = b"\x04\x29\x05READY\x0bSocket-Type\0\0\0\x06ROUTER\x08Identity\0\0\0\0"
    SAYS = {b"NULL": READY, b"PLAIN": b"\x04\x08\x07WELCOME" + READY,
            b"CURVE": b"\x04\xa8\x07WELCOME" + b"w" * 160}

    def __init__(self, port):
        self.heard = {one: [] for one in self.MECHANISMS}
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen(64)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            for mechanism in self.MECHANISMS:
                try:
                    connection, _ = self.listener.accept()
                except OSError:
                    return
                with connection:
                    self.heard[mechanism].append(self.greet(connection, mechanism))

    def greet(self, connection, mechanism):
        heard = b""
        connection.settimeout(0.5)
        try:
            connection.sendall(b"\xff" + b"\0" * 8 + b"\x7f\x03\x01" + mechanism.ljust(20, b"\0") +
                               bytes([mechanism != b"NULL"]) + b"\0" * 31)
            connection.sendall(self.SAYS[mechanism])
            while part := connection.recv(65536):
                heard += part
        except OSError:
            pass
        return heard

    def has_met_all(self):
        # A probe of the client greets, but says nothing else.
        return all(len(heard) >= 3 for heard in self.heard.values())

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(harness.PATIENCE)


class TakenPort(E2eTest):
    def test_a_program_at_the_port_of_a_dead_tracker_gets_no_secret_and_no_worker(self):
        one = self.cluster()
        worker = one.start_worker(name="trusting")
        token = one.folder / "run" / "carillon" / f"{one.port}.token"
        first = token.read_text().strip()
        one.tracker.kill()
        for left in ("as the kill left it", "as a clean stop leaves it"):
            with self.subTest(token=left):
                squatter = Squatter(one.port)
                wait_for("the task tracker to try all", squatter.has_met_all)
                squatter.close()
                heard = b"".join(b"".join(all_of) for all_of in squatter.heard.values())
                for secret in (first, first[:40], first[40:], "trusting"):
                    self.assertNotIn(secret.encode(), heard)
                token.unlink(missing_ok=True)
        self.assertTrue(worker.is_running())
        one.start_tracker()
        second = token.read_text().strip()
        self.assertNotEqual(first[:40], second[:40])
        self.assertNotEqual(first[40:], second[40:])
        one.submit("--task-id", "after", "--", "true")
        one.wait_ended("after")


class Unproven(HostileTest):
    """Who connects without proving who they are."""

    GREETINGS = [b"\xff" + b"\0" * 8 + b"\x7f\x03\x01" + mechanism.ljust(20, b"\0") + b"\0" * 32
                 for mechanism in (b"CURVE", b"PLAIN")]

    def setUp(self):
        super().setUp()
        self.one = self.cluster()

    def wanted_seconds(self):
        """For which ZeroMQ's thread has had a core, or waited for one."""
        for task in pathlib.Path(f"/proc/{self.one.tracker.pid}/task").iterdir():
            if (task / "comm").read_text().startswith("ZMQbg/IO"):
                return sum(map(int, (task / "schedstat").read_text().split()[:2])) / 1e9

    def test_large_commands_before_the_proof_cost_little_memory(self):
        command = b"\x06" + (4 * 1024 * 1024 - 1).to_bytes(8, "big") + b"x" * (4 * 1024 * 1024 - 2)

        def flood(greeting):
            try:
                self.connect(self.one.port).sendall(greeting + command)
            except OSError:
                pass
        with self.bounded_memory(self.one.tracker.pid):
            self.in_parallel(150, lambda number: flood(self.GREETINGS[number % 2]))
        self.one.rows("list")

    def test_no_core_is_busy_when_no_file_descriptor_is_left(self):
        limit = len(os.listdir(f"/proc/{self.one.tracker.pid}/fd")) + 40
        resource.prlimit(self.one.tracker.pid, resource.RLIMIT_NOFILE, (limit, limit))
        connections = [self.connect(self.one.port) for _ in range(80)]
        time.sleep(0.5)
        before = self.wanted_seconds()
        time.sleep(2)
        self.assertLess(self.wanted_seconds() - before, 1)
        for connection in connections:
            connection.close()
        wait_for("it to accept again", lambda: self.one.client("list", status=None).status == 0)


class AnotherUser(E2eTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            harness.skip("only root can be somebody else here")
        self.one = self.cluster(workers=1)
        self.user = pwd.getpwnam(OTHER)
        # A program that the other user can reach; its own folders may be closed to them.
        self.open_folder = self.folder.parent / f"{self.folder.name}-open"
        self.open_folder.mkdir(mode=0o755)
        self.addCleanup(shutil.rmtree, self.open_folder, ignore_errors=True)
        for path in (self.open_folder, self.open_folder / "run"):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
        self.program = self.open_folder / "jobclient"
        shutil.copy(BIN / "jobclient", self.program)
        self.program.chmod(0o755)
        os.chown(self.open_folder / "run", self.user.pw_uid, self.user.pw_gid)
        (self.open_folder / "run").chmod(0o700)

    def as_other(self, *args, env=None):
        return subprocess.run(
            ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups",
             self.program, "--tracker", f"tcp://127.0.0.1:{self.one.port}", *args],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=harness.PATIENCE,
            cwd="/", env={"PATH": os.environ["PATH"], "HOME": "/nonexistent",
                          "XDG_RUNTIME_DIR": str(self.open_folder / "run"), **(env or {})})

    def test_another_user_cannot_submit_a_command(self):
        note = self.folder / "note"
        done = self.as_other("submit", "--task-id", "intruder", "--", "touch", str(note))
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^jobclient: submit: .*token")
        self.assertEqual(self.one.rows("waiting"), [])
        self.assertEqual(self.one.history(), [])
        self.assertFalse(note.exists())

    def test_another_user_cannot_use_the_users_token_folder(self):
        done = self.as_other("list", env={"XDG_RUNTIME_DIR": str(self.one.folder / "run")})
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")

    def test_another_user_cannot_plant_a_token_folder(self):
        # What another user has made under the name that the tracker would take is not trusted.
        other = self.cluster(tracker=False)
        planted = other.folder / "run" / "carillon"
        planted.mkdir(mode=0o700)
        os.chown(planted, self.user.pw_uid, self.user.pw_gid)
        tracker = other.start_tracker(wait=False)
        self.assertEqual(tracker.wait(), 2)
        self.assertIn(str(planted), tracker.log())


if __name__ == "__main__":
    harness.main()
