"""HTTP ports with TLS, and behind a proxy: who may connect, what is encrypted, and how a certificate is
renewed."""

import contextlib
import http.client
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import BIN, E2eTest, Program, free_port, wait_for  # noqa: E402

APP = "billing"
TOKEN = "tok-1"
MIB = 1024 * 1024


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Authority:
    """A certificate authority. `signer`: the one that signed its certificate, or itself."""

    def __init__(self, folder, name, signer=None):
        self.folder, self.name = pathlib.Path(folder), name
        self.cert, self.key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        self.chain = [self.cert, *signer.chain] if signer else []
        if signer:
            signer.sign(name, "basicConstraints=critical,CA:TRUE", self.cert, self.key)
        else:
            openssl(*self.request(name, self.key), "-x509", "-days", 2, "-out", self.cert)

    @staticmethod
    def request(name, key):
        return ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", key]

    def sign(self, name, extension, cert, key):
        openssl(*self.request(name, key), "-addext", extension, "-out", f"{cert}.csr")
        openssl("x509", "-req", "-in", f"{cert}.csr", "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial",
                "-days", 2, "-copy_extensions", "copy", "-out", cert)
        key.chmod(0o600)

    def issue(self, name, who="IP:127.0.0.1"):
        """Paths of a certificate, with its chain, and its key."""
        cert, key = self.folder / f"{self.name}-{name}.pem", self.folder / f"{self.name}-{name}.key"
        self.sign(name, f"subjectAltName={who}", cert, key)
        cert.write_text("".join(path.read_text() for path in [cert, *self.chain]))
        return cert, key

    def context(self):
        return ssl.create_default_context(cafile=self.cert)


class HttpsTest(E2eTest):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder, "authority")
        self.cert, self.key = self.folder / "cert.pem", self.folder / "key.pem"
        self.install(self.authority)

    def install(self, authority):
        cert, key = authority.issue("server")
        shutil.copy(cert, self.cert)
        shutil.copy(key, self.key)

    def tls_flags(self):
        return ["--http-cert", self.cert, "--http-key", self.key]

    def connect(self, port, authority=None):
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=harness.PATIENCE,
                                                 context=(authority or self.authority).context())
        self.addCleanup(connection.close)
        connection.connect()
        return connection

    def ask(self, connection, path="/healthz", headers=None):
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def refused(self, *flags, status=2):
        """What a job tracker says that does not start."""
        done = subprocess.run([BIN / "jobtracker", "--listen", "tcp://127.0.0.1:0", "--data", self.folder / "d",
                               *map(str, flags)], capture_output=True, text=True, timeout=harness.PATIENCE,
                              env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(self.folder)})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.splitlines()[-1]


