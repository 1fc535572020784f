// The frame of the page: views, what is known about the data, undo, and news from the server.
import { ask, keepTo, tab, upload } from "/static/api.js";
import { html, render } from "/static/htm-preact.js";
import { isOlder, merged } from "/static/logic.js";
import { complain, count, percent, say } from "/static/parts.js";
import * as audit from "/static/audit.js";
import * as browse from "/static/browse.js";
import * as compare from "/static/compare.js";
import * as label from "/static/label.js";
import * as map from "/static/map.js";
import * as open from "/static/open.js";
import * as attempt from "/static/try.js";
import * as viewer from "/static/viewer.js";

const views = { open, try: attempt, label, browse, map, audit, compare };
const panel = document.getElementById("view");
const tabs = [...document.querySelectorAll("[role=tab]")];
const studio = { state: null, refresh, act, attempt: attempt.pick, redraw: () => views[shown].redraw?.() };
viewer.setUp(studio);
let shown = null;

// Actions that are on their way, and how many have been answered.
let underway = Promise.resolve(), answered = 0;

// News that came while there was nothing yet to change with them.
let early = null;

async function refresh() {
  let before, state;
  // What was said before an action, or before the last news, may arrive after it.
  do { before = answered; early = null; state = await ask("/api/state"); } while (before !== answered || isOlder(state, studio.state) || isOlder(state, early));
  studio.state = state;
  keepTo(studio.state.start);
  drawFrame();
  if (shown) views[shown].update(studio, { more: true, guessed: studio.state.guessed });
  viewer.update({ more: true });
}

// An action, told to the server and shown when it is on disk.
function act(action, message) {
  const done = carryOut(action, message);
  underway = Promise.allSettled([underway, done]);
  return done;
}

async function carryOut(action, message) {
  const { next, refused, can_undo, serial, ...fields } = await ask("/api/act", action).finally(() => { answered += 1; });
  say(message || "Saved.");
  // News that came before this answer may be newer than it; what this tab can undo is said here alone.
  const isLate = isOlder({ serial }, studio.state);
  Object.assign(studio.state, { can_undo }, isLate ? {} : fields);
  drawFrame();
  return { next, refused, isLate };
}

function drawFrame() {
  const state = studio.state;
  document.title = `${state.name} · ancr studio`;
  document.getElementById("name").textContent = document.getElementById("name").title = state.name;
  document.body.classList.toggle("files", state.has_files);
  document.getElementById("undo").disabled = !state.can_undo;
  for (const link of document.querySelectorAll("#more [data-only]")) link.hidden = !(link.dataset.only === "images" ? state.has_files : "audit" in state.done);
  render(html`<div>${count(state.labelled)} labelled, ${count(state.waiting)} waiting${state.held_out ? `, ${count(state.held_out)} held out` : ""}</div>
    <div id="accuracy">${state.estimate ? `Accuracy ${percent(state.estimate.accuracy)} by leave-one-out on ${count(state.estimate.n)}` : "No accuracy yet"}<span class=${state.estimate && !state.estimate.current ? "" : "unseen"}> (updating)</span></div>`, document.getElementById("facts"));
  render(html`${state.notes.map((note) => html`<p>${note}</p>`)}<p>What you do is kept in ${state.journal}</p>
    ${Object.values(state.problems).map((problem) => html`<p class="problem">In the background: ${problem}</p>`)}`, document.getElementById("foot"));
}

function show(name, focus) {
  if (shown) views[shown].close?.();
  shown = name in views ? name : "try";
  for (const one of tabs) {
    const selected = one.dataset.view === shown;
    one.setAttribute("aria-selected", String(selected));
    one.tabIndex = selected ? 0 : -1;
    if (selected && focus) one.focus();
  }
  panel.setAttribute("aria-labelledby", `tab-${shown}`);
  complain(lost ? SILENT[lost] : "");  // what is so in every view stays
  views[shown].open(studio, panel);
}

for (const one of tabs) one.addEventListener("click", () => { location.hash = one.dataset.view; });

document.getElementById("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || !studio.state) return;
  event.preventDefault();
  const place = tabs.findIndex((one) => one.dataset.view === shown);
  const next = tabs[(place + step + tabs.length) % tabs.length];
  history.replaceState(null, "", `#${next.dataset.view}`);
  show(next.dataset.view, true);
});

