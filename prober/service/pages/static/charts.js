// Draws the figures of an element's data-chart with uPlot; the table below it holds the same.
"use strict";

(() => {
  const DASHES = [[8, 4], [2, 4], [], [12, 3, 2, 3], []];
  const HEIGHT = 320;
  const LEAST_WIDTH = 300;
  const DAY = 86400;

  const shade = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const moment = (seconds) => new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 19);
  const grouped = (figure) => (figure === null ? "" : figure.toLocaleString("en"));

  // Of a tick as much as tells it from the next one.
  function written(ticks, step) {
    return ticks.map((tick) => (step >= DAY ? moment(tick).slice(0, 10) : moment(tick).slice(5, step < 60 ? 19 : 16)));
  }

  function draw(place) {
    const { lines, data } = JSON.parse(place.dataset.chart);
    const axis = { stroke: shade("ink"), grid: { stroke: shade("edge") }, ticks: { stroke: shade("edge") } };
    const series = lines.map(({ label, tone }, line) => ({
      label,
      stroke: shade(tone),
      width: 2,
      dash: DASHES[line % DASHES.length],
      spanGaps: true,
      points: { show: true, size: 6 },
      value: (_, figure) => grouped(figure),
    }));
    return new uPlot(
      {
        width: Math.max(LEAST_WIDTH, place.clientWidth),
        height: HEIGHT,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
        series: [{ label: "Run (UTC)", value: (_, seconds) => (seconds === null ? "" : moment(seconds)) }, ...series],
        axes: [
          { ...axis, space: 120, values: (_, ticks, __, ___, step) => written(ticks, step) },
          { ...axis, size: 90, values: (_, ticks) => ticks.map(grouped) },
        ],
      },
      data,
      place,
    );
  }

  for (const place of document.querySelectorAll("[data-chart]")) {
    let chart = draw(place);
    const again = () => {
      chart.destroy();
      chart = draw(place);
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    addEventListener("resize", () => chart.setSize({ width: Math.max(LEAST_WIDTH, place.clientWidth), height: HEIGHT }));
  }
})();
