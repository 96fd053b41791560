// Which optional operations of the API this job tracker has: by its own document, read once.
import {get} from "./api.js";
import {createStore, useStore} from "./store.js";
import {useEffect} from "./html.js";

const known = createStore(null);
let isAsked = false;

function ask() {
  if (isAsked) return;
  isAsked = true;
  get("/openapi.json").then(
    (document) =>
      known.set(
        new Set(
          Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
            Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
          ),
        ),
      ),
    () => {
      isAsked = false;
    },
  );
}

/// has("POST /alarms:test"); false until the document is here.
export function useOperations() {
  const set = useStore(known);
  useEffect(ask, []);
  return (name) => set?.has(name) ?? false;
}
