// The frame of the page: views, what is known about the data, undo, and news from the server.
import { ask } from "/static/api.js";
import { complain, el, percent, redraw, say } from "/static/dom.js";
import * as audit from "/static/audit.js";
import * as compare from "/static/compare.js";
import * as label from "/static/label.js";
import * as attempt from "/static/try.js";

const views = { try: attempt, label, audit, compare };
const panel = document.getElementById("view");
const tabs = [...document.querySelectorAll("[role=tab]")];
const studio = { state: null, refresh, act };
let shown = null;

async function refresh() {
  studio.state = await ask("/api/state");
  drawFrame();
  if (shown) views[shown].update(studio);
}

// An action, told to the server and shown when it is on disk.
async function act(action, message) {
  const after = await ask("/api/act", action);
  say(message || "Saved.");
  Object.assign(studio.state, after);
  drawFrame();
  return after;
}

function drawFrame() {
  const state = studio.state;
  document.title = `${state.name} · ancr studio`;
  document.getElementById("name").textContent = state.name;
  document.getElementById("undo").disabled = !state.can_undo;
  const accuracy = state.estimate
    ? `Accuracy ${percent(state.estimate.accuracy)} by leave-one-out on ${state.estimate.n}`
    : "No accuracy yet";
  redraw(document.getElementById("facts"),
    el("div", { text: `${state.labelled} labelled, ${state.waiting} waiting${state.held_out ? `, ${state.held_out} held out` : ""}` }),
    el("div", { id: "accuracy" }, accuracy,
      el("span", { class: state.estimate && !state.estimate.current ? "" : "unseen", text: " (updating)" })));
  redraw(document.getElementById("foot"),
    ...state.notes.map((note) => el("p", { text: note })),
    el("p", { text: `What you do is kept in ${state.journal}` }),
    ...Object.values(state.problems).map((problem) => el("p", { text: `In the background: ${problem}` })));
}

function show(name, focus) {
  shown = name in views ? name : "try";
  for (const tab of tabs) {
    const selected = tab.dataset.view === shown;
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
    if (selected && focus) tab.focus();
  }
  panel.setAttribute("aria-labelledby", `tab-${shown}`);
  complain("");
  views[shown].open(studio, panel);
}

for (const tab of tabs) tab.addEventListener("click", () => { location.hash = tab.dataset.view; });

document.getElementById("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || !studio.state) return;
  event.preventDefault();
  const place = tabs.findIndex((tab) => tab.dataset.view === shown);
  const next = tabs[(place + step + tabs.length) % tabs.length];
  history.replaceState(null, "", `#${next.dataset.view}`);
  show(next.dataset.view, true);
});

window.addEventListener("hashchange", () => { if (studio.state) show(location.hash.slice(1), false); });

async function undo() {
  if (!studio.state.can_undo) return;
  const after = await act({ do: "undo" }, "Undone.");
  await refresh();
  views[shown].undone?.(studio, after);
}
studio.undo = undo;
document.getElementById("undo").addEventListener("click", () => undo().catch(() => {}));
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.target.matches("input, textarea")) {
    event.preventDefault();
    undo().catch(() => {});
  }
});

// News: another tab did something, or the background has found something.
function listen() {
  const events = new EventSource("/api/events");
  let timer = null;
  events.onmessage = (event) => {
    if (studio.state && Number(event.data) === studio.state.serial) return;
    clearTimeout(timer);
    timer = setTimeout(() => refresh().catch(() => {}), 60);
  };
  events.onerror = () => { if (events.readyState === EventSource.CLOSED) complain("The studio does not answer. Is it still running in the terminal?"); };
  events.onopen = () => complain("");
}

refresh().then(() => { show(location.hash.slice(1), false); listen(); }).catch(() => {});
