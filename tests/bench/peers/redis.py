"""A private Redis server that writes every change to disk before it answers."""

import subprocess

from postgres import answers, free_port
from program import Server


class Redis:
    def __init__(self, installation, folder):
        # The server and its checkers are one program, which goes by its name.
        program = installation.debian / "usr/bin/redis-check-rdb"
        data = folder / "redis"
        data.mkdir(mode=0o700)
        server = data / "redis-server"
        server.symlink_to(program)
        self.port = free_port()
        self.server = Server([server, "--port", self.port, "--bind", "127.0.0.1", "--dir", data,
                              "--appendonly", "yes", "--appendfsync", "always", "--save", ""],
                             folder / "redis.log", installation.libraries)
        self.server.await_ready(lambda: answers(self.port))
        self.environment = {"REDIS_URL": f"redis://127.0.0.1:{self.port}"}
        version = subprocess.run([server, "--version"], capture_output=True, text=True, check=True,
                                 env=installation.libraries).stdout
        self.durability = f"Redis {version.split('v=')[1].split()[0]}, appendfsync=always"

    @property
    def process(self):
        return self.server.process.pid

    def close(self):
        self.server.close()
