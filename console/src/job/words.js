// Schedules in words, in the language of the page. What has no simple words has none here.
import {durationMs, durationText, localTime} from "../lib/format.js";
import {language, t} from "../lib/i18n.js";
import {kindOf} from "./spec.js";

const kMacros = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};
const kDays = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const kMonths = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

const locale = () => (language.get() === "zh" ? "zh-CN" : "en-US");
// 2023-01-01 was a Sunday.
const nameOf = (month, day, part) =>
  new Date(Date.UTC(2023, month, day)).toLocaleDateString(locale(), {...part, timeZone: "UTC"});
const dayName = (index) => nameOf(0, 1 + index, {weekday: "long"});
const monthName = (index) => nameOf(index, 1, {month: language.get() === "zh" ? "short" : "long"});
const listOf = (names) => new Intl.ListFormat(locale(), {type: "conjunction"}).format(names);
const pad = (number) => String(number).padStart(2, "0");

const isAny = (field) => field === "*" || field === "?";

function whole(text, low, high) {
  const number = /^\d+$/.test(text) ? Number(text) : NaN;
  return number >= low && number <= high ? number : null;
}

/// Of "*/10" and "0/10". A step that does not divide its unit has no regular period.
function stepOf(field, size) {
  const step = Number(/^[*0]?\/(\d+)$/.exec(field)?.[1]);
  return step && size % step === 0 ? step : null;
}

function fieldsOf(expression) {
  const text = expression.trim();
  const fields = (kMacros[text.toLowerCase()] ?? text).split(/\s+/).map((field) => field.replace(/^[*0]?\/1$/, "*"));
  if (fields.length === 7 && fields[6] === "*") fields.pop();
  const isUnix = fields.length === 5;
  if (isUnix) fields.unshift("0");
  if (fields.length !== 6) return null;
  const [second, minute, hour, day, month, weekDay] = fields;
  return {second, minute, hour, day, month, weekDay, isUnix};
}

/// "Monday", "Monday to Friday", "Monday and Friday".
function weekDays(field, isUnix) {
  const indexOf = (text) => {
    const named = kDays.indexOf(text.toUpperCase());
    const number = named >= 0 ? null : isUnix ? whole(text, 0, 7) : whole(text, 1, 7);
    return named >= 0 ? named : number === null ? null : isUnix ? number % 7 : number - 1;
  };
  const ends = field.split("-").map(indexOf);
  if (ends.length === 2)
    return ends.includes(null) ? null : t("words.range", {from: dayName(ends[0]), to: dayName(ends[1])});
  const days = field.split(",").map(indexOf);
  return days.includes(null) ? null : listOf(days.map(dayName));
}

/// "every day", "Monday", "day 1 of every month"; null: not simple.
function dateWords({day, month, weekDay, isUnix}) {
  if (!isAny(weekDay)) return isAny(day) && isAny(month) ? weekDays(weekDay, isUnix) : null;
  if (isAny(day)) return isAny(month) ? t("words.day") : null;
  if (day === "L") return isAny(month) ? t("words.last_day") : null;
  const number = whole(day, 1, 31);
  if (number === null) return null;
  if (isAny(month)) return t("words.month_day", {day: number});
  const named = kMonths.indexOf(month.toUpperCase());
  const index = named >= 0 ? named : (whole(month, 1, 12) ?? 0) - 1;
  return index < 0 ? null : t("words.year_day", {month: monthName(index), day: number});
}

/// "every 10 minutes"; null: it has times of day, or is not simple.
function periodWords({second, minute, hour}) {
  if (isAny(hour) && isAny(minute)) {
    if (isAny(second)) return t("words.second");
    const step = stepOf(second, 60);
    if (step) return t("words.seconds", {n: step});
    return second === "0" ? t("words.minute") : null;
  }
  if (second !== "0") return null;
  const at = whole(minute, 0, 59);
  if (isAny(hour)) {
    const step = stepOf(minute, 60);
    if (step) return t("words.minutes", {n: step});
    if (at === null) return null;
    return at === 0 ? t("words.hour") : t("words.hour_at", {at});
  }
  const step = stepOf(hour, 24);
  if (!step || at === null) return null;
  return at === 0 ? t("words.hours", {n: step}) : t("words.hours_at", {n: step, at});
}

/// "09:00 and 17:00"; null: not simple.
function timesOfDay({second, minute, hour}) {
  const hours = hour.split(",").map((one) => whole(one, 0, 23));
  const at = [whole(minute, 0, 59), whole(second, 0, 59)];
  if (hours.includes(null) || at.includes(null)) return null;
  return listOf(hours.map((one) => `${pad(one)}:${pad(at[0])}${at[1] ? ":" + pad(at[1]) : ""}`));
}

function sentence(words) {
  return words && words.charAt(0).toUpperCase() + words.slice(1);
}

/// Of a cron expression; "" for one without simple words.
export function cronWords(expression) {
  const fields = fieldsOf(expression);
  const date = fields && dateWords(fields);
  if (!date) return "";
  const period = periodWords(fields);
  if (period) return sentence(date === t("words.day") ? period : t("words.on", {period, date}));
  const times = timesOfDay(fields);
  return times ? sentence(t("words.at", {date, times})) : "";
}

/// Of the schedule of a spec; "" for a cron expression without simple words.
export function scheduleWords(spec) {
  const kind = kindOf(spec);
  if (kind === "cron") return cronWords(spec.cron);
  if (kind === "at") return sentence(t("words.once", {at: localTime(spec.at, {isLong: true})}));
  const span = durationText(durationMs(String(spec[kind])));
  if (kind === "every") return sentence(t("words.every", {span}));
  if (kind === "fixed_delay") return sentence(t("words.fixed_delay", {span}));
  return t("help.kind_" + kind);
}
