// The attempts of a run on one line of time: due, waiting, running.
import {html} from "../lib/html.js";
import {durationText, localTime, nodeText, parseTime, spanMs} from "../lib/format.js";
import {t, word} from "../lib/i18n.js";
import {Facts, Time} from "../ui/basics.js";
import {Status, toneOf} from "../ui/status.js";

const kWidth = 1000;
const kRow = 26;

function momentsOf(attempt) {
  const due = parseTime(attempt.due_time ?? attempt.trigger_time);
  const start = parseTime(attempt.started_at);
  const end = parseTime(attempt.ended_at);
  return {due, start, end: end ?? (start ? new Date() : null)};
}

export function Timeline({attempts}) {
  const rows = attempts.map((attempt) => ({attempt, ...momentsOf(attempt)}));
  const all = rows.flatMap((row) => [row.due, row.start, row.end].filter(Boolean)).map(Number);
  if (all.length === 0) return null;
  const first = Math.min(...all);
  const span = Math.max(1, Math.max(...all) - first);
  const x = (time) => ((time - first) / span) * (kWidth - 8) + 4;
  return html`<div class="timeline" aria-hidden="true"><svg viewBox=${`0 0 ${kWidth} ${rows.length * kRow}`} preserveAspectRatio="none" height=${rows.length * kRow}>
    ${rows.map((row, index) => {
      const y = index * kRow + 6;
      // A retry waits from the end of the attempt before, not from the first trigger time.
      const previousEnd = index > 0 ? rows[index - 1].end : null;
      const from = previousEnd && row.due < previousEnd ? previousEnd : row.due;
      return html`<g>${from && row.start && html`<rect x=${x(from)} y=${y + 5} width=${Math.max(1, x(row.start) - x(from))} height="4" class="timeline-wait" />`}
        ${
          row.start &&
          row.end &&
          html`<rect x=${x(row.start)} y=${y} width=${Math.max(5, x(row.end) - x(row.start))} height="14" rx="2"
          class=${"tone-" + toneOf(row.attempt.state)} fill="currentColor" />`
        }</g>`;
    })}</svg><div class="timeline-axis faint number"><span>${localTime(new Date(first).toISOString(), {millis: span < 10000})}</span>
      <span>+ ${durationText(span)}</span></div></div>`;
}

function Step({label, at, previous}) {
  if (!at) return null;
  const since = previous ? spanMs(previous, at) : null;
  return html`<li><span class="faint">${label}</span> <${Time} at=${at} millis />
    ${since !== null && since >= 0 && html`<span class="faint number">+${durationText(since)}</span>`}</li>`;
}

export function AttemptCard({attempt, isShown, href}) {
  const due = attempt.due_time ?? attempt.trigger_time;
  const span = spanMs(attempt.started_at, attempt.ended_at ?? (attempt.started_at ? new Date().toISOString() : null));
  return html`<li class=${"attempt" + (isShown ? " shown" : "")}>
    <header><a href=${href} aria-current=${isShown ? "true" : undefined}>${attempt.attempt ? t("run.attempt_n", {n: attempt.attempt}) : t("run.no_attempt")}
      ${attempt.shard !== undefined && attempt.shard !== null ? ` · ${t("run.shard", {n: attempt.shard, total: attempt.shard_total ?? "?"})}` : ""}</a>
      <${Status} state=${attempt.state} />${attempt.count > 1 ? html`<span class="badge tone-mute">× ${attempt.count}</span>` : null}</header>
    <ol class="steps"><${Step} label=${t("run.due")} at=${due} /><${Step} label=${t("run.claimed")} at=${attempt.claimed_at} previous=${due} />
      <${Step} label=${t("run.started")} at=${attempt.started_at} previous=${attempt.claimed_at ?? due} />
      <${Step} label=${t("run.ended")} at=${attempt.ended_at} previous=${attempt.started_at} /></ol>
    <${Facts} items=${[
      [t("field.node"), nodeText(attempt.node)],
      [t("field.lateness"), attempt.attempt ? durationText(attempt.lateness_ms) : ""],
      [t("field.duration"), span === null ? "" : durationText(span)],
      [
        t("field.exit_code"),
        attempt.exit_code === null || attempt.exit_code === undefined ? "" : String(attempt.exit_code),
      ],
    ]} />
    ${attempt.message && html`<p class="message-full"><span class="hidden">${word("field.", "message")}: </span>${attempt.message}</p>`}</li>`;
}
