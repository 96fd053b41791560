// Who is signed in, and what the person may do.
import {get, remove, setCsrfToken} from "./api.js";
import {createStore, kept, useStore} from "./store.js";
import {setLanguage, t} from "./i18n.js";

export const session = createStore(null);
const kRanks = {viewer: 1, operator: 2, editor: 3, admin: 4};

export function takeSession(answer) {
  setCsrfToken(answer.csrf_token);
  session.set(answer);
  const wanted = answer.principal?.language;
  if (wanted && !kept.get("language", "")) setLanguage(wanted);
  return answer;
}

export const loadSession = async () => takeSession(await get("/session"));

export async function signOut(isEverywhere = false) {
  await remove("/session", isEverywhere ? {everywhere: "true"} : {});
  return loadSession();
}

export const useSession = () => useStore(session);

function coversGroup(patterns, group) {
  if (!group || !patterns || patterns.length === 0) return true;
  return patterns.some((pattern) =>
    new RegExp("^" + pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*") + "$").test(group),
  );
}

/// Why the person may not do what needs `role` in `group`; "" if allowed.
export function refusal(role, group) {
  const known = session.get();
  if (!known?.signed_in) return t("denied.signed_out");
  if (known.read_only && role !== "viewer") return t("denied.read_only");
  const principal = known.principal ?? {};
  if ((kRanks[principal.role] ?? 0) < (kRanks[role] ?? 9)) {
    return t("denied.role", {needed: t("role." + role), role: principal.role ? t("role." + principal.role) : "–"});
  }
  if (!coversGroup(principal.groups, group)) return t("denied.group", {group});
  return "";
}
