#!/usr/bin/env python3
"""Hostile peers of the port of a job tracker: who offers a weaker mechanism, sends what explodes in
memory, or claims to be another."""

import contextlib
import json
import pathlib
import random
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
from harness import wait_for  # noqa: E402
from hostile import MIB, TrackerTest  # noqa: E402

FRAME_BYTES_MAX = 4 * MIB
SUBMIT, QUERY, REGISTER = 1, 5, 7


def greeting(mechanism, as_server=False, version=(3, 1)):
    return (b"\xff" + b"\0" * 8 + b"\x7f" + bytes(version) + mechanism.ljust(20, b"\0") + bytes([as_server])
            + b"\0" * 31)


def sized(flags, body):
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | 2]) + len(body).to_bytes(8, "big") + body


def command(name, body=b""):
    return sized(4, bytes([len(name)]) + name + body)


def ready(identity=b""):
    def field(name, value):
        return bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value
    return command(b"READY", field(b"Socket-Type", b"DEALER") + field(b"Identity", identity))


def packed(value):
    """In MessagePack; bytes are taken as they are."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, int):
        return b"\xd3" + value.to_bytes(8, "big", signed=True)
    if isinstance(value, str):
        return b"\xd9" + bytes([len(value)]) + value.encode()
    if isinstance(value, list):
        return b"\xdc" + len(value).to_bytes(2, "big") + b"".join(map(packed, value))
    return b"\xde" + len(value).to_bytes(2, "big") + b"".join(
        packed(key) + packed(item) for key, item in value.items())


def frame(kind, correlation, body):
    return b"\x94" + packed(1) + packed(kind) + packed(correlation) + packed(body)


def query(correlation):
    return frame(QUERY, correlation, {"what": "stats"})


def correlation_of(answer):
    """Of [1, kind, correlation, body]."""
    at, numbers = 1, []
    while len(numbers) < 3:
        first = answer[at]
        size = {0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8}.get(first, 0)
        numbers.append(int.from_bytes(answer[at + 1:at + 1 + size], "big") if size else first)
        at += 1 + size
    return numbers[2]


class Peer:
    """A connection that speaks ZMTP without any mechanism, under a name that it chooses."""

    def __init__(self, port, identity=b""):
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=harness.PATIENCE)
        self.rest = b""
        self.connection.sendall(greeting(b"NULL") + ready(identity))
        self._take(64)
        self.is_open = self.receive() is not None

    def _take(self, size):
        while len(self.rest) < size:
            part = self.connection.recv(65536)
            if not part:
                raise ConnectionError
            self.rest += part
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def receive(self, patience=harness.PATIENCE):
        """The next frame, b"" for the first command; None: the connection has ended, or nothing comes."""
        self.connection.settimeout(patience)
        try:
            while True:
                flags = self._take(1)[0]
                body = self._take(int.from_bytes(self._take(8 if flags & 2 else 1), "big"))
                if not flags & 4:
                    return body
                if body.startswith(b"\x04PING"):
                    self.connection.sendall(command(b"PONG", body[7:]))
                elif body.startswith(b"\x05READY"):
                    return b""
        except OSError:
            return None

    def send(self, body):
        self.connection.sendall(sized(0, body))

    def answers(self, correlation):
        """Whether a question is answered; other answers come before."""
        self.send(query(correlation))
        while answer := self.receive():
            if correlation_of(answer) == correlation:
                return True
        return False

    def close(self):
        self.connection.close()


class Downgrade(TrackerTest):
    """A job tracker that wants a proof of who connects."""

    def heard_by(self, begin):
        heard = b""
        peer = self.connect(self.one.port)
        with contextlib.suppress(ConnectionError):
            peer.sendall(begin)
            while part := peer.recv(65536):
                heard += part
        return heard

    def test_nobody_gets_in_without_a_proof(self):
        pid = self.start()
        intruder = sized(0, frame(SUBMIT, 1, {"jobs": 1}))
        noise = random.Random(1)
        tries = {
            "NULL": greeting(b"NULL") + ready() + intruder,
            "NULL for CURVE": greeting(b"CURVE") + ready() + intruder,
            "PLAIN": greeting(b"PLAIN") + command(b"HELLO", b"\x04root\x00") + command(b"INITIATE") + intruder,
            "PLAIN for CURVE": greeting(b"CURVE") + command(b"HELLO", b"\x04root\x00") + intruder,
            "a server of PLAIN": greeting(b"PLAIN", True) + command(b"WELCOME") + ready() + intruder,
            "a server of CURVE": greeting(b"CURVE", True) + command(b"WELCOME", b"w" * 160) + ready() + intruder,
            "GSSAPI": greeting(b"GSSAPI") + command(b"INITIATE", b"\0\0\0\x01x") + intruder,
            "an unknown mechanism": greeting(b"NONE") + ready() + intruder,
            "no mechanism": greeting(b"") + ready() + intruder,
            "a random HELLO": greeting(b"CURVE") + command(b"HELLO", b"\1\0" + noise.randbytes(192)) + intruder,
            "an early INITIATE": greeting(b"CURVE") + command(b"INITIATE", noise.randbytes(300)) + intruder,
            "a frame for a HELLO": greeting(b"CURVE") + intruder,
            "ZMTP 3.0": greeting(b"NULL", version=(3, 0)) + ready() + intruder,
            "ZMTP 4": greeting(b"NULL", version=(4, 0)) + ready() + intruder,
            "ZMTP 2": b"\xff" + b"\0" * 7 + b"\x01\x7f\x01\x05" + b"\0\0" + intruder,
            "ZMTP 1 with a length": b"\xff" + b"\0" * 7 + b"\x01\x7f\x00\x05" + b"\0\0" + intruder,
            "ZMTP 1": b"\x01\x00" + b"\x07\x00secret" + intruder,
            "noise": noise.randbytes(1000),
            "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        }
        heard = {}
        names = list(tries)
        with self.bounded_memory(pid):
            self.in_parallel(len(names), lambda at: heard.update({names[at]: self.heard_by(tries[names[at]])}))
        self.assertEqual(set(heard), set(tries), "each connection has ended")
        for name, bytes_ in heard.items():
            self.assertNotIn(b"READY", bytes_, name)
        self.assertEqual(self.metric("carillon_bad_frames_total"), 0)
        self.one.rows("list")


class Open(TrackerTest):
    """A job tracker that everybody may connect to, so that frames need no proof."""

    def start(self, *flags):
        return super().start("--insecure", *flags)

    def peer(self, identity=b""):
        made = Peer(self.one.port, identity)
        self.addCleanup(made.close)
        return made


class Bombs(Open):
    def test_small_frames_do_not_explode_in_memory(self):
        pid = self.start()
        huge = b"\xff\xff\xff\xff"
        deep = FRAME_BYTES_MAX - 100
        bombs = {
            "deep lists": frame(QUERY, 1, b"\x81\xa1x" + b"\x91" * deep),
            "deep maps": frame(QUERY, 1, b"\x81\xa1x" + b"\x81\xa1a" * (deep // 3)),
            "deep lists instead of a frame": b"\x94" * deep,
            "lists without end": frame(SUBMIT, 1, b"\x81\xa4jobs\xdd" + huge),
            "maps without end": frame(SUBMIT, 1, b"\xdf" + huge),
            "a text without end": frame(QUERY, 1, b"\x81\xa4what\xdb" + huge),
            "bytes without end": frame(QUERY, 1, b"\x81\xa4what\xc6" + huge),
            "an extension without end": frame(QUERY, 1, b"\x81\xa4what\xc9" + huge + b"\x01"),
            "lists in lists without end": frame(QUERY, 1, b"\x81\xa1x" + (b"\xdd" + huge) * 100_000),
            "many empty jobs": frame(SUBMIT, 1, b"\x81\xa4jobs\xdd\x00\x01\x00\x00" + b"\x80" * 65536),
            "too many jobs": frame(SUBMIT, 1, b"\x81\xa4jobs\xdd\x00\x3f\x00\x00" + b"\x80" * (0x3f0000)),
            "many labels": frame(REGISTER, 1, b"\x81\xa6labels\xde\xff\xff" + b"".join(
                b"\xa5%05d\xa0" % number for number in range(65535))),
            "many held attempts": frame(REGISTER, 1, b"\x81\xa7holding\xdd\x00\x00\xff\xff" + b"\x80" * 65535),
            "zeros": b"\0" * deep,
        }
        with self.bounded_memory(pid):
            peers = [self.peer() for _ in range(4)]
            for number, (name, bomb) in enumerate(bombs.items()):
                for peer in peers:
                    for _ in range(3):
                        peer.send(bomb)
                for peer in peers:
                    self.assertTrue(peer.answers(1000 + number), name)
        self.assertGreater(self.metric("carillon_bad_frames_total"), 0)
        self.one.client("--insecure", "list")

    def test_frames_that_are_announced_too_large_end_the_connection(self):
        pid = self.start()
        with self.bounded_memory(pid):
            for size in (FRAME_BYTES_MAX + 100, 2 ** 40, 2 ** 63 - 1, 2 ** 64 - 1):
                peer = self.peer()
                peer.connection.sendall(b"\x02" + size.to_bytes(8, "big"))
                self.assertIsNone(peer.receive(), size)
        self.one.client("--insecure", "list")


class Identities(Open):
    def test_a_claimed_name_gives_no_right_and_no_answer_of_others(self):
        token = "tok-1"
        self.start("--xxl-token", token)
        claims = [b"\0management", b"management", b"\0", b"\0\0\0\0\1", b"\0" * 5, b"local:root", b"x" * 255]
        peers = {claim: self.peer(claim) for claim in claims}
        for number, (claim, peer) in enumerate(peers.items()):
            self.assertTrue(not peer.is_open or peer.answers(number), claim)
        job = {"jobDesc": "j", "name": "j", "scheduleType": "NONE", "executorHandler": "x",
               "glueType": "BEAN", "author": "a", "executorRouteStrategy": "FIRST",
               "misfireStrategy": "DO_NOTHING", "executorBlockStrategy": "SERIAL_EXECUTION"}
        access = {"XXL-JOB-APPNAME": "billing", "XXL-JOB-ACCESS-TOKEN": token}
        registration = json.dumps({"registryGroup": "EXECUTOR", "registryKey": "billing",
                                   "registryValue": f"http://127.0.0.1:{harness.free_port()}/"})
        self.ask("POST", "/api/registry", registration, access)
        self.assertEqual(self.manage("addJob", job, **access)["code"], 200)
        for claim, peer in peers.items():
            self.assertIsNone(peer.receive(patience=0.3), claim)

    def test_a_second_peer_of_the_same_name_gets_nothing_of_the_first(self):
        self.start()
        first = self.peer(b"worker-1")
        self.assertTrue(first.answers(1))
        second = Peer(self.one.port, b"worker-1")
        self.addCleanup(second.close)
        with contextlib.suppress(OSError):
            second.send(query(2))
        for number in range(10, 20):
            self.assertTrue(first.answers(number))
        answer = second.receive(patience=1)
        self.assertTrue(answer is None or correlation_of(answer) == 2, answer)

    def test_a_name_can_be_used_again_when_its_peer_has_gone(self):
        self.start()
        first = self.peer(b"worker-1")
        self.assertTrue(first.answers(1))
        first.close()

        def is_served():
            with contextlib.suppress(OSError):
                peer = Peer(self.one.port, b"worker-1")
                self.addCleanup(peer.close)
                peer.send(query(2))
                return peer.receive(patience=1)
            return None
        wait_for("the second to be served", is_served)


if __name__ == "__main__":
    harness.main()
