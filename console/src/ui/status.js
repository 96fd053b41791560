// States: a word, a shape and a colour.
import {html} from "../lib/html.js";
import {word} from "../lib/i18n.js";
import {Icon} from "./icons.js";

/// state -> [tone, icon]
const kStates = {
  succeeded: ["good", "check"],
  failed: ["bad", "cross"],
  timed_out: ["bad", "clock"],
  killed: ["bad", "stop"],
  lost: ["warn", "lost"],
  later: ["note", "history"],
  discarded: ["mute", "skip"],
  skipped: ["mute", "skip"],
  missed: ["warn", "dash"],
  expired: ["warn", "hourglass"],
  cancelled: ["mute", "minus"],
  executing: ["run", "play"],
  running: ["run", "play"],
  waiting: ["note", "hourglass"],
  delayed: ["note", "clock"],
  active: ["good", "check"],
  suspended: ["warn", "pause"],
  quarantined: ["hold", "hold"],
  ended: ["mute", "minus"],
  alive: ["good", "check"],
  draining: ["warn", "hourglass"],
  overloaded: ["warn", "lost"],
  isolated: ["hold", "hold"],
  gone: ["bad", "cross"],
  unreachable: ["bad", "cross"],
  firing: ["bad", "bell"],
  ok: ["good", "check"],
  silenced: ["mute", "pause"],
  over: ["good", "check"],
  delivered: ["note", "check"],
  done: ["good", "check"],
  stopped: ["warn", "stop"],
  new: ["good", "plus"],
  changed: ["note", "edit"],
  same: ["mute", "minus"],
  invalid: ["bad", "cross"],
  refused: ["bad", "cross"],
  denied: ["bad", "cross"],
  accepted: ["good", "check"],
};

export const toneOf = (state) => (kStates[state] ?? ["mute"])[0];

export function Status({state, detail}) {
  if (!state) return html`<span class="faint">–</span>`;
  const [tone, icon] = kStates[state] ?? ["mute", "minus"];
  return html`<span class=${"status tone-" + tone} title=${detail}><${Icon} name=${icon} />
    <span>${word("state.", state)}</span></span>`;
}

/// The shape alone, for strips and dense places; the word is its label.
export function StatusMark({state}) {
  const [tone, icon] = kStates[state] ?? ["mute", "minus"];
  return html`<span class=${"mark tone-" + tone} role="img" aria-label=${word("state.", state)}
    title=${word("state.", state)}><${Icon} name=${icon} /></span>`;
}
