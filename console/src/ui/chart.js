// Charts, drawn by uPlot. A chart is an image with a name; its newest values are its text.
import {html, useEffect, useRef} from "../lib/html.js";
import {useStore} from "../lib/store.js";
import {darkness} from "../lib/theme.js";
import {language, t} from "../lib/i18n.js";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const kShortestSpan = 300; // seconds
const kWholeSteps = Array.from({length: 10}, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

function optionsOf({series, format, axisFormat, isWhole, width, height, stepped, bars, paths}) {
  const axis = {
    stroke: color("--ink-2"),
    grid: {stroke: color("--line"), width: 1},
    ticks: {show: false},
    font: `11px ${color("--font")}`,
  };
  const dateOf = (time) => new Date(time * 1000);
  const clock = (time) =>
    `${String(dateOf(time).getHours()).padStart(2, "0")}:${String(dateOf(time).getMinutes()).padStart(2, "0")}`;
  const day = (time) => `${dateOf(time).getMonth() + 1}-${dateOf(time).getDate()}`;
  const values = (plot, splits) =>
    splits.map((time, index) =>
      index > 0 && day(time) === day(splits[index - 1])
        ? clock(time)
        : splits.at(-1) - splits[0] > 86400
          ? day(time)
          : clock(time),
    );
  return {
    width,
    height,
    padding: [8, 18, 0, 0],
    legend: {show: true, live: true},
    cursor: {points: {size: 6}, drag: {x: false, y: false}},
    scales: {
      x: {range: (plot, low, high) => [Math.min(low, high - kShortestSpan), high]},
      y: {range: (plot, low, high) => [0, Math.max(high * 1.08, 1)]},
    },
    axes: [
      {...axis, values, space: 60, size: 28},
      {...axis, size: 56, incrs: isWhole ? kWholeSteps : undefined, values: (plot, splits) => splits.map((value) => axisFormat(value))},
    ],
    series: [
      {label: t("chart.time"), value: (plot, time) => (time ? `${day(time)} ${clock(time)}` : "–")},
      ...series.map((one) => ({
        label: one.label,
        stroke: color(one.color),
        width: 1.6,
        dash: one.dash,
        fill: one.fill ? color(one.fill) : undefined,
        // A line of one point cannot be seen.
        points: {show: (plot) => !bars && plot.data[0].length === 1, size: 6},
        value: (plot, value) => (value === null || value === undefined ? "–" : format(value)),
        paths: bars ? paths.bars({size: [0.8, 40]}) : stepped ? paths.stepped({align: 1}) : undefined,
      })),
    ],
  };
}

/// times: seconds; series: [{label, values, color, dash, fill}]. isWhole: the values are counts.
export function Chart({label, times, series, format = String, axisFormat = format, isWhole = false, height = 170, stepped = false, bars = false}) {
  const box = useRef(null);
  const plot = useRef(null);
  const isDark = useStore(darkness);
  const spoken = useStore(language);
  const data = [times, ...series.map((one) => one.values)];
  const shape = series.map((one) => one.label).join() + isDark + spoken + height + stepped + bars;

  useEffect(() => {
    let isGone = false;
    let observer = null;
    import("../../vendor/uplot.js").then(({default: UPlot}) => {
      if (isGone || !box.current) return;
      const width = box.current.clientWidth || 400;
      plot.current = new UPlot(
        optionsOf({series, format, axisFormat, isWhole, width, height, stepped, bars, paths: UPlot.paths}),
        data,
        box.current,
      );
      // Without a pointer, the legend has the newest values.
      const showNewest = () => plot.current?.setLegend({idx: plot.current.data[0].length - 1}, false);
      plot.current.over.addEventListener("mouseleave", () => setTimeout(showNewest));
      setTimeout(showNewest);
      observer = new ResizeObserver(
        () => box.current && plot.current?.setSize({width: box.current.clientWidth, height}),
      );
      observer.observe(box.current);
    });
    return () => {
      isGone = true;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    if (!plot.current) return;
    plot.current.setData(data);
    if ((plot.current.cursor.left ?? -1) < 0) setTimeout(() => plot.current?.setLegend({idx: times.length - 1}, false));
  }, [JSON.stringify(data)]);

  const newest = series
    .map((one) => `${one.label} ${one.values.length ? format(one.values.at(-1) ?? 0) : "–"}`)
    .join(", ");
  return html`<div class="chart" role="img" aria-label=${`${label}: ${newest}`} ref=${box}></div>`;
}
