// Compare: methods on the same folds, a table to sort, confusions whose cells open the samples, learning curves.
import { ask } from "/static/api.js";
import { el, redraw, say, tile } from "/static/dom.js";
import { html, render } from "/static/htm-preact.js";
import { Job } from "/static/parts.js";

let studio, box, found = null, seen = null, order = { by: "accuracy", down: true }, method = null;

const COLUMNS = [["method", "Method"], ["accuracy", "Accuracy, %"], ["sd", "± sd"], ["mark", "Against the best"], ["fit_s", "Fit, s"], ["predict_s", "Per sample, ms"], ["chosen", "Settings"]];

export function open(shared, panel) {
  studio = shared;
  box = el("div");
  panel.replaceChildren(el("h2", { text: "Compare" }), box);
  seen = null;
  load();
}

export function update() { load(); drawJob(); }

async function load() {
  const key = JSON.stringify(studio.state.done.compare ?? null);
  if (key === seen) return;
  seen = key;
  found = await ask("/api/compare").catch(() => found);
  draw();
}

function start() {
  say("Methods are being compared.");
  ask("/api/start/compare", {}).then(studio.refresh).catch(() => {});
}

function draw() {
  const parts = [el("div", { class: "panel" }, el("p", { text: "Methods on the same folds of the labelled samples, each with settings chosen on its training folds. This takes from seconds to minutes." }), el("div", { id: "job" }))];
  if (found) parts.push(el("ul", {}, ...found.lines.map((line) => el("li", { text: line }))), table(), confusion(), el("div", { id: "samples", "aria-live": "polite" }), curve());
  redraw(box, parts);
  drawJob();
}

function drawJob() {
  const place = document.getElementById("job");
  if (place) render(html`<${Job} studio=${studio} name="compare" idle=${found ? "Compare again" : "Compare methods"} running="Comparing" start=${start} cancel=${() => ask("/api/cancel/compare", {}).then(studio.refresh).catch(() => {})} />`, place);
}

