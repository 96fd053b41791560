"""Speaks the job tracker's protocol over ZeroMQ, with a CURVE key."""

import pathlib

import msgpack
import zmq

import harness

TYPES = {"Submit": 1, "Act": 3, "Query": 5, "Register": 7, "Pull": 9, "Report": 12, "GiveBack": 13, "Output": 15,
         "Bye": 18, "FetchFeedback": 20, "PutPrincipal": 23, "RemovePrincipal": 24}
ERROR, ROWS = 0, 6
DENIED = 8


class Peer:
    """`keys`: a folder with client.key, client.pub and server.pub."""

    def __init__(self, port, keys):
        keys = pathlib.Path(keys)
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.curve_secretkey = (keys / "client.key").read_bytes().strip()
        self.socket.curve_publickey = (keys / "client.pub").read_bytes().strip()
        self.socket.curve_serverkey = (keys / "server.pub").read_bytes().strip()
        self.socket.connect(f"tcp://127.0.0.1:{port}")
        self.correlation = 0

    def send(self, name, body, **more):
        self.correlation += 1
        self.socket.send(msgpack.packb([1, TYPES[name], self.correlation, body, *more.values()]))
        return self.correlation

    def ask(self, name, body, patience=harness.PATIENCE, **more):
        """The type and the body of the answer; None: there was none."""
        wanted = self.send(name, body, **more)
        while self.socket.poll(patience * 1000):
            _, kind, correlation, answer = msgpack.unpackb(self.socket.recv(), strict_map_key=False)[:4]
            if correlation == wanted:
                return kind, answer
        return None

    def close(self):
        self.socket.close()
        self.context.term()