class Pages(HttpsTest):
    def start(self, *flags):
        self.port = free_port()
        self.one = self.cluster(flags=["--http", f"127.0.0.1:{self.port}", *self.tls_flags(), *flags])
        return self.one.tracker

    def hang_up(self, said):
        """SIGHUP, and what the log then says."""
        before = self.one.tracker.log().count(said)
        self.one.tracker.send(signal.SIGHUP)
        wait_for(said, lambda: self.one.tracker.log().count(said) > before)

    def test_pages_are_served_over_https(self):
        ready = self.start().ready()
        self.assertEqual(ready["http"], f"https://127.0.0.1:{self.port}")
        connection = self.connect(self.port)
        self.assertEqual(self.ask(connection), (200, "ok\n"))
        status, metrics = self.ask(connection, "/metrics")
        self.assertEqual(status, 200)
        self.assertIn("carillon_", metrics)
        self.assertIn(connection.sock.version(), ("TLSv1.2", "TLSv1.3"))
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.connect(self.port, Authority(self.folder, "other"))

    def test_chain_is_sent_with_the_certificate(self):
        self.install(Authority(self.folder, "between", signer=self.authority))
        self.start()
        self.assertEqual(self.ask(self.connect(self.port)), (200, "ok\n"))

    def test_plain_http_is_refused(self):
        tracker = self.start()
        with socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            heard = b""
            with contextlib.suppress(ConnectionResetError):
                while part := plain.recv(4096):
                    heard += part
        self.assertNotIn(b"HTTP/1.1", heard)
        wait_for("the reason in the log", lambda: "TLS handshake failed: http request" in tracker.log())
        self.assertEqual(self.ask(self.connect(self.port)), (200, "ok\n"))

    def test_old_protocols_are_refused(self):
        self.start()
        context = self.authority.context()
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises(OSError), socket.create_connection(("127.0.0.1", self.port)) as plain:
            context.wrap_socket(plain, server_hostname="127.0.0.1")

    def test_sighup_renews_the_certificate_and_keeps_connections(self):
        self.start()
        kept = self.connect(self.port)
        self.assertEqual(self.ask(kept), (200, "ok\n"))
        own_socket = kept.sock
        other = Authority(self.folder, "other")
        self.install(other)
        self.hang_up("read the certificate again")
        self.assertEqual(self.ask(kept), (200, "ok\n"))
        self.assertIs(kept.sock, own_socket)
        self.assertEqual(self.ask(self.connect(self.port, other)), (200, "ok\n"))
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.connect(self.port)

    def test_wrong_new_certificate_is_not_used(self):
        tracker = self.start()
        self.cert.write_text("no certificate\n")
        self.hang_up("cannot use the new certificate; keeping the old one")
        self.assertIn(f"--http-cert {self.cert} is not a usable certificate", tracker.log())
        self.assertEqual(self.ask(self.connect(self.port)), (200, "ok\n"))
        self.assertTrue(tracker.is_running())

    def test_idle_tls_connections_cost_little_memory(self):
        tracker = self.start()

        def memory():
            status = pathlib.Path(f"/proc/{tracker.pid}/status").read_text(encoding="ascii")
            return int(re.search(r"^VmRSS:\s*(\d+) kB", status, re.MULTILINE).group(1)) * 1024
        self.ask(self.connect(self.port))
        before = memory()
        for _ in range(400):
            self.ask(self.connect(self.port))
        self.assertLess(memory() - before, 20 * MIB)


class WorkerPages(HttpsTest):
    def test_metrics_of_a_task_tracker_are_encrypted_for_other_machines(self):
        cluster = self.cluster()
        refused = subprocess.run([BIN / "tasktracker", "--metrics", "0.0.0.0:0"], capture_output=True, text=True,
                                 env=cluster.env, timeout=60)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("--metrics 0.0.0.0:0 would exchange everything with other machines without encryption",
                      refused.stderr)
        worker = cluster.start_worker("--metrics", "127.0.0.1:0", *self.tls_flags())
        url = urllib.parse.urlsplit(worker.ready()["http"])
        self.assertEqual(url.scheme, "https")
        self.assertEqual(self.ask(self.connect(url.port), "/metrics")[0], 200)


class Hangup(HttpsTest):
    def test_sighup_without_a_certificate_stops_a_server_unless_it_is_a_service(self):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, which programs inherit
        one = self.cluster(workers=1)
        for program in (one.workers[0], one.tracker):
            self.assertEqual(program.stop(signal.SIGHUP), 0)
        one.env["NOTIFY_SOCKET"] = str(self.folder / "notify")
        one.start_tracker()
        one.start_worker()
        for program in (one.workers[-1], one.tracker):
            program.send(signal.SIGHUP)
            wait_for("the log", lambda: "there is no certificate to read again" in program.log())
            self.assertTrue(program.is_running())


