// How fast libraries for Node compile expressions and find next fires; see compare_cron.py.
import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";

const { expressions, zone, start, ms } = JSON.parse(process.argv[2]);

function nanoseconds(call) {
  const begin = process.hrtime.bigint();
  const until = begin + BigInt(ms) * 1_000_000n;
  let calls = 0;
  let now = begin;
  while (now < until) {
    for (let i = 0; i < 50; ++i) call();
    calls += 50;
    now = process.hrtime.bigint();
  }
  return Number(now - begin) / calls;
}

const first = new Date(start);
const libraries = {
  "cron-parser": {
    compile: (text) => CronExpressionParser.parse(text, { tz: zone, currentDate: first }),
    walk: (cron) => () => cron.next(), // goes on from the last by itself
  },
  croner: {
    compile: (text) => new Cron(text, { timezone: zone, paused: true }),
    walk: (cron) => {
      let last = first;
      return () => {
        last = cron.nextRun(last) ?? first;
      };
    },
  },
};

const measured = {};
for (const [name, { compile, walk }] of Object.entries(libraries)) {
  measured[name] = {};
  for (const [what, text] of Object.entries(expressions)) {
    measured[name][what] = {
      compile: nanoseconds(() => compile(text)),
      next: nanoseconds(walk(compile(text))),
    };
  }
}
console.log(JSON.stringify(measured));
