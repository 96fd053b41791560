// graphile-worker as its own perfTest has it: `peer.js client` or `peer.js worker`.
import { Logger, run, runMigrations } from "graphile-worker";
import pg from "pg";
import { clientCommands, Handled, measureLatency, now, payload, say, serve } from "./lines.js";

const connectionString = process.env.DATABASE_URL;
const kTask = "noop";

const logger = new Logger(() => (level, message) => {
  if (level === "error" || level === "warning") console.error(message);
});

// The preset of its perfTest.
const batched = {
  pollInterval: 20, // finds what is due; the default of 2 s would start a burst as much too late
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};
// A local queue waits between two fetches: without it a single job starts sooner.
const prompt = { concurrentJobs: 24, maxPoolSize: 25, pollInterval: 20 };

const start = (worker, handle) =>
  run({
    preset: { worker: { connectionString, fileExtensions: [], ...worker } },
    parsedCronItems: [],
    noHandleSignals: true,
    logger,
    taskList: { [kTask]: async ({ number }) => handle(number) },
  });

async function client() {
  const pool = new pg.Pool({ connectionString, max: 50 });

  // As its perfTest adds jobs: add_jobs() of a whole list in one statement.
  const insert = (jobs) =>
    pool.query(
      `select 1 from graphile_worker.add_jobs(array(
         select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
      [
        JSON.stringify(
          jobs.map(({ number, due }) => ({
            identifier: kTask,
            payload: payload(number),
            run_at: due,
          })),
        ),
      ],
    );
  const insertOne = (number) =>
    pool.query({
      name: "add",
      text: "select 1 from graphile_worker.add_job($1, $2::json)",
      values: [kTask, JSON.stringify(payload(number))],
    });

  serve({
    ...clientCommands({ insert, insertOne }),

    prepare: async () => {
      await runMigrations({ connectionString, logger });
      await pool.query("truncate graphile_worker._private_jobs");
      await pool.query("vacuum full graphile_worker._private_jobs");
      return {};
    },

    // A job that has ended is no longer in the table.
    left: async () => {
      const found = await pool.query("select count(*) from graphile_worker._private_jobs");
      return { left: Number(found.rows[0].count) };
    },

    latency: async (options) => {
      let expected = null;
      const runner = await start(prompt, (number) => {
        if (number === expected?.number) expected.resolve(now());
      });
      const started = (number) =>
        new Promise((resolve) => {
          expected = { number, resolve };
        });
      const answer = await measureLatency({ ...options, insertOne, started });
      await runner.stop();
      return answer;
    },
  });
}

function worker() {
  const handled = new Handled();
  serve({
    go: async () => {
      handled.report();
      await start(batched, (number) => handled.add(number));
    },
    report: () => ({ ...handled }),
  });
  say({ answer: { ready: true } });
}

if (process.argv[2] === "client") await client();
else worker();