class Executors(HttpsTest):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.one = self.cluster(flags=["--xxl-listen", f"127.0.0.1:{self.port}", "--xxl-token", TOKEN,
                                       "--xxl-ca", self.authority.cert, *self.tls_flags()])

    def start_executor(self, *flags):
        executor = Program(
            [BIN / "tasktracker", "--tracker", "off", "--xxl-admin", f"https://127.0.0.1:{self.port}/xxl-job-admin",
             "--xxl-appname", APP, "--xxl-token", TOKEN, "--xxl-ca", self.authority.cert, "--xxl-port", 0,
             "--data", self.one.folder / "executor", *flags],
            self.one.folder / "logs" / "executor.log", self.one.env, "tasktracker")
        self.one.workers.append(executor)
        executor.address = executor.ready()["xxl"]
        return executor

    def push(self, task_id):
        self.one.submit("--task-id", task_id, "--group", APP, "--dispatch", "push", "--handler", "echo",
                        "--payload", task_id)
        ended = self.one.wait_ended(task_id)
        self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1), ended)
        return ended

    def test_job_is_pushed_to_an_executor_over_https(self):
        self.assertEqual(self.one.tracker.ready()["xxl"], f"https://127.0.0.1:{self.port}")
        executor = self.start_executor(*self.tls_flags())
        self.assertRegex(executor.address, r"^https://127\.0\.0\.1:\d+/$")
        wait_for("the registration", lambda: executor.address in [
            row["address"] for row in self.one.rows("nodes") if row["kind"] == "executor"])
        self.assertEqual(self.push("one")["node"], executor.address)
        self.assertIn("one", self.one.client("logs", "one", "--group", APP).out)
        # A renewed certificate.
        self.install(self.authority)
        executor.send(signal.SIGHUP)
        wait_for("the log", lambda: "read the certificate again" in executor.log())
        with contextlib.closing(self.connect(int(executor.address.rstrip("/").rpartition(":")[2]))) as new:
            shown = ssl.DER_cert_to_PEM_cert(new.sock.getpeercert(binary_form=True))
            self.assertIn("".join(shown.split()), "".join(self.cert.read_text().split()))
        self.push("two")
        self.assertNotIn("not encrypted", executor.log())
        self.assertEqual(executor.stop(), 0)

    def test_wrong_certificate_for_the_executors_address_is_logged(self):
        cert, key = self.authority.issue("elsewhere", "DNS:elsewhere.example")
        executor = self.start_executor("--http-cert", cert, "--http-key", key)
        self.assertIn("the certificate does not name the host of this executor's address", executor.log())

    def test_executor_without_tls_off_loopback_only_warns(self):
        executor = self.start_executor("--xxl-address", "http://worker.example:9999/")
        self.assertEqual(executor.log().count("the admin's calls are not encrypted"), 1)
        local = self.start_executor()
        self.assertNotIn("not encrypted", local.own_log())


