// A value that components follow.
import {useEffect, useState} from "./html.js";

export function createStore(initial) {
  let value = initial;
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      value = typeof next === "function" ? next(value) : next;
      listeners.forEach((listener) => listener(value));
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore(store) {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    setValue(() => store.get());
    return store.subscribe((next) => setValue(() => next));
  }, [store]);
  return value;
}

/// What the browser keeps for this person: a view, a theme. Works without storage, too.
export const kept = {
  get(name, fallback) {
    try {
      const text = localStorage.getItem("carillon." + name);
      return text === null ? fallback : JSON.parse(text);
    } catch {
      return fallback;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem("carillon." + name, JSON.stringify(value));
    } catch {
      // Storage is full or forbidden: the choice lasts as long as the page.
    }
  },
};