function table() {
  const rows = [...found.records].sort((a, b) => {
    const [x, y] = [a[order.by], b[order.by]];
    const sign = typeof x === "number" && typeof y === "number" ? x - y : String(x ?? "").localeCompare(String(y ?? ""));
    return order.down ? -sign : sign;
  });
  const head = COLUMNS.map(([name, text]) => el("th", { scope: "col", "aria-sort": order.by === name ? (order.down ? "descending" : "ascending") : "none" },
    el("button", { "data-key": `sort ${name}`, text: `${text}${order.by === name ? (order.down ? " ↓" : " ↑") : ""}`, onclick: () => { order = { by: name, down: order.by === name ? !order.down : typeof rows[0][name] === "number" }; draw(); } })));
  const shown = { accuracy: (v) => v.toFixed(2), sd: (v) => (v === null ? "" : v.toFixed(2)), fit_s: (v) => v.toPrecision(2), predict_s: (v) => (1000 * v).toPrecision(2) };
  const body = rows.map((row) => el("tr", {}, ...COLUMNS.map(([name]) => el(name === "method" ? "th" : "td", { scope: name === "method" ? "row" : null, text: String(shown[name] ? shown[name](row[name]) : row[name] ?? ""), class: shown[name] ? "number" : "" }))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of methods" }, el("table", { id: "methods" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body)));
}

function confusion() {
  const names = found.records.map((row) => row.method);
  if (!names.includes(method)) method = names[0];
  const matrix = found.confusion[method], classes = found.classes;
  const select = el("select", { id: "method", "data-key": "method", onchange: (event) => { method = event.target.value; draw(); } }, ...names.map((name) => el("option", { value: name, text: name, selected: name === method })));
  const cells = (truth) => classes.map((_, predicted) => {
    const count = matrix[truth][predicted], right = truth === predicted;
    return el("td", { class: count ? (right ? "right" : "wrong") : "" }, count ? el("button", { "data-key": `cell ${truth} ${predicted}`, text: String(count), "aria-label": `${count} of class ${classes[truth]} answered ${classes[predicted]}`, onclick: () => cell(truth, predicted) }) : null);
  });
  const body = classes.length <= 40
    ? el("table", { class: "confusion", id: "confusion" }, el("thead", {}, el("tr", {}, el("td"), ...classes.map((name) => el("th", { scope: "col", text: name })))), el("tbody", {}, ...classes.map((name, truth) => el("tr", {}, el("th", { scope: "row", text: name }), ...cells(truth)))))
    : el("ul", {}, ...matrix.flatMap((row, truth) => row.map((count, predicted) => ({ truth, predicted, count }))).filter((one) => one.truth !== one.predicted && one.count).sort((a, b) => b.count - a.count).slice(0, 60)
        .map((one) => el("li", {}, el("button", { "data-key": `cell ${one.truth} ${one.predicted}`, text: `${one.count} of ${classes[one.truth]} answered ${classes[one.predicted]}`, onclick: () => cell(one.truth, one.predicted) }))));
  return el("section", {}, el("h3", { text: "Confusion: true class in rows, answer in columns" }), el("div", { class: "row" }, el("label", { for: "method", text: "Method" }), select), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" }, body));
}

async function cell(truth, predicted) {
  const result = await ask(`/api/confused?method=${encodeURIComponent(method)}&truth=${truth}&predicted=${predicted}`).catch(() => null);
  if (!result) return;
  redraw(document.getElementById("samples"), el("h3", { text: `${result.total} of class ${found.classes[truth]} answered ${found.classes[predicted]} by ${method}` }),
    el("ul", { class: "tiles" }, ...result.samples.map((one) => tile(one, el("strong", { text: one.label ?? "" })))));
}

function curve() {
  const entries = Object.entries(found.curves);
  if (!entries.length) return null;
  const width = 560, height = 260, left = 48, bottom = 34;
  const points = entries.flatMap(([, line]) => line);
  const [lowX, highX] = [Math.min(...points.map((p) => p[0])), Math.max(...points.map((p) => p[0]))];
  const [lowY, highY] = [Math.min(...points.map((p) => p[1])) - 1, Math.max(...points.map((p) => p[1])) + 1];
  const x = (value) => left + ((value - lowX) / (highX - lowX || 1)) * (width - left - 120);
  const y = (value) => height - bottom - ((value - lowY) / (highY - lowY || 1)) * (height - bottom - 14);
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const chart = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "curve", role: "img", "aria-label": "Learning curves: accuracy over the number of training samples; the table below has the numbers" });
  chart.append(svg("line", { class: "axis", x1: left, x2: width - 120, y1: height - bottom, y2: height - bottom }), svg("line", { class: "axis", x1: left, x2: left, y1: 10, y2: height - bottom }));
  for (const value of [lowY + 1, highY - 1]) chart.append(svg("text", { x: 4, y: y(value) + 4 }, `${value.toFixed(1)} %`));
  for (const value of [lowX, highX]) chart.append(svg("text", { x: x(value) - 10, y: height - 12 }, String(Math.round(value))));
  const colours = ["var(--accent)", "var(--other)", "var(--good)", "var(--bad)"];
  entries.forEach(([name, line], place) => {
    const colour = colours[place % colours.length];
    const drawn = svg("polyline", { points: line.map(([n, value]) => `${x(n)},${y(value)}`).join(" "), fill: "none", "stroke-width": "2.5" });
    drawn.style.stroke = colour;
    const [lastX, lastY] = line[line.length - 1];
    chart.append(drawn, svg("text", { x: x(lastX) + 8, y: y(lastY) + 4 + 13 * place }, name));
  });
  const rows = entries.flatMap(([name, line]) => line.map(([n, value]) => el("tr", {}, el("th", { scope: "row", text: name }), el("td", { class: "number", text: String(Math.round(n)) }), el("td", { class: "number", text: value.toFixed(2) }))));
  return el("section", {}, el("h3", { text: "Learning curve" }), chart, el("details", {}, el("summary", { text: "Numbers" }), el("table", {}, el("thead", {}, el("tr", {}, ...["Method", "Training samples", "Accuracy, %"].map((text) => el("th", { scope: "col", text })))), el("tbody", {}, ...rows))));
}