class Start(HttpsTest):
    def test_plain_http_off_loopback_is_refused_with_the_remedies(self):
        for option, address, *more in (("--http", "0.0.0.0:0"), ("--http", "*:0"),
                                       ("--xxl-listen", "0.0.0.0:0", "--xxl-token", TOKEN, "--http", "off")):
            with self.subTest(option, address=address):
                said = self.refused(option, address, *more)
                self.assertIn(f"{option} {address} would exchange everything", said)
                for remedy in ("--http-cert and --http-key", "--behind-proxy", "--insecure"):
                    self.assertIn(remedy, said)

    def test_each_remedy_lets_it_start(self):
        keys = self.folder / "keys"
        subprocess.run([BIN / "jobclient", "keys", "new", keys], check=True, capture_output=True)
        for flags in (self.tls_flags(), ["--behind-proxy", "10.0.0.0/8,10.1.2.3"], ["--insecure"],
                      ["--insecure", "--keys", keys]):
            with self.subTest(flags):
                one = self.cluster(flags=["--http", "0.0.0.0:0", *flags])
                self.assertRegex(one.tracker.ready()["http"],
                                 r"^https?://0\.0\.0\.0:\d+$")
        # With keys, --insecure is about encryption of HTTP only.
        said = self.refused("--http", "off", "--xxl-listen", "0.0.0.0:0", "--insecure", "--keys", keys)
        self.assertIn("would accept calls from every machine that reaches it (give the executors' token with "
                      "--xxl-token)", said)
        self.assertNotEqual(one.client("--insecure", "list", status=None).status, 0)
        one.client("--keys", keys, "list")

    def test_keys_and_insecure_still_contradict_each_other_on_loopback(self):
        keys = self.folder / "keys"
        subprocess.run([BIN / "jobclient", "keys", "new", keys], check=True, capture_output=True)
        self.assertIn("contradict each other", self.refused("--http", "127.0.0.1:0", "--keys", keys, "--insecure"))

    def test_unusable_files_are_named_with_the_remedy(self):
        _, other_key = self.authority.issue("other")
        open_key = self.folder / "open.key"
        shutil.copy(self.key, open_key)
        open_key.chmod(0o644)
        locked_key = self.folder / "locked.key"
        openssl("pkey", "-in", self.key, "-aes256", "-passout", "pass:x", "-out", locked_key)
        locked_key.chmod(0o600)
        for cert, key, said in (
                (self.folder / "none.pem", self.key, f"--http-cert {self.folder}/none.pem cannot be read: No such file"),
                (self.folder, self.key, f"--http-cert {self.folder} "),
                (self.cert, self.folder / "none.key", f"--http-key: {self.folder}/none.key cannot be read: No such file"),
                (self.cert, other_key, f"--http-key {other_key} does not belong to the certificate"),
                (self.cert, open_key, f"--http-key: {open_key} is readable or writable by every user (run chmod o= "),
                (self.cert, locked_key, f"--http-key {locked_key} is encrypted with a passphrase"),
                (self.cert, "", "--http-cert needs --http-key"), ("", self.key, "--http-key needs --http-cert")):
            with self.subTest(said):
                flags = [*(["--http-cert", cert] if cert else []), *(["--http-key", key] if key else [])]
                self.assertIn(said, self.refused("--http", "127.0.0.1:0", *flags))


class Proxy(HttpsTest):
    PROXY = "127.0.0.2"

    def status(self, address, port, headers, source=None):
        connection = http.client.HTTPConnection(address, port, timeout=harness.PATIENCE,
                                                source_address=(source, 0) if source else None)
        with contextlib.closing(connection):
            return self.ask(connection, headers=headers)

    def own_address(self):
        """One of this machine that is not loopback, or None."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))
            address = probe.getsockname()[0]
            return None if address.startswith("127.") else address
        return None

    def test_only_the_proxy_and_this_machine_may_connect(self):
        one = self.cluster(flags=["--http", "0.0.0.0:0", "--behind-proxy", self.PROXY])
        port = int(one.tracker.ready()["http"].rpartition(":")[2])
        # The proxy checks host names.
        named = {"Host": "jobs.example", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
        self.assertEqual(self.status("127.0.0.1", port, named, self.PROXY), (200, "ok\n"))
        self.assertEqual(self.status("127.0.0.1", port, {}), (200, "ok\n"))
        self.assertEqual(self.status("127.0.0.1", port, named)[0], 403)
        own = self.own_address()
        if own is None:
            return
        status, text = self.status(own, port, {})
        self.assertEqual((status, text), (403, "only the proxies that --behind-proxy names may connect to this port\n"))

    def test_address_of_the_client_is_the_one_that_the_proxy_reports(self):
        listen = f"127.0.0.1:{free_port()}"
        one = self.cluster(flags=["--xxl-listen", listen, "--xxl-token", TOKEN, "--behind-proxy", self.PROXY])
        connection = http.client.HTTPConnection(*listen.split(":"), timeout=harness.PATIENCE,
                                                source_address=(self.PROXY, 0))
        with contextlib.closing(connection):
            connection.request("POST", "/api/registry", "{}", {"X-Forwarded-For": "10.9.9.9, 203.0.113.9",
                                                               "XXL-JOB-ACCESS-TOKEN": "wrong"})
            self.assertIn("The access token is wrong.", connection.getresponse().read().decode())
        wait_for("the client's address", lambda: "peer=203.0.113.9" in one.tracker.log())
        self.assertNotIn("10.9.9.9", one.tracker.log())


if __name__ == "__main__":
    harness.main()
