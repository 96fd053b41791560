// The output of a run: live while it runs, with search, colours and download.
import {html, classes, useEffect, useMemo, useRef, useState} from "../lib/html.js";
import {address, get, runPath} from "../lib/api.js";
import {parseAnsi, withoutAnsi} from "../lib/ansi.js";
import {localTime} from "../lib/format.js";
import {t} from "../lib/i18n.js";
import {Button, Empty, Loading, Problem} from "../ui/basics.js";
import {CheckField} from "../ui/form.js";
import {Icon} from "../ui/icons.js";

const kPageSize = 1000;
const kBlockLines = 200;
const kMostLines = 200000;
const kPollMs = 5000;
const kShowMs = 150;

/// Pieces of output, cut into lines per stream.
function linesOf(items) {
  const lines = [];
  const open = {};
  for (const item of items) {
    const stream = item.stream ?? "stdout";
    const parts = String(item.text ?? "").split("\n");
    parts.forEach((part, index) => {
      const isLast = index === parts.length - 1;
      if (open[stream] !== undefined) open[stream].text += part;
      else if (part !== "" || !isLast)
        lines.push((open[stream] = {text: part, at: item.at, stream, attempt: item.attempt}));
      if (!isLast) open[stream] = undefined;
    });
  }
  return withStyles(lines);
}

/// A colour lasts until the next one, also over lines: each line gets what it begins with.
function withStyles(lines) {
  const styles = {};
  for (const line of lines) {
    line.style = styles[line.stream];
    if (line.text.includes("\x1b")) styles[line.stream] = parseAnsi(line.text, line.style).style;
  }
  return lines;
}

/// Reads what there is, page by page, then follows while the run goes on.
function useOutput(run, attempt, isLive) {
  const [state, setState] = useState({items: [], isLoading: true, error: null});
  const [again, setAgain] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    let stream = null;
    let timer = 0;
    let flush = 0;
    let pending = [];
    const known = new Set();
    const path = runPath(run.job_id) + "/output";
    const add = (items) => {
      const fresh = items.filter((item) => {
        const key = `${item.attempt}:${item.seq}`;
        return item.seq === undefined || (!known.has(key) && known.add(key));
      });
      pending.push(...fresh);
      // What comes in small pieces is shown a few times a second.
      if (pending.length && !flush) flush = setTimeout(show, kShowMs);
    };
    const show = () => {
      const items = pending;
      flush = 0;
      pending = [];
      setState((before) => ({...before, items: [...before.items, ...items].slice(-kMostLines)}));
    };
    const readAll = async () => {
      let token = "";
      do {
        const page = await get(path, {attempt, format: "json", page_token: token, page_size: kPageSize}, control.signal);
        add(page.items ?? []);
        token = page.next_page_token || "";
      } while (token && !control.signal.aborted);
    };
    const poll = () => {
      timer = setTimeout(() => readAll().then(poll, poll), kPollMs);
    };
    const follow = () => {
      if (!window.EventSource) return poll();
      stream = new EventSource(address(path, {attempt, follow: "true"}));
      const take = (event) => {
        const item = JSON.parse(event.data);
        add(item.items ?? [item]);
      };
      stream.onmessage = take;
      stream.addEventListener("output", take);
      stream.addEventListener("end", () => stream.close());
      stream.onerror = () => {
        if (stream.readyState === EventSource.CLOSED) poll();
      };
    };
    setState({items: [], isLoading: true, error: null});
    readAll().then(
      () => {
        clearTimeout(flush);
        show();
        setState((before) => ({...before, isLoading: false}));
        if (isLive) follow();
      },
      (error) => error.name === "AbortError" || setState((before) => ({...before, isLoading: false, error})),
    );
    return () => {
      control.abort();
      clearTimeout(timer);
      clearTimeout(flush);
      stream?.close();
    };
  }, [run.job_id, attempt, isLive, again]);
  return {...state, reload: () => setAgain((count) => count + 1)};
}

function Line({line, number, isFound, isCurrent, hasTimes}) {
  const {pieces} = useMemo(() => parseAnsi(line.text, line.style), [line.text, line.style]);
  return html`<div class=${classes("line", {err: line.stream === "stderr", found: isFound, current: isCurrent})} id=${"line-" + number}>
    <span class="line-number" aria-hidden="true">${number}</span>${hasTimes && html`<span class="line-time">${localTime(line.at, {millis: true})}</span>`}
    <span class="line-text">${pieces.map((piece) => (piece.className ? html`<span class=${piece.className}>${piece.text}</span>` : piece.text))}${"\n"}</span></div>`;
}

