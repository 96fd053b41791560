#!/usr/bin/env python3
"""A made-up job tracker for work on the console and for its tests: serves the console as a real one
does, and answers /api/v1 from a cluster in memory that changes all the time.

  mock_server.py [--port PORT] [--role ROLE] [--quiet] [--still]

Sign in with any name and the password "carillon". --role: what you may do. --still: nothing happens
by itself. The node group or text "unavailable" in a filter makes the server fail.
"""

import argparse
import gzip
import http.server
import importlib.machinery
import importlib.util
import json
import pathlib
import queue
import threading
import time
import urllib.parse

import mock_admin  # noqa: F401: its routes
import mock_api
import mock_runs  # noqa: F401: its routes
from mock_data import World, now, text_of

CONSOLE = pathlib.Path(__file__).resolve().parent.parent
POLICY = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
PAGES = "jobs runs waiting executing history calendar groups scripts alarms access audit cluster operations login account search".split()
CSRF = "mock-csrf"
PASSWORD = "carillon"
CHANGE_SECONDS = 0.8


def load_embed():
    loader = importlib.machinery.SourceFileLoader("embed", str(CONSOLE / "embed"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("embed", loader))
    loader.exec_module(module)
    return module


class Mock(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port, role="admin", is_quiet=True):
        super().__init__(("127.0.0.1", port), Handler)
        self.world = World()
        self.role = role
        self.is_quiet = is_quiet
        self.embed = load_embed()
        self.listeners = set()
        self.sequence = 0
        self.sessions = {}
        self.load_files()

    def handle_error(self, request, client_address):
        """A browser that leaves is no error."""
        if not self.is_quiet:
            super().handle_error(request, client_address)

    def load_files(self):
        self.files = {file.path: file for file in self.embed.collect(CONSOLE)[0]}

    def publish(self, kind, data):
        self.sequence += 1
        for listener in list(self.listeners):
            listener.put((self.sequence, kind, data))

    def change(self):
        """A little happens: runs start and end."""
        world = self.world
        call = mock_api.Call(world, {"name": "system"}, {}, {}, {}, self.publish)
        while True:
            time.sleep(CHANGE_SECONDS)
            with world.lock:
                if len(world.executing) > 8:
                    mock_api.end_run(
                        call,
                        world.random.choice(world.executing[4:]),
                        world.random.choices(["succeeded", "failed"], [12, 1])[0],
                    )
                job = world.any_job()
                if job["state"] == "active":
                    self.publish("run.started", world.start(job))
            self.publish("stats", {})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        if not self.server.is_quiet:
            super().log_message(*arguments)

    def do_GET(self):
        self.serve("GET")

    def do_POST(self):
        self.serve("POST")

    def do_PUT(self):
        self.serve("PUT")

    def do_PATCH(self):
        self.serve("PATCH")

    def do_DELETE(self):
        self.serve("DELETE")

    def send(self, status, body=b"", content_type="application/json", headers=()):
        self.send_response(status)
        for name, value in (
            ("Content-Type", content_type),
            ("Content-Length", len(body)),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            *headers,
        ):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, value, status=200, headers=(), content_type="application/json"):
        self.send(status, json.dumps(value).encode(), content_type, headers)

    def serve(self, method):
        address = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if not address.path.startswith("/api/v1/"):
                self.serve_file(address.path)
            else:
                self.serve_api(
                    method, address.path[len("/api/v1") :], dict(urllib.parse.parse_qsl(address.query)), body
                )
        except mock_api.Problem as problem:
            self.send_json(
                problem.document, problem.document["status"], content_type="application/problem+json"
            )
        except (BrokenPipeError, ConnectionResetError):
            pass

    def serve_file(self, path):
        if path.split("/")[1] in ("", *PAGES):
            path = "/"
            self.server.load_files()  # a change of the console shows after a reload
        file = self.server.files.get(path)
        if not file:
            return self.send(404, b"", "text/plain")
        cache = "no-cache" if path == "/" else "public, max-age=31536000, immutable"
        headers = (("ETag", file.etag), ("Cache-Control", cache), ("Content-Encoding", "gzip"))
        assert gzip.decompress(file.packed) == file.text
        return self.send(200, file.packed, file.content_type, headers)

    # ---- Sessions

    def session_name(self):
        cookies = dict(
            part.strip().split("=", 1)
            for part in (self.headers.get("Cookie") or "").split(";")
            if "=" in part
        )
        return cookies.get("carillon_session")

    def principal(self):
        return self.server.sessions.get(self.session_name())

    def session(self, principal):
        return {
            "signed_in": principal is not None,
            "principal": principal,
            "csrf_token": CSRF if principal else None,
            "read_only": False,
            "methods": {"password": True, "oidc": True, "oidc_name": "Example SSO"},
            "server": {
                "name": "jobs-1 (mock)",
                "version": "0.1.0",
                "time": text_of(now()),
            },
        }

    def serve_session(self, method, path, query, body):
        if method == "GET":
            return self.send_json(self.session(self.principal()))
        if method == "POST":
            asked = json.loads(body or b"{}")
            if asked.get("password") != PASSWORD and asked.get("one_time") != "once":
                raise mock_api.Problem(401, "unauthenticated", "the name or the password is wrong")
            name = asked.get("name") or "ann"
            role = name if name in ("viewer", "operator", "editor", "admin") else self.server.role
            principal = {"name": name, "kind": "user", "role": role, "groups": ["*"], "language": ""}
            key = str(len(self.server.sessions) + 1)
            self.server.sessions[key] = principal
            return self.send_json(
                self.session(principal),
                headers=(("Set-Cookie", f"carillon_session={key}; HttpOnly; SameSite=Strict; Path=/"),),
            )
        if method == "DELETE":
            self.server.sessions.pop(self.session_name(), None)
            return self.send_json({}, headers=(("Set-Cookie", "carillon_session=; Max-Age=0; Path=/"),))
        if path == "/session/password" and json.loads(body).get("old") != PASSWORD:
            raise mock_api.Problem(403, "denied", "the current password is wrong")
        return self.send_json({})

    # ---- The API

    def serve_api(self, method, path, query, body):
        if path.startswith("/session"):
            return self.serve_session(method, path, query, body)
        principal = self.principal()
        if not principal:
            raise mock_api.Problem(401, "unauthenticated", "sign in first")
        if method != "GET" and self.headers.get("X-CSRF-Token") != CSRF:
            raise mock_api.Problem(403, "denied", "the CSRF token is missing")
        if path == "/events":
            return self.stream_events()
        if query.get("follow") and path.endswith("/output"):
            return self.stream_output(path)
        if "jsonl" in (self.headers.get("Content-Type") or ""):
            parsed = [self.parsed(line) for line in body.decode().splitlines() if line.strip()]
        else:
            parsed = json.loads(body) if body else {}
        call = mock_api.Call(self.server.world, principal, query, parsed, self.headers, self.server.publish)
        result = mock_api.answer(method, path, call)
        status, result = result if isinstance(result, tuple) else (200, result)
        if isinstance(result, str):
            return self.send(200, result.encode(), "text/plain; charset=utf-8")
        if isinstance(result, list):
            return self.send(
                200, "".join(json.dumps(one) + "\n" for one in result).encode(), "application/jsonl"
            )
        etag = (("ETag", result["etag"]),) if isinstance(result, dict) and result.get("etag") else ()
        return self.send_json(result, status, etag)

    @staticmethod
    def parsed(line):
        try:
            return json.loads(line)
        except ValueError:
            return None

    def start_stream(self):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()

    def emit(self, data, kind=None, number=None):
        lines = (
            ([f"id: {number}"] if number else [])
            + ([f"event: {kind}"] if kind else [])
            + [f"data: {json.dumps(data)}", "", ""]
        )
        self.wfile.write("\n".join(lines).encode())
        self.wfile.flush()

    def stream_events(self):
        self.start_stream()
        listener = queue.Queue()
        self.server.listeners.add(listener)
        try:
            self.emit({}, "stats", self.server.sequence or 1)
            while True:
                try:
                    number, kind, data = listener.get(timeout=15)
                    self.emit(data, kind, number)
                except queue.Empty:
                    self.wfile.write(b": still here\n\n")
                    self.wfile.flush()
        finally:
            self.server.listeners.discard(listener)

    def stream_output(self, path):
        self.start_stream()
        for number in range(1000, 1200):
            self.emit(
                {
                    "attempt": 1,
                    "seq": number,
                    "stream": "stdout",
                    "at": text_of(now()),
                    "text": f"line {number}: \x1b[34mworking\x1b[0m\n",
                }
            )
            time.sleep(0.5)
        self.emit({}, "end")


def start(port=0, role="admin", is_quiet=True, is_still=False):
    """A running mock, for tests."""
    server = Mock(port, role, is_quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if not is_still:
        threading.Thread(target=server.change, daemon=True).start()
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8088)
    parser.add_argument("--role", default="admin", choices=["viewer", "operator", "editor", "admin"])
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--still", action="store_true")
    arguments = parser.parse_args()
    server = start(arguments.port, arguments.role, arguments.quiet, arguments.still)
    print(f"http://127.0.0.1:{server.server_port}/ with any name and the password {PASSWORD}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
