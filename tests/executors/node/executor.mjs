// An executor on npm's xxl-job.
import { mkdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

import express from "express";
import { createXxlJobExecutor } from "xxl-job";

const [adminUrl, executorKey, port, accessToken, logFolder] = process.argv.slice(2);
mkdirSync(logFolder, { recursive: true });
process.chdir(logFolder); // The library writes its logs where it is.

// When the admin is away the library rejects promises that nobody awaits, which ends the program
// unless somebody listens.
process.on("unhandledRejection", (reason) => console.error(String(reason)));

const handlers = {
  async echo(_logger, _call, param, shard) {
    return `${param} ${shard}`;
  },
  async fail(_logger, _call, param) {
    throw new Error(param);
  },
  async sleep(_logger, call, param) {
    const end = Date.now() + Number(param);
    while (Date.now() < end) {
      if (call.isKill()) throw new Error("stopped");
      await pause(10);
    }
    return `slept ${param}`;
  },
  async log(logger, _call, param) {
    for (let line = 1; line <= Number(param); line++) logger.info(`line ${line}`);
    return `${param} lines`;
  },
};

const jobHandlers = new Map(
  Object.entries(handlers).map(([name, run]) => [
    name,
    async (logger, call, param) => {
      const shard = `${call.broadcastIndex}/${call.broadcastTotal}`;
      console.log(`runs ${name} ${param} ${shard}`);
      return run(logger, call, param, shard);
    },
  ]),
);

const app = express();
app.use(express.json());
const executor = createXxlJobExecutor({
  app,
  jobHandlers,
  accessToken,
  executorKey,
  scheduleCenterUrl: adminUrl,
  baseUrl: `http://127.0.0.1:${port}`,
  logStorage: "local",
});
app.listen(Number(port), "127.0.0.1", () => executor.initialization());
process.on("SIGTERM", async () => {
  await executor.cancel();
  process.exit(0);
});
