// Small drawings, 16 by 16, in the colour of the text. They never stand alone: a word is beside
// them, or the button that holds one has a label.
import {html} from "../lib/html.js";

const kPaths = {
  check: "M3 8.5l3.2 3.2L13 5",
  cross: "M4 4l8 8M12 4l-8 8",
  clock: "M8 4.5V8l2.5 2M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
  play: "M5 3.5v9l7.5-4.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  stop: "M4 4h8v8H4z",
  skip: "M4 4l5 4-5 4zM12 4v8",
  minus: "M3.5 8h9",
  dash: "M3 8h2.5M7 8h2.5M11 8h2",
  hold: "M5 2h6l3 4v5l-3 3H5l-3-3V6z M8 5v4 M8 11v.5",
  bolt: "M9 2L4 9h4l-1 5 5-7H8z",
  lost: "M8 2l6.5 11.5h-13zM8 6.5v3M8 11.3v.4",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7L14 14",
  plus: "M8 3v10M3 8h10",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  download: "M8 2v8M4.5 7L8 10.5 11.5 7M3 13.5h10",
  upload: "M8 10.5V2.5M4.5 6L8 2.5 11.5 6M3 13.5h10",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  edit: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3zM9.5 4.2l2.3 2.3",
  refresh: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5V5h-2.5",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  bell: "M3.5 11.5h9L11.5 10V7a3.5 3.5 0 0 0-7 0v3zM6.8 13.5h2.4",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.6-3 2.8-4.3 5.5-4.3s4.9 1.3 5.5 4.3",
  home: "M2 8l6-5.5L14 8M3.5 7v6.5h9V7",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.5M2.5 8h.5M2.5 12h.5",
  hourglass: "M4 2h8M4 14h8M5 2c0 4 6 4.5 6 6s-6 2-6 6M11 2c0 4-6 4.5-6 6s6 2 6 6",
  history: "M2.5 8a5.5 5.5 0 1 0 1.8-4.1M2.5 2.5V5H5M8 5v3.2l2.2 1.4",
  calendar: "M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v3M10.5 2v3",
  nodes: "M2.5 3h11v3.5h-11zM2.5 9.5h11V13h-11zM5 4.8h.01M5 11.3h.01",
  code: "M5.5 4L1.5 8l4 4M10.5 4l4 4-4 4",
  key: "M6 10.5a3.2 3.2 0 1 1 2.6-2.6L14 13.3V14h-2v-1.5h-1.5V11H9L8.3 9.9",
  audit: "M3.5 2h6l3 3v9h-9zM9.5 2v3h3M5.5 8h5M5.5 11h5",
  cluster:
    "M8 5.5a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM3.5 14a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM12.5 14a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM7 5.4L4.3 10.5M9 5.4l2.7 5.1M5.3 12.2h5.4",
  out: "M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6",
  star: "M8 2l1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z",
  question: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M8 12.3v.3",
};

export function Icon({name}) {
  return html`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor"
    stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
    <path d=${kPaths[name] ?? kPaths.minus} /></svg>`;
}

export function Brand({size = 22}) {
  return html`<svg viewBox="0 0 32 32" width=${size} height=${size} aria-hidden="true"><rect width="32" height="32" rx="7" class="brand-ground" />
    <path d="M16 6a6.5 6.5 0 0 0-6.5 6.5V19l-2 3h17l-2-3v-6.5A6.5 6.5 0 0 0 16 6z" fill="#fff" /><circle cx="16" cy="24.5" r="2.2" fill="#fff" /></svg>`;
}
