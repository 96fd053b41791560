// BullMQ: `peer.js client` or `peer.js worker`.
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { clientCommands, Handled, measureLatency, now, payload, say, serve } from "./lines.js";

const kQueue = "bench";
const kTask = "noop";
const kConcurrency = 100; // of each of the two workers
const connection = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });

const start = (handle) =>
  new Worker(kQueue, async ({ data }) => handle(data.number), {
    connection,
    concurrency: kConcurrency,
  });

function client() {
  const queue = new Queue(kQueue, { connection });
  const insert = (jobs) =>
    queue.addBulk(
      jobs.map(({ number, due }) => ({
        name: kTask,
        data: payload(number),
        opts: due ? { delay: Math.max(0, due.getTime() - Date.now()) } : {},
      })),
    );
  const insertOne = (number) => queue.add(kTask, payload(number));

  serve({
    ...clientCommands({ insert, insertOne }),

    prepare: async () => {
      await queue.obliterate({ force: true });
      return {};
    },

    // Ended jobs stay, as completed ones.
    left: async () => {
      const counts = await queue.getJobCounts("wait", "active", "delayed", "prioritized", "failed");
      return { left: Object.values(counts).reduce((sum, count) => sum + count, 0) };
    },

    latency: async (options) => {
      let expected = null;
      const worker = start((number) => {
        if (number === expected?.number) expected.resolve(now());
      });
      const started = (number) =>
        new Promise((resolve) => {
          expected = { number, resolve };
        });
      const answer = await measureLatency({ ...options, insertOne, started });
      await worker.close();
      return answer;
    },
  });
}

function worker() {
  const handled = new Handled();
  serve({
    go: () => {
      handled.report();
      start((number) => handled.add(number));
    },
    report: () => ({ ...handled }),
  });
  say({ answer: { ready: true } });
}

if (process.argv[2] === "client") client();
else worker();
