// How times, durations and numbers are written.
import {language, t} from "./i18n.js";

const pad = (number, width = 2) => String(number).padStart(width, "0");

export function parseTime(text) {
  if (!text) return null;
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? null : time;
}

const dayOf = (time) => `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
const clockOf = (time) => `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;

/// Local time: the clock for today, with the day otherwise.
export function localTime(text, {isLong = false, millis = false} = {}) {
  const time = parseTime(text);
  if (!time) return "";
  const clock = clockOf(time) + (millis ? "." + pad(time.getMilliseconds(), 3) : "");
  if (!isLong && dayOf(time) === dayOf(new Date())) return clock;
  return `${isLong || time.getFullYear() !== new Date().getFullYear() ? dayOf(time) : dayOf(time).slice(5)} ${clock}`;
}

export function utcTime(text, {isLong = true} = {}) {
  const time = parseTime(text);
  if (!time) return "";
  const iso = time.toISOString();
  return `${isLong ? iso.slice(0, 10) : iso.slice(5, 10)} ${iso.slice(11, 19)} UTC`;
}

/// Whether local time differs from UTC then.
export const hasOffset = (text) => (parseTime(text)?.getTimezoneOffset() ?? 0) !== 0;

/// Of a day like 2026-11-29.
export function weekday(day) {
  return new Date(day + "T00:00:00Z").toLocaleDateString(language.get() === "zh" ? "zh-CN" : "en-US", {
    weekday: "short",
    timeZone: "UTC",
  });
}

/// "in 5 min", "3 h ago".
export function relativeTime(text, now = Date.now()) {
  const time = parseTime(text);
  if (!time) return "";
  const ms = time.getTime() - now;
  const span = durationText(Math.abs(ms), {isShort: true});
  if (Math.abs(ms) < 1000) return t("time.now");
  return t(ms > 0 ? "time.in" : "time.ago", {span});
}

export function durationText(ms, {isShort = false} = {}) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  if (ms < 0) return "−" + durationText(-ms, {isShort});
  if (ms === 0) return "0 ms";
  if (ms < 10) return isShort ? `${Math.round(ms)} ms` : `${Math.max(0.1, ms).toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10 && !isShort) return `${seconds.toFixed(1)} ${t("unit.s")}`;
  if (seconds < 60) return `${Math.floor(seconds)} ${t("unit.s")}`;
  const whole = Math.floor(seconds);
  const parts = [
    [Math.floor(whole / 86400), t("unit.d")],
    [Math.floor(whole / 3600) % 24, t("unit.h")],
    [Math.floor(whole / 60) % 60, t("unit.min")],
    [whole % 60, t("unit.s")],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + (isShort ? 1 : 2))
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

const kUnits = {ms: 1, s: 1e3, m: 60e3, h: 3600e3, d: 86400e3};

/// "1h30m" in milliseconds; null if it is no duration.
export function durationMs(text) {
  const parts = [...text.trim().matchAll(/(\d+)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== text.trim()) return null;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * kUnits[unit], 0);
}

/// Between two times, in milliseconds; null when one is unknown.
export function spanMs(from, until) {
  const start = parseTime(from);
  const end = parseTime(until);
  return start && end ? end - start : null;
}

export function numberText(value, digits = 0) {
  if (value === null || value === undefined || value === "") return "–";
  return Number(value).toLocaleString(language.get() === "zh" ? "zh-CN" : "en-US", {
    maximumFractionDigits: digits,
    minimumFractionDigits: 0,
  });
}

/// An executor's name is its address: without what is the same for all.
export const nodeText = (name) => (name ?? "").replace(/^https?:\/\//, "").replace(/\/$/, "");

export function percentText(share) {
  return share === null || share === undefined ? "–" : `${Math.round(share * 100)} %`;
}

/// What <input type="datetime-local"> holds, as RFC 3339; and back.
export function fromInputTime(text) {
  const time = parseTime(text);
  return time ? time.toISOString() : "";
}

export function toInputTime(text) {
  const time = parseTime(text);
  return time ? `${dayOf(time)}T${pad(time.getHours())}:${pad(time.getMinutes())}` : "";
}
