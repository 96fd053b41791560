"""Every operation of openapi.json, called by schemathesis with generated values: no server error, no
status that the document does not have, and each answer as it describes."""

import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

import harness
from api_client import Api
from harness import SOURCE, E2eTest, skip, wait_for

REQUIREMENTS = SOURCE / "tests/e2e/api_requirements.txt"
EXAMPLES = 12  # calls of an operation in each phase


def schemathesis():
    """The program, in an environment that is made once for all tests."""
    name = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = pathlib.Path(tempfile.gettempdir(), f"carillon-venv-{name}")
    with open(str(folder) + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = folder / "bin/schemathesis"
        if program.exists():
            return program
        for argv in ([sys.executable, "-m", "venv", folder],
                     [folder / "bin/pip", "install", "-q", "-r", REQUIREMENTS]):
            done = subprocess.run(argv, capture_output=True, text=True)
            if done.returncode != 0:
                raise skip(f"schemathesis cannot be installed: {done.stderr[-500:]}")
        return program


class Document(E2eTest):
    def setUp(self):
        super().setUp()
        self.program = schemathesis()
        self.one = self.cluster(tracker=False)
        url = self.one.start_tracker("--http", "127.0.0.1:0").ready()["http"]
        token = self.one.client("-o", "json", "tokens", "new", "fuzz", "--role", "admin").json()["token"]
        self.api = Api(url, token)
        wait_for("the token to be known", lambda: self.api.get("/whoami").status == 200)
        self.one.start_worker()
        for job in ({"task_id": "a", "manual": True, "shell": "true"},
                    {"task_id": "b", "cron": "0 3 * * *", "shell": "true"},
                    {"task_id": "c", "shell": "echo c"}):
            self.assertEqual(self.api.post("/jobs", job).status, 200)

    def run_schemathesis(self, *flags):
        document = self.one.folder / "openapi.json"
        document.write_text(self.api.get("/openapi.json").text, encoding="utf-8")
        done = subprocess.run(
            [self.program, "run", document, "--url", f"http://{self.api.address}/api/v1",
             "-H", f"Authorization: Bearer {self.api.token}", "--max-examples", str(EXAMPLES),
             "--seed", "1", "--request-timeout", "30", "--generation-database", "none",
             # Streams do not end, and the token that is used must stay.
             "--exclude-operation-id", "readEvents", "--exclude-operation-id", "removeToken",
             "--no-color", *flags],
            env={**os.environ, "SCHEMATHESIS_HOOKS": "api_serializers",
                 "PYTHONPATH": str(pathlib.Path(__file__).parent)},
            capture_output=True, text=True, timeout=900, cwd=self.one.folder)
        self.assertEqual(done.returncode, 0, done.stdout[-12000:] + done.stderr[-2000:])
        self.assertTrue(self.one.tracker.is_running())

    def test_every_operation_is_as_the_document_says(self):
        self.run_schemathesis("--phases", "examples,coverage,fuzzing", "--checks",
                              "not_a_server_error,status_code_conformance,content_type_conformance,"
                              "response_schema_conformance,response_headers_conformance")


if __name__ == "__main__":
    harness.main()
