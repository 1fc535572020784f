// Map: all samples in two dimensions; colour says the label, the guess or how suspicious a label is. A lasso selects.
import { ask, latest } from "/static/api.js";
import { Grid } from "/static/grid.js";
import { html, render, useLayoutEffect, useRef } from "/static/htm-preact.js";
import { kindOf } from "/static/logic.js";
import { Empty, Known, Picture, count, say } from "/static/parts.js";
import { byDistance, cardEdge, fitted, inside, lookOf, nearest, neighbour, paint, radiusOf, shifted, showing, stamp, toScreen, zoomed } from "/static/plane.js";
import { keeper } from "/static/samples.js";
import { SelectionBar, keepTo, select, selected } from "/static/selection.js";
import { openViewer } from "/static/viewer.js";

const TIP = 15;  // rem that the card about a point is high at most
const LAYOUTS = [["pca", "main directions (PCA)"], ["tsne", "neighbourhoods (t-SNE)"]];
const COLOURS = [["label", "label"], ["guess", "guess"], ["doubt", "suspicion"]];
const STEPS = { PageDown: 1, PageUp: -1, Home: -Infinity, End: Infinity };  // in the order of the data: every point is reached
const NEAR = 14, STEP = 1.4, LISTED = 40, COARSE = 20000;

let studio, root = null, problem = false, layout = "pca", by = "label", only = "", moves = false;
let points = null, colours = null, view = null, isFitted = true, at = 0, over = -1, lasso = null, drag = null, hasKeyboard = false;
let box = null, canvas = null, overlay = null, frame = 0, isOld = true;
const tips = keeper(() => points.start, () => draw(false)), listed = keeper(() => points.start, () => draw(false));

export function open(shared, panel) {
  studio = shared;
  root = panel;
  keepTo(studio.state);
  if (points?.start !== studio.state.start) reset();
  draw();
  if (!points) findPlaces();
  findColours();
}

export function close() {
  const left = root;
  root = null;  // first: what loses the focus as it goes would be drawn again
  render(null, left);
  over = -1;
}

export function redraw() { draw(); }

function reset() {
  points = colours = view = null;
  layout = "pca";
  isFitted = true;
  at = 0;
  tips.forget();
  listed.forget();
}

export function update(shared, news = {}) {
  if (!root) return;
  if (points && points.start !== studio.state.start) { keepTo(studio.state); reset(); findPlaces(); findColours(); return; }
  if (points && tips.hear(news)) tips.load([shown()]);
  if (points && listed.hear(news)) needListed(...window_);
  const later = { guess: "guessed" in news, doubt: "done" in news }[by];
  if (news.more || later) findColours();
  else follow(news.touched || []);
  if (layout === "tsne" && points?.layout !== "tsne" && "layout" in studio.state.done && !studio.state.busy.layout) findPlaces();
  draw();
}

// A label that was given, here or in another tab, colours its sample at once.
function follow(touched) {
  if (!colours || colours.by === "doubt") return;
  for (const one of touched) {
    const label = colours.by === "label" && !one.excluded ? one.label : null;
    if (colours.by === "guess" && one.label === null) continue;
    if (label !== null && !colours.names.includes(label)) colours.names.push(label);
    colours.codes[one.number - 1] = label === null ? -1 : colours.names.indexOf(label);
  }
}

const findPlaces = latest(async () => {
  const wanted = layout, found = await ask(`/api/map?layout=${wanted}`).catch(() => null);
  problem = !found;
  if (found && root) {
    points = { x: Float32Array.from(found.x), y: Float32Array.from(found.y), chosen: new Uint8Array(found.x.length), closed: new Set(found.closed), laidOut: found.laid_out, start: found.start, layout: wanted };
    at = Math.min(at, points.x.length - 1);
    isFitted = true;
    fit();
    tips.load([at]);
  }
  draw();
});

const findColours = latest(async () => {
  const wanted = by, found = await ask(`/api/map/colours?by=${wanted}`).catch(() => null);
  if (!found || !root || wanted !== by) return;
  colours = { names: found.names, codes: Int16Array.from(found.codes), start: found.start, by: wanted };
  draw();
});

