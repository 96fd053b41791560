// The last runs of a job as a strip: the colour and shape say how each ended, the height how long it took.
import {html} from "../lib/html.js";
import {t, word} from "../lib/i18n.js";
import {runAddress} from "../lib/router.js";
import {durationText, localTime, spanMs} from "../lib/format.js";
import {toneOf} from "./status.js";

const kHeight = 36;
// With the gap, as wide as a finger needs (24).
const kWidth = 20;

export function RunStrip({runs}) {
  const shown = [...runs].reverse();
  const spans = shown.map((run) => spanMs(run.started_at, run.ended_at) ?? 0);
  const longest = Math.max(1, ...spans);
  return html`<ol class="strip" aria-label=${t("job.last_runs")}>${shown.map((run, index) => {
    const height = Math.max(6, Math.round(Math.sqrt(spans[index] / longest) * kHeight));
    const words = [
      word("state.", run.state),
      localTime(run.started_at ?? run.trigger_time),
      spans[index] ? durationText(spans[index]) : "",
    ]
      .filter(Boolean)
      .join(", ");
    const isBad = ["bad", "warn"].includes(toneOf(run.state));
    return html`<li key=${run.job_id + ":" + run.attempt}><a href=${runAddress(run.job_id)} aria-label=${words} title=${words}>
      <svg width=${kWidth} height=${kHeight} viewBox=${`0 0 ${kWidth} ${kHeight}`} class=${"tone-" + toneOf(run.state)} aria-hidden="true">
        <rect x="1" y=${kHeight - height} width=${kWidth - 2} height=${height} rx="1.5" fill="currentColor" />
        ${isBad && html`<path d=${`M6 ${kHeight - 6}l8 4M14 ${kHeight - 6}l-8 4`} stroke="var(--ground)" stroke-width="1.5" />`}
      </svg></a></li>`;
  })}</ol>`;
}

/// A share as a bar with its number.
export function Meter({value, max = 1, label, text, tone = "accent"}) {
  const share = Math.max(0, Math.min(1, max ? value / max : 0));
  return html`<span class="meter" role="img" aria-label=${`${label}: ${text}`}>
    <svg width="64" height="6" viewBox="0 0 64 6" preserveAspectRatio="none" aria-hidden="true">
      <rect width="64" height="6" rx="3" class="meter-back" />
      <rect width=${Math.round(share * 64)} height="6" rx="3" class=${"meter-fill tone-" + tone} /></svg>
    <span class="number">${text}</span></span>`;
}
