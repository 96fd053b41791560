// What a page shows comes from one GET; it stays on the screen while a newer answer is on its way.
import {useCallback, useEffect, useRef, useState} from "./html.js";
import {get} from "./api.js";
import {useLive} from "./live.js";

/// `path` null asks nothing. `on`: the events after which to ask again, at most once in `quietMs`.
export function useFetch(path, query = {}, {on = [], quietMs} = {}) {
  const [state, setState] = useState({data: null, error: null, isLoading: path !== null});
  const key = path === null ? null : path + "?" + JSON.stringify(query);
  const running = useRef(null);

  const load = useCallback(
    (isFirst) => {
      if (key === null) {
        setState({data: null, error: null, isLoading: false});
        return Promise.resolve();
      }
      running.current?.abort();
      const control = new AbortController();
      running.current = control;
      setState((before) => ({
        data: before.key === key ? before.data : null,
        stale: before.data,
        error: isFirst ? null : before.error,
        isLoading: true,
        key,
      }));
      return get(path, query, control.signal).then(
        (data) => setState({data, error: null, isLoading: false, key}),
        (error) => {
          if (error.name === "AbortError") return;
          setState((before) => ({data: before.key === key ? before.data : null, error, isLoading: false, key}));
        },
      );
    },
    [key],
  );

  useEffect(() => {
    load(true);
    return () => running.current?.abort();
  }, [load]);
  const reload = useCallback(() => load(false), [load]);
  useLive(on, reload, key !== null, quietMs);
  const isOf = state.key === key;
  return {
    data: isOf ? state.data : null,
    error: isOf ? state.error : null,
    reload,
    isLoading: key !== null && (state.isLoading || !isOf),
  };
}

/// A list in pages: the page is `page` of the address.
export function useList(path, query, options) {
  const {page, ...filters} = query;
  const found = useFetch(path, {...filters, page_token: page}, options);
  return {...found, items: found.data?.items ?? [], next: found.data?.next_page_token || "", total: found.data?.total};
}

/// The value, once it has not changed for a while: for what a person types.
export function useSettled(value, ms = 400) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [JSON.stringify(value), ms]);
  return settled;
}