window.addEventListener("hashchange", () => { if (studio.state) show(location.hash.slice(1), false); });

// Whether there is something to undo is known when what was done before is answered: news of it may come before that.
function undo() {
  const done = underway.then(takeBack);
  underway = Promise.allSettled([done]);
  return done;
}

async function takeBack() {
  if (!studio.state.can_undo) return;
  const after = await act({ do: "undo" }, "Undone.");
  await refresh();
  views[shown].undone?.(studio, after);
}
studio.undo = undo;
document.getElementById("undo").addEventListener("click", () => undo().catch(() => {}));
const more = document.getElementById("more");
document.addEventListener("click", (event) => { if (!more.contains(event.target) || event.target.matches("a")) more.open = false; });
more.addEventListener("keydown", (event) => { if (event.key === "Escape") { more.open = false; more.querySelector("summary").focus(); } });
document.getElementById("import").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  event.target.value = "";
  if (!file) return;
  const after = await upload("/api/import/label-studio", new Blob([file])).catch(() => null);
  if (!after) return;
  more.open = false;
  say(after.refused.length ? `Labels were imported; ${after.refused.length} were refused: ${after.refused[0]}` : "Labels were imported.");
  if (after.refused.length) complain(`${after.refused.length} labels were not imported: ${after.refused[0]}`);
  refresh().catch(() => {});
});
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.target.matches("input, textarea")) {
    event.preventDefault();
    undo().catch(() => {});
  }
});

// A file that is dropped anywhere is one to open; left to the browser, it would take the place of this page.
const carries = (event) => event.dataTransfer?.types.includes("Files");
document.addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
document.addEventListener("drop", (event) => {
  if (event.defaultPrevented || !carries(event)) return;
  event.preventDefault();
  open.dropped(event.dataTransfer);
  if (shown !== "open") location.hash = "open";
});

// News: another tab did something, or the background has found something.
const SILENT = { silent: "The studio does not answer. Is it still running in the terminal?", closed: "The studio has ended, or was started anew: open the address that the terminal shows." };
let lost = false;

// Other data was opened. Nothing of the data before may stay in the page, so that it is loaded anew.
function follow() {
  if (!sessionStorage.getItem("opening")) sessionStorage.setItem("followed", "yes");
  studio.isLeaving = true;
  location.reload();
}

function arrived() {
  const [own, followed] = ["opening", "followed"].map((name) => { const is = sessionStorage.getItem(name); sessionStorage.removeItem(name); return is; });
  if (own) history.replaceState(null, "", studio.state.waiting ? "#label" : "#browse");
  if (!followed) return;
  render(html`<p>Another tab has opened ${studio.state.name}, so this tab shows it, too. What you did before is kept. <button onClick=${() => render(null, document.getElementById("told"))}>Close</button></p>`, document.getElementById("told"));
}

function hear({ news, lost: now }) {
  if (news && !studio.state) early = news;
  else if (news) {
    const state = merged(studio.state, news);
    if (state === null) { follow(); return; }
    studio.state = state;
    drawFrame();
    if (shown) views[shown].update(studio, news);
    viewer.update(news);
  } else if (now !== undefined) {
    if (now || lost) complain(now ? SILENT[now] : "");
    lost = now;
  }
}

function listen() {
  if (window.SharedWorker) {
    const { port } = new SharedWorker("/static/events.js", { name: "events" });
    port.onmessage = (event) => hear(event.data);
    window.addEventListener("pagehide", () => port.postMessage("leave"));
  } else {
    const source = new EventSource("/api/events");
    source.onmessage = (event) => hear({ news: JSON.parse(event.data) });
    source.onopen = () => hear({ lost: false });
    source.onerror = () => hear({ lost: source.readyState === EventSource.CLOSED ? "closed" : "silent" });
  }
  // Another tab may have the sample that is shown here.
  window.addEventListener("pagehide", () => navigator.sendBeacon("/api/leave", new Blob([JSON.stringify({ tab })], { type: "application/json" })));
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}

listen();
refresh().then(() => { arrived(); show(location.hash.slice(1) || (studio.state.asks_label ? "open" : ""), false); }).catch(() => {});
