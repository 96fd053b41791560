"""An executor on pyxxl."""

import asyncio
import pathlib
import sys

from pyxxl import ExecutorConfig, PyxxlRunner
from pyxxl.ctx import g

ADMIN_URL, APP, PORT, TOKEN, LOG_FOLDER = sys.argv[1:]
logs = pathlib.Path(LOG_FOLDER)
logs.mkdir(parents=True, exist_ok=True)

runner = PyxxlRunner(ExecutorConfig(
    xxl_admin_baseurl=f"{ADMIN_URL}/api/", executor_app_name=APP, access_token=TOKEN,
    executor_listen_host="127.0.0.1", executor_listen_port=int(PORT),
    executor_log_path=str(logs / "pyxxl.log"), log_local_dir=str(logs)))


def begin():
    call = g.xxl_run_data
    shard = f"{call.broadcastIndex}/{call.broadcastTotal}"
    print(f"runs {call.executorHandler} {call.executorParams} {shard}", flush=True)
    return call.executorParams, shard


@runner.register(name="echo")
async def echo():
    param, shard = begin()
    return f"{param} {shard}"


@runner.register(name="fail")
async def fail():
    raise RuntimeError(begin()[0])


@runner.register(name="sleep")
async def sleep():
    ms, _ = begin()
    await asyncio.sleep(int(ms) / 1000)
    return f"slept {ms}"


@runner.register(name="log")
async def log():
    count, _ = begin()
    for line in range(1, int(count) + 1):
        g.logger.info("line %d", line)
    return f"{count} lines"


runner.run_executor()
