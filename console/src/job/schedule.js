// A schedule in words, with its next fires and what the clocks' changes do to them.
import {html} from "../lib/html.js";
import {post} from "../lib/api.js";
import {useEffect, useState} from "../lib/html.js";
import {useSettled} from "../lib/fetching.js";
import {t, word} from "../lib/i18n.js";
import {localTime, relativeTime, utcTime, weekday} from "../lib/format.js";
import {scheduleOf} from "./spec.js";
import {scheduleWords} from "./words.js";
import {Loading} from "../ui/basics.js";

/// Asks for the fires of a spec's schedule; null while nothing can be asked.
export function usePreview(spec) {
  const asked = scheduleOf(spec);
  const settled = useSettled(asked, 300);
  const [state, setState] = useState({});
  const key = JSON.stringify(settled);
  useEffect(() => {
    if (!settled) return setState({});
    const control = new AbortController();
    setState((before) => ({...before, isLoading: true}));
    post("/schedules:preview", {...settled, n: 10, draft: true}, {signal: control.signal}).then(
      (answer) => setState({...answer}),
      (error) => error.name === "AbortError" || setState({error: error.message}),
    );
    return () => control.abort();
  }, [key]);
  return asked ? state : {};
}

/// "2026-11-29T02:00:00+01:00" as "Sun 2026-11-29 02:00:00 +01:00"; without a zone, the local time of the browser.
function localFire(fire) {
  const parts = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(.*)$/.exec(fire.local ?? "");
  if (!parts) return fire.local || localTime(fire.utc, {isLong: true});
  return `${weekday(parts[1])} ${parts[1]} ${parts[2]} ${parts[3]}`;
}

const dstWord = (fire) => (fire.dst ? word("dst.", fire.dst) : "");

export function Fires({fires}) {
  if (!fires?.length) return html`<p class="faint">${t("schedule.no_fires")}</p>`;
  const list = fires.map((fire) => (typeof fire === "string" ? {utc: fire} : fire));
  return html`<ol class="fires" aria-label=${t("schedule.next")}>${list.map(
    (fire) => html`<li class=${fire.dst ? "dst" : ""}>
    <span class="number">${localFire(fire)}</span><span class="faint number">${utcTime(fire.utc, {isLong: false})}</span>
    <span class="faint">${relativeTime(fire.utc)}</span>
    ${fire.dst ? html`<span class="badge tone-warn" title=${fire.note || word("dst.help_", fire.dst)}>${dstWord(fire)}</span>` : html`<span></span>`}</li>`,
  )}</ol>`;
}

/// For the form: live, with the error where the schedule is wrong.
export function Preview({spec}) {
  const preview = usePreview(spec);
  if (preview.error) return html`<div class="notice warn" role="status"><div>${preview.error}</div></div>`;
  if (preview.isLoading && !preview.fires) return html`<${Loading} />`;
  if (!preview.fires) return null;
  const words = scheduleWords(spec);
  return html`<div class="preview" role="status">${words && html`<strong>${words}</strong>`}<${Fires} fires=${preview.fires} /></div>`;
}
