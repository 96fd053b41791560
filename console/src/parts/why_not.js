// Why a job does not run: one sentence, and the button or page that mends it.
import {html} from "../lib/html.js";
import {t} from "../lib/i18n.js";
import {to} from "../lib/router.js";
import {actOnJob} from "../actions.js";
import {Act} from "../ui/basics.js";
import {Icon} from "../ui/icons.js";

/// Reasons are the server's sentences; what to do follows from the words that they share.
function fixOf(job) {
  const reason = job.reason ?? "";
  if (job.state === "quarantined" || /quarantine/.test(reason)) return "quarantined";
  if (job.state === "suspended" || /suspend/.test(reason)) return "suspended";
  if (/no (task tracker|executor|worker)/.test(reason)) return "no_worker";
  if (/thread|busy|overload/.test(reason)) return "busy";
  if (/previous run|overlap/.test(reason)) return "overlap";
  return "";
}

/// The server's reason as a sentence.
function sentence(reason) {
  const text = reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.!?。]$/.test(text) ? text : text + t("text.stop");
}

export function WhyNot({job}) {
  if (!job.reason && !["suspended", "quarantined"].includes(job.state)) return null;
  const fix = fixOf(job);
  return html`<div class="notice warn why"><${Icon} name="lost" /><div>
    <strong>${t("why.title")}</strong> ${job.reason ? sentence(job.reason) : t("why." + fix)}${fix && html` <span>${t("why.fix_" + fix, {group: job.group})}</span>`}</div>
    ${(fix === "suspended" || fix === "quarantined") && html`<${Act} group=${job.group} label=${t("act.resume")} onClick=${() => actOnJob(job, "resume")} />`}
    ${(fix === "no_worker" || fix === "busy") && html`<a class="button" href=${to(["groups", job.group])}>${t("why.open_group")}</a>`}</div>`;
}
