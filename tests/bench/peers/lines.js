// JSON lines on stdin are commands by name, each answered by one line on stdout.
import { createInterface } from "node:readline";

export const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

// A command without a result is not answered. Ends the process when stdin ends or a command fails.
export function serve(commands) {
  const lines = createInterface({ input: process.stdin });
  lines.on("line", async (line) => {
    const { do: name, ...options } = JSON.parse(line);
    try {
      const answer = await commands[name](options);
      if (answer !== undefined) say({ answer });
    } catch (error) {
      console.error(error);
      process.exit(1);
    }
  });
  lines.on("close", () => process.exit(0));
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Milliseconds since the epoch, with a fraction.
export const now = () => performance.timeOrigin + performance.now();

class Bits {
  bytes = Buffer.alloc(1024);

  // False: it was set already.
  set(number) {
    const place = number >>> 3;
    const bit = 1 << (number & 7);
    if (place >= this.bytes.length) {
      this.bytes = Buffer.concat([this.bytes, Buffer.alloc(place + 1)]);
    }
    const isNew = (this.bytes[place] & bit) === 0;
    this.bytes[place] |= bit;
    return isNew;
  }

  toJSON() {
    return this.bytes.toString("base64");
  }
}

// What a worker has run: a bit for each job's number, and another for what it has run again.
export class Handled {
  count = 0;
  first = null;
  last = null;
  ran = new Bits();
  twice = new Bits();

  add(number) {
    this.last = now();
    this.first ??= this.last;
    this.count += 1;
    if (!this.ran.set(number)) this.twice.set(number);
  }

  // Says the count now and then, when it has changed.
  report() {
    let said = 0;
    setInterval(() => {
      if (this.count === said) return;
      said = this.count;
      say({ handled: said });
    }, 20);
  }
}

const kPad = "x".repeat(80); // about 100 bytes with the rest
export const payload = (number) => ({ number, pad: kPad });

// The workloads of a client, made of `insert(jobs)`, which takes a list of {number, due} in one
// call, and `insertOne(number)`.
export function clientCommands({ insert, insertOne }) {
  let handled = 0; // by all workers, as the driver says

  async function insertMany(from, to, batch, due) {
    for (let at = from; at < to; at += batch) {
      const jobs = [];
      for (let number = at; number < Math.min(to, at + batch); ++number) jobs.push({ number, due });
      await insert(jobs);
    }
  }

  return {
    submit: async ({ jobs, batch }) => {
      const begin = now();
      await insertMany(0, jobs, batch);
      return { ms: now() - begin };
    },

    singles: async ({ jobs, clients }) => {
      const took = [];
      let next = 0;
      const begin = now();
      await Promise.all(
        Array.from({ length: clients }, async () => {
          while (next < jobs) {
            const number = next++;
            const sent = now();
            await insertOne(number);
            took.push(now() - sent);
          }
        }),
      );
      return { ms: now() - begin, took };
    },

    // All of them due at one instant to come.
    burst: async ({ jobs, batch, lead_ms }) => {
      const due = Date.now() + lead_ms;
      await insertMany(0, jobs, batch, new Date(due));
      return { due };
    },

    handled: ({ count }) => {
      handled = count;
    },

    // Keeps `ahead` jobs waiting for some time.
    flow: async ({ seconds, batch, ahead }) => {
      const until = now() + 1000 * seconds;
      let submitted = 0;
      while (now() < until) {
        if (submitted - handled > ahead) {
          await pause(2);
          continue;
        }
        await insertMany(submitted, submitted + batch, batch);
        submitted += batch;
      }
      return { submitted };
    },
  };
}

// One job at a time, from just before the call to the handler's first line.
export async function measureLatency({ jobs, warm_up, gap_ms, insertOne, started }) {
  const ms = [];
  for (let number = 0; number < warm_up + jobs; ++number) {
    const begin = now();
    const start = started(number);
    await insertOne(number);
    const at = await start;
    if (number >= warm_up) ms.push(at - begin);
    await pause(gap_ms);
  }
  return { ms };
}
