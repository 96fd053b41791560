// What a page shows comes from one GET; it stays on the screen while a newer answer is on its way.
import {useCallback, useEffect, useRef, useState} from "./html.js";
import {get} from "./api.js";
import {useLive} from "./live.js";

const kSearchMs = 2000;

/// A page may be short although more follows, because a call searches for a limited time. Asks on
/// until the page is full, for a while.
async function getPage(path, query, signal) {
  const began = performance.now();
  let answer = await get(path, query, signal);
  const items = answer.items;
  while (answer.next_page_token && items.length < query.page_size && performance.now() - began < kSearchMs) {
    const rest = {...query, page_token: answer.next_page_token, page_size: query.page_size - items.length};
    answer = await get(path, rest, signal);
    items.push(...answer.items);
  }
  return {...answer, items};
}

/// `path` null asks nothing. `on`: the events after which to ask again, at most once in `quietMs`.
export function useFetch(path, query = {}, {on = [], quietMs, ask = get} = {}) {
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
      const finish = () => {
        if (running.current === control) running.current = null;
      };
      return ask(path, query, control.signal).then(
        (data) => {
          finish();
          setState({data, error: null, isLoading: false, key});
        },
        (error) => {
          finish();
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
  // A long search is not begun anew by each event.
  const refresh = useCallback(() => running.current === null && load(false), [load]);
  useLive(on, refresh, key !== null, quietMs);
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
  const found = useFetch(path, {...filters, page_token: page}, {...options, ask: getPage});
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