/// Lines that stay together: not drawn again while nothing of theirs changes.
function Block({lines, first, foundSet, current, needle, hasTimes}) {
  const isHere = current >= first && current < first + lines.length;
  return useMemo(
    () =>
      html`<div class="line-block">
        ${lines.map(
          (line, at) =>
            html`<${Line} key=${at} line=${line} number=${first + at + 1} hasTimes=${hasTimes} isFound=${foundSet.has(first + at)}
              isCurrent=${first + at === current} />`,
        )}
      </div>`,
    [lines.length, lines.at(-1).text, needle && foundSet, isHere && current, hasTimes],
  );
}

export function Output({run, attempt, isLive}) {
  const output = useOutput(run, attempt, isLive);
  const [search, setSearch] = useState("");
  const [current, setCurrent] = useState(0);
  const [hasTimes, setHasTimes] = useState(false);
  const [isFollowing, setFollowing] = useState(true);
  const box = useRef(null);
  const lines = useMemo(() => linesOf(output.items), [output.items]);
  const needle = search.toLowerCase();
  const found = useMemo(
    () =>
      needle
        ? lines.flatMap((line, index) => (withoutAnsi(line.text).toLowerCase().includes(needle) ? [index] : []))
        : [],
    [lines, needle],
  );
  const foundSet = useMemo(() => new Set(found), [found]);
  useEffect(() => {
    if (isLive && isFollowing && !needle && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines.length, isLive, isFollowing, needle]);
  useEffect(() => {
    if (found.length)
      document.getElementById("line-" + (found[current % found.length] + 1))?.scrollIntoView({block: "center"});
  }, [current, found.length, needle]);
  const step = (by) => found.length && setCurrent((current + by + found.length) % found.length);
  const blocks = [];
  for (let at = 0; at < lines.length; at += kBlockLines) blocks.push(lines.slice(at, at + kBlockLines));

  return html`<div class="output">
    <div class="output-bar"><div class="search-in"><label class="hidden" for="output-search">${t("output.search")}</label>
      <input id="output-search" type="search" placeholder=${t("output.search")} value=${search}
        onInput=${(event) => {
          setSearch(event.target.value);
          setCurrent(0);
        }}
        onKeyDown=${(event) => event.key === "Enter" && (event.preventDefault(), step(event.shiftKey ? -1 : 1))} />
      ${
        needle &&
        html`<span class="faint number" role="status">${found.length ? `${(current % found.length) + 1}/${found.length}` : t("output.not_found")}</span>
        <${Button} kind="quiet small" icon="left" hideLabel label=${t("output.previous")} onClick=${() => step(-1)} />
        <${Button} kind="quiet small" icon="right" hideLabel label=${t("output.next")} onClick=${() => step(1)} />`
      }</div>
      <${CheckField} label=${t("output.times")} value=${hasTimes} onInput=${setHasTimes} />
      ${
        isLive &&
        html`<${CheckField} label=${t("output.follow")} value=${isFollowing} onInput=${setFollowing} />
        <span class="status tone-run"><${Icon} name="play" />${t("output.live")}</span>`
      }
      <a class="button small" href=${address(runPath(run.job_id) + "/output", {attempt})} download=${`${run.task_id ?? "run"}-${run.job_id}.txt`}>
        <${Icon} name="download" />${t("act.download")}</a></div>
    ${output.error && html`<${Problem} error=${output.error} retry=${output.reload} />`}
    ${output.isLoading && html`<${Loading} label=${t("output.loading", {n: lines.length})} />`}
    ${
      lines.length === 0 && !output.isLoading && !output.error
        ? html`<${Empty} text=${t(isLive ? "output.none_yet" : "output.none")} />`
        : html`<div class="lines" ref=${box} tabindex="0" role="log" aria-label=${t("output.title")} aria-live="off"
          onScroll=${(event) => isLive && setFollowing(event.target.scrollHeight - event.target.scrollTop - event.target.clientHeight < 40)}>
        ${blocks.map(
          (block, index) =>
            html`<${Block} key=${index} lines=${block} first=${index * kBlockLines} foundSet=${foundSet} needle=${needle}
              current=${found.length ? found[current % found.length] : -1} hasTimes=${hasTimes} />`,
        )}</div>`
    }</div>`;
}
