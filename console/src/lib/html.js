// The view library in one import: Preact, its hooks, and htm templates.
import {h} from "../../vendor/preact.js";
import htm from "../../vendor/htm.js";

export {render, Fragment, createContext} from "../../vendor/preact.js";
export {useState, useEffect, useLayoutEffect, useMemo, useRef, useCallback, useId} from "../../vendor/preact.js";

export const html = htm.bind(h);

/// Class names of what is true: classes("row", {selected: isSelected}).
export function classes(...names) {
  return names
    .flatMap((name) =>
      typeof name === "object" && name !== null ? Object.keys(name).filter((key) => name[key]) : name || [],
    )
    .join(" ");
}