function choose(wanted) {
  layout = wanted;
  if (layout === "tsne" && !("layout" in studio.state.done)) { say("Neighbourhoods are being worked out."); ask("/api/start/layout", {}).then(studio.refresh).catch(() => {}); }
  else findPlaces();
  draw();
}

function cancel() {
  layout = "pca";
  ask("/api/cancel/layout", {}).then(studio.refresh).catch(() => {});
  findPlaces();
}

// The window on the plane.
function fit() {
  if (box && points) view = fitted(points, box.clientWidth, box.clientHeight);
}

function look(next) { view = next; isFitted = false; draw(); }
const zoom = (factor, place) => view && look(zoomed(view, factor, place));
function whole() { isFitted = true; fit(); draw(); }

function measure() {
  if (!box?.clientWidth || !points) return;
  if (isFitted || !view) fit();
  else view = { ...view, width: box.clientWidth, height: box.clientHeight };
  draw();
}

// Colours of the page, as numbers.
function theme() {
  const style = getComputedStyle(document.documentElement), brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const read = (name) => {
    brush.fillStyle = style.getPropertyValue(name).trim();
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  return { ground: read("--sunken"), none: read("--point"), text: read("--text"), warn: read("--warn"), focus: style.getPropertyValue("--focus").trim(), accent: style.getPropertyValue("--accent").trim(), classes: Array.from({ length: 10 }, (_, i) => read(`--class-${i}`)) };
}

function marksOf({ none, classes, warn }, radius) {
  const round = stamp("circle", radius), small = stamp("circle", Math.max(1.5, 0.75 * radius)), blank = { stamp: small, colour: none };
  if (colours.by === "doubt") return [blank, ...Array.from({ length: 101 }, (_, i) => ({ stamp: round, colour: none.map((from, k) => Math.round(from + (warn[k] - from) * Math.min(1, 0.25 + i / 100))) }))];
  return [blank, ...colours.names.map((_, code) => { const { colour, shape } = lookOf(code); return { stamp: stamp(shape, 1.1 * radius), colour: classes[colour] }; })];
}

function drawPoints() {
  frame = 0;
  if (!canvas || !points || !view || colours?.start !== points.start) return;
  if (!isOld) { drawOverlay(); return; }
  isOld = false;
  const fine = points.x.length > COARSE ? 1 : Math.min(2, devicePixelRatio || 1), width = Math.round(view.width * fine), height = Math.round(view.height * fine);
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  const now = theme(), radius = fine * radiusOf(points.x.length), image = new ImageData(width, height);
  const codes = colours.by === "doubt" || only === "" ? colours.codes : colours.codes.map((code) => (colours.names[code] === only ? code : -1));
  points.chosen.fill(0);
  for (const number of selected) points.chosen[number] = 1;
  paint({ pixels: new Uint32Array(image.data.buffer), width, height }, { ...points, codes }, { ...view, scale: fine * view.scale }, { marks: marksOf(now, radius), halo: { stamp: stamp("circle", radius + 1.5 * fine), colour: now.text }, ground: now.ground });
  canvas.getContext("2d").putImageData(image, 0, 0);
  drawOverlay(now);
}

// What follows the pointer and the keys is on a canvas of its own, so that the points stay.
function drawOverlay(now = theme()) {
  const fine = Math.min(2, devicePixelRatio || 1);
  overlay.width = Math.round(view.width * fine);
  overlay.height = Math.round(view.height * fine);
  const brush = overlay.getContext("2d");
  brush.scale(fine, fine);
  const ring = (number, colour) => {
    const [px, py] = toScreen(view, points.x[number], points.y[number]);
    brush.beginPath();
    brush.arc(px, py, radiusOf(points.x.length) + 5, 0, 2 * Math.PI);
    brush.strokeStyle = colour;
    brush.lineWidth = 3;
    brush.stroke();
  };
  if (hasKeyboard) ring(at, now.focus);
  if (over >= 0) ring(over, now.accent);
  if (!lasso) return;
  brush.beginPath();
  lasso.forEach(([px, py]) => brush.lineTo(px, py));
  brush.closePath();
  brush.strokeStyle = now.accent;
  brush.lineWidth = 2;
  brush.stroke();
  brush.globalAlpha = 0.12;
  brush.fillStyle = now.accent;
  brush.fill();
}

// Pointer: a click opens, a drag draws a lasso or moves the plane.
const placeOf = (event) => { const { left, top } = box.getBoundingClientRect(); return [event.clientX - left, event.clientY - top]; };

function press(event) {
  if (event.button > 1 || !points) return;
  const place = placeOf(event);
  box.setPointerCapture(event.pointerId);
  drag = { from: place, last: place, moves: moves || event.button === 1 };
  if (!drag.moves) lasso = [place];
}

function move(event) {
  if (!points || !view) return;
  const place = placeOf(event);
  if (!drag) { hover(nearest(points, view, place, NEAR)); return; }
  if (drag.moves) look(shifted(view, place[0] - drag.last[0], place[1] - drag.last[1]));
  else if (Math.hypot(place[0] - drag.last[0], place[1] - drag.last[1]) < 3) return;
  else { lasso.push(place); over = -1; drawOverlay(); }
  drag.last = place;
}

function release(event) {
  if (!drag) return;
  const { from } = drag, corners = lasso, place = placeOf(event), far = Math.hypot(place[0] - from[0], place[1] - from[1]) > 4 || corners?.length > 2;
  drag = lasso = null;
  if (corners && far) take(inside(points, view, corners), event);
  else if (!far) {
    const number = nearest(points, view, place, NEAR);
    if (number >= 0) { at = number; if (event.ctrlKey || event.metaKey || event.shiftKey) select([number], !selected.has(number)); else openAt(number); }
  }
  draw();
}

// What is held out cannot be labelled, so it is not taken along.
function take(numbers, { shiftKey, altKey }) {
  if (!shiftKey && !altKey) selected.clear();
  select(numbers.filter((number) => !points.closed.has(number)), !altKey);
  say(`${count(selected.size)} samples are selected.`);
}

function hover(number) {
  if (number === over) return;
  over = number;
  if (over >= 0) tips.load([over]);
  draw(false);
}

function openAt(number) {
  const order = byDistance(points, number);
  openViewer({ count: order.length, sample: (place) => tips.promised(order[place]) }, 0);
}

// Keyboard: arrows go to the nearest point in their direction.
function key(event) {
  if (!points || event.altKey) return;
  const held = event.ctrlKey || event.metaKey;
  if (event.key.startsWith("Arrow") && !held) go(neighbour(points, at, event.key), event.shiftKey);
  else if (event.key in STEPS) go(Math.min(points.x.length - 1, Math.max(0, at + STEPS[event.key])), false);
  else if (event.key === "Enter") openAt(at);
  else if (event.key === " ") { select([at], !selected.has(at)); say(selected.has(at) ? "Selected." : "Not selected."); }
  else if (held && event.key === "a") take([...points.x.keys()], {});
  else if (event.key === "Escape") take([], {});
  else if (event.key === "+" || event.key === "=") zoom(STEP, toScreen(view, points.x[at], points.y[at]));
  else if (event.key === "-") zoom(1 / STEP, toScreen(view, points.x[at], points.y[at]));
  else if (event.key === "0") whole();
  else if (event.key === "/" && selected.size) document.getElementById("many-class").focus();
  else return;
  event.preventDefault();
  draw();
}

function go(number, selects) {
  if (selects) select([at, number], true);
  at = number;
  over = -1;
  hasKeyboard = true;
  const [px, py] = toScreen(view, points.x[at], points.y[at]);
  if (px < 0 || py < 0 || px > view.width || py > view.height) isFitted = false;
  view = showing(view, px, py);
  tips.load([at]);
}

const shown = () => (over >= 0 ? over : at);

function wheel(event) {
  if (!view || !(event.ctrlKey || document.activeElement === box)) return;
  event.preventDefault();
  zoom(Math.exp(-event.deltaY / 400), placeOf(event));
}

// The sample under the pointer or the keyboard's cursor. It is the option of a list that the arrows walk through.
function Tip() {
  const number = shown(), one = tips.at(number), isSeen = over >= 0 || hasKeyboard;
  const [px, py] = view ? toScreen(view, points.x[number], points.y[number]) : [0, 0], width = view?.width ?? 0, height = view?.height ?? 0;
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const side = { [px > width / 2 ? "right" : "left"]: `${cardEdge(px, width, 0.6 * width)}px`, [py > height / 2 ? "bottom" : "top"]: `${cardEdge(py, height, TIP * rem)}px` };
  return html`<div role="option" id=${`map-${number}`} key=${number} class=${`tip ${isSeen && !lasso ? "" : "unread"}`} style=${isSeen ? side : null} aria-selected=${String(selected.has(number))} aria-setsize=${points.x.length} aria-posinset=${number + 1}>
    ${one ? html`<div class="face"><${Picture} sample=${one} named=${false} /></div><span class="name">${one.name}</span><span class="known"><${Known} sample=${one} /></span>` : html`<span class="quiet">One moment</span>`}</div>`;
}

function Plane() {
  const outer = useRef(null), below = useRef(null), above = useRef(null);
  useLayoutEffect(() => {
    [box, canvas, overlay] = [outer.current, below.current, above.current];
    const watch = new ResizeObserver(measure), scheme = matchMedia("(prefers-color-scheme: dark)");
    watch.observe(box);
    scheme.addEventListener("change", draw);
    box.addEventListener("wheel", wheel, { passive: false });
    return () => { watch.disconnect(); scheme.removeEventListener("change", draw); box = canvas = overlay = null; };
  }, []);
  const leave = () => { if (!drag) hover(-1); };
  const focus = () => { hasKeyboard = box.matches(":focus-visible"); draw(); }, blur = () => { hasKeyboard = false; draw(); };
  return html`<div ref=${outer} id="plane" class=${`plane ${moves ? "moves" : ""}`} tabindex="0" role="listbox" aria-multiselectable="true" aria-label="Samples on the map" aria-describedby="map-keys" aria-activedescendant=${`map-${shown()}`}
    onKeyDown=${key} onPointerDown=${press} onPointerMove=${move} onPointerUp=${release} onPointerCancel=${() => { drag = lasso = null; draw(); }} onPointerLeave=${leave} onFocus=${focus} onBlur=${blur}>
    <canvas ref=${below} aria-hidden="true"></canvas><canvas ref=${above} aria-hidden="true"></canvas><${Tip} /></div>`;
}

function Controls() {
  const pick = (id, title, value, options, take) => html`<div class=${`field ${id}`}><label for=${id}>${title}</label><select id=${id} value=${value} onChange=${(event) => take(event.target.value)}>${options.map(([one, text]) => html`<option key=${one} value=${one}>${text}</option>`)}</select></div>`;
  const tool = (wanted, text) => html`<button type="button" aria-pressed=${String(moves === wanted)} onClick=${() => { moves = wanted; draw(); }}>${text}</button>`;
  return html`<form class="filters" onSubmit=${(event) => event.preventDefault()}>
    ${pick("map-layout", "Arranged by", layout, LAYOUTS, choose)}
    ${pick("map-colour", "Coloured by", by, COLOURS, (value) => { by = value; only = ""; findColours(); draw(); })}
    ${by !== "doubt" && pick("map-only", "Show", only, [["", "all classes"], ...studio.state.classes.map((one) => [one.label, one.label])], (value) => { only = value; draw(); })}
    <div class="row" role="group" aria-label="What a drag does">${tool(false, "Lasso")}${tool(true, "Move")}</div>
    <div class="row" role="group" aria-label="Zoom"><button type="button" aria-label="Zoom in" onClick=${() => zoom(STEP)}>+</button><button type="button" aria-label="Zoom out" onClick=${() => zoom(1 / STEP)}>−</button><button type="button" onClick=${whole}>Fit</button></div></form>`;
}

function Progress() {
  const { busy, progress, problems } = studio.state, far = progress.layout;
  if (busy.layout) return html`<div class="row" role="group" aria-label="Neighbourhoods are being worked out"><span class="busy">Working out neighbourhoods</span>
    ${far && html`<progress aria-label="Neighbourhoods" value=${far.done} max=${far.total}></progress>`}<button data-key="cancel" onClick=${cancel}>Cancel</button></div>`;
  return problems.layout ? html`<p class="problem">${problems.layout}</p>` : null;
}

const Mark = ({ code }) => {
  const { colour, shape } = lookOf(code), d = { circle: "M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10z", square: "M1.5 1.5h9v9h-9z", diamond: "M6 .5l5.5 5.5l-5.5 5.5l-5.5-5.5z", triangle: "M6 .5l5.5 10.5h-11z" }[shape];
  return html`<svg class=${`mark class-${colour}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><path d=${d} /></svg>`;
};

function Legend() {
  if (!colours) return null;
  const n = new Map();
  for (const code of colours.codes) n.set(code, (n.get(code) || 0) + 1);
  if (colours.by === "doubt") {
    const doubted = points.x.length - (n.get(-1) || 0);
    return html`<p class="quiet">${doubted ? `${count(doubted)} labels are suspicious: the stronger the colour, the more.` : "Nothing is suspicious yet: audit the labels first."}</p>`;
  }
  const codes = colours.names.map((_, code) => code).filter((code) => n.has(code)), held = colours.by === "label" ? points.closed.size : 0, none = (n.get(-1) || 0) - held;
  const blank = (text, number) => number > 0 && html`<li key=${text}><svg class="mark none" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><circle cx="6" cy="6" r="3.5" /></svg>${text} <span class="quiet">${count(number)}</span></li>`;
  return html`<ul class="legend">${codes.slice(0, LISTED).map((code) => html`<li key=${code}><${Mark} code=${code} />${colours.names[code]} <span class="quiet">${count(n.get(code))}</span></li>`)}
    ${blank(colours.by === "label" ? "no label" : "no guess", none)}${blank("held out", held)}</ul>
    ${codes.length > LISTED && html`<p class="quiet">and ${count(codes.length - LISTED)} other classes</p>`}`;
}

let numbers = [], window_ = [0, 0];
const needListed = (first, last) => { window_ = [first, last]; if (points) listed.load(numbers.slice(first, last)); };

function Chosen() {
  numbers = [...selected].sort((a, b) => a - b);
  if (!numbers.length) return html`<p class="quiet">Draw around points to select them, then give them all one label.</p>`;
  return html`<${SelectionBar} studio=${studio} /><${Grid} id="chosen" label="Selected samples" count=${numbers.length} sample=${(place) => listed.at(numbers[place])} need=${needListed} stamp=${numbers.length} kind=${kindOf(studio.state)}
    isSelected=${(place) => selected.has(numbers[place])} select=${(places, wanted) => { select(places.map((place) => numbers[place]), wanted); draw(); }}
    open=${(place) => openViewer({ count: numbers.length, sample: (one) => listed.promised(numbers[one]) }, place)} />`;
}

function Body() {
  if (problem && !points) return html`<${Empty} title="The map could not be drawn."><button onClick=${() => findPlaces()}>Try again</button><//>`;
  if (!points) return html`<p class="quiet busy">One moment</p>`;
  const some = points.laidOut < points.x.length ? ` ${count(points.laidOut)} of ${count(points.x.length)} samples were arranged; each other one lies beside those that it is most like.` : "";
  return html`<div class="columns map"><div><${Plane} />
      <p class="quiet keys" id="map-keys">Samples that are alike lie near each other.${some} A click opens, a drag selects, with <kbd>Shift</kbd> more, with <kbd>Alt</kbd> fewer. Arrows go to the next point, <kbd>Page Down</kbd> to the next sample, <kbd>Space</kbd> selects, <kbd>Enter</kbd> opens, <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> zoom, <kbd>/</kbd> types a class for what is selected.</p></div>
    <div><section aria-label="Colours"><${Legend} /></section><section aria-label="Selected"><h3>Selected</h3><${Chosen} /></section></div></div>`;
}

// Without a change of points, only what lies over them is drawn anew.
function draw(repaint = true) {
  if (!root) return;
  isOld ||= Boolean(repaint);
  render(html`<h2>Map</h2><${Controls} /><${Progress} /><${Body} />`, root);
  if (!frame) frame = requestAnimationFrame(drawPoints);
}
