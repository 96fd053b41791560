// Why a job does not run: one sentence, and the button or page that mends it.
import {html} from "../lib/html.js";
import {language, t} from "../lib/i18n.js";
import {to} from "../lib/router.js";
import {actOnJob} from "../actions.js";
import {Act} from "../ui/basics.js";
import {Icon} from "../ui/icons.js";

/// Reasons are the server's English sentences; the page's own words follow from what they share.
const kReasons = [
  ["quarantined", /quarantine/],
  ["suspended", /suspend/],
  ["busy", /free thread|busy|overload/],
  ["kinds", /accepts jobs of kind/],
  ["no_executor", /executors? of group/],
  ["no_worker", /no task tracker/],
  ["overlap", /previous run|overlap/],
];

function fixOf({state, reason}) {
  if (state === "quarantined" || state === "suspended") return state;
  return kReasons.find(([, pattern]) => pattern.test(reason))?.[0] ?? "";
}

/// The server's reason as a sentence.
function sentence(reason) {
  const text = reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.!?。]$/.test(text) ? text : text + t("text.stop");
}

export function WhyNot({job}) {
  if (!job.reason && !["suspended", "quarantined"].includes(job.state)) return null;
  const fix = fixOf(job);
  // Threads that are busy now say nothing about a later fire.
  if (fix === "busy" && job.next_fire && Date.parse(job.next_fire) > Date.now()) return null;
  const hasOwnWords = fix && (!job.reason || language.get() !== "en");
  return html`<div class="notice warn why"><${Icon} name="lost" /><div>
    <strong>${t("why.title")}</strong> ${hasOwnWords ? t("why." + fix) : sentence(job.reason)}${fix && html` <span>${t("why.fix_" + fix, {group: job.group})}</span>`}</div>
    ${(fix === "suspended" || fix === "quarantined") && html`<${Act} group=${job.group} label=${t("act.resume")} onClick=${() => actOnJob(job, "resume")} />`}
    ${["busy", "kinds", "no_executor", "no_worker"].includes(fix) && html`<a class="button" href=${to(["groups", job.group])}>${t("why.open_group")}</a>`}</div>`;
}
