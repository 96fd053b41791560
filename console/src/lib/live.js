// Live updates: one stream of /api/v1/events for the page; where it fails, a tick every five seconds.
import {useEffect, useRef} from "./html.js";
import {base} from "./api.js";
import {createStore} from "./store.js";

const kTypes = ["run.started", "run.ended", "job.changed", "node.joined", "node.lost", "stats"];
const kPollMs = 5000;
const kRetryStreamMs = 30000;
const kQuietMs = 2000;

/// "live", "polling" or "off".
export const liveState = createStore("off");
const listeners = new Set();
let stream = null;
let timer = 0;
let retry = 0;

function tell(type, data) {
  listeners.forEach((listener) => listener(type, data));
}

function poll() {
  if (timer) return;
  liveState.set("polling");
  timer = setInterval(() => document.hidden || tell("tick", null), kPollMs);
}

function stopPolling() {
  clearInterval(timer);
  timer = 0;
}

export function startLive() {
  if (stream || !window.EventSource) return window.EventSource ? undefined : poll();
  stream = new EventSource(base + "/events");
  stream.onopen = () => {
    stopPolling();
    liveState.set("live");
    tell("tick", null);
  };
  stream.onerror = () => {
    poll();
    // The browser opens a stream again by itself, unless the server refused it.
    if (stream && stream.readyState === EventSource.CLOSED) {
      stream = null;
      clearTimeout(retry);
      retry = setTimeout(startLive, kRetryStreamMs);
    }
  };
  for (const type of kTypes) {
    stream.addEventListener(type, (event) => {
      let data = null;
      try {
        data = JSON.parse(event.data);
      } catch {
        // An event without data is a hint to ask again, too.
      }
      tell(type, data);
    });
  }
}

// What happened while nobody looked is asked for at once.
document.addEventListener("visibilitychange", () => document.hidden || tell("tick", null));

export function stopLive() {
  clearTimeout(retry);
  stopPolling();
  if (stream) stream.close();
  stream = null;
  liveState.set("off");
}

/// Calls back, at most once in `quietMs`, when an event of these types came.
export function useLive(types, callback, isOn = true, quietMs = kQuietMs) {
  const latest = useRef(callback);
  latest.current = callback;
  const key = types.join();
  useEffect(() => {
    if (!isOn || !key) return undefined;
    const wanted = new Set([...key.split(","), "tick"]);
    let waiting = 0;
    let last = 0;
    const listener = (type, data) => {
      if (!wanted.has(type) || waiting) return;
      waiting = setTimeout(
        () => {
          waiting = 0;
          last = Date.now();
          if (!document.hidden) latest.current(type, data);
        },
        Math.max(50, last + quietMs - Date.now()),
      );
    };
    listeners.add(listener);
    return () => {
      clearTimeout(waiting);
      listeners.delete(listener);
    };
  }, [key, isOn]);
}
