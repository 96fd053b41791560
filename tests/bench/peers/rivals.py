"""The rivals, each with the settings that serve it best."""

from peer import Peer
from postgres import Postgres
from redis import Redis


class Graphile(Peer):
    name = "graphile-worker"

    def install(self):
        return self.installation.node_program("graphile")

    def open_store(self, folder):
        return Postgres(self.installation, folder)


class River(Peer):
    name = "river"

    def install(self):
        return self.installation.go_program("river")

    def open_store(self, folder):
        return Postgres(self.installation, folder)


class Bullmq(Peer):
    name = "bullmq"

    def install(self):
        return self.installation.node_program("bullmq")

    def open_store(self, folder):
        return Redis(self.installation, folder)


class DbScheduler(Peer):
    name = "db-scheduler"
    workloads = ("submit", "drain", "burst")

    def install(self):
        return self.installation.java_program("java", "DbSchedulerPeer")

    def open_store(self, folder):
        return Postgres(self.installation, folder)


class Quartz(Peer):
    name = "quartz"
    workloads = ("submit", "drain", "burst")
    jobs_max = 2000  # it does hundreds a second

    def install(self):
        return self.installation.java_program("java", "QuartzPeer")

    def open_store(self, folder):
        return Postgres(self.installation, folder)


RIVALS = {rival.name: rival for rival in (Graphile, River, Bullmq, DbScheduler, Quartz)}
