// One grid for all lists of samples: it draws only the rows that are seen, has one tab stop, and is used by keyboard.
//
// Arrows, Home, End and Page keys move; with Shift they select; the space bar selects one, Ctrl+A all, Escape none; Enter
// opens. As tiles it is a listbox, as a table a grid with sortable columns.
import { html, useEffect, useLayoutEffect, useRef, useState } from "/static/htm-preact.js";
import { leastWidth, moved, seenRows } from "/static/logic.js";
import { Known, Picture } from "/static/parts.js";

const GAP = 10, LINE = 40;

// id, label: of the element; count: samples; sample(place): one, or undefined while it is not there; need(first, last):
// asks for some, again whenever stamp changes; isSelected(place), select(places, wanted): what is selected; open(place):
// Enter or a click; follow(place): the cursor moved; picks: a click selects rather than opens; kind: "picture", "text" or "row"; columns: those of a table, or null for tiles.
export function Grid(props) {
  const { id, label, count, sample, need, isSelected, select, open, picks, kind, columns, note, follow, stamp } = props;
  const box = useRef(null), anchor = useRef(0);
  const [view, setView] = useState({ top: 0, width: 600, height: 400 });
  const [cursor, setCursor] = useState(0);
  const shape = shaped(kind, columns, view.width), at = Math.min(cursor, count - 1);
  const rows = Math.ceil(count / shape.columns);
  const { first, last } = seenRows({ top: view.top, height: view.height, rowHeight: shape.row, rows });
  const from = first * shape.columns, to = Math.min(count, last * shape.columns);

  useLayoutEffect(() => {
    if (!box.current) return undefined;  // nothing to show
    const measure = () => {
      if (!box.current?.clientWidth) return;
      setView((old) => ({ ...old, top: box.current.scrollTop, width: box.current.clientWidth, height: box.current.clientHeight }));
    };
    const watch = new ResizeObserver(measure);
    watch.observe(box.current);
    measure();
    return () => watch.disconnect();
  }, [count > 0]);
  useEffect(() => { if (need && to > from) need(from, to); }, [from, to, count, need, stamp]);

  const show = (place) => {
    const top = Math.floor(place / shape.columns) * shape.row, bottom = top + shape.row, node = box.current;
    const head = columns ? LINE : 0;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (bottom + head > node.scrollTop + node.clientHeight) node.scrollTop = bottom + head - node.clientHeight;
  };
  const between = (a, b) => Array.from({ length: Math.abs(a - b) + 1 }, (_, i) => Math.min(a, b) + i);
  const key = (event) => {
    if (event.target !== box.current || event.altKey) return;
    const page = Math.max(1, Math.floor(view.height / shape.row) - 1);
    const next = event.ctrlKey || event.metaKey ? undefined : moved(event.key, at, { count, columns: shape.columns, page });
    if (next !== undefined) {
      if (event.shiftKey && select) select(between(anchor.current, next), true);
      else anchor.current = next;
      setCursor(next);
      show(next);
      follow?.(next);
    } else if (event.key === " " && select) { anchor.current = at; select([at], !isSelected(at)); }
    else if ((event.ctrlKey || event.metaKey) && event.key === "a" && select) select(between(0, count - 1), true);
    else if (event.key === "Escape" && select) select(between(0, count - 1), false);
    else if (event.key === "Enter" && open) open(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const press = (event, place) => {
    setCursor(place);
    if (event.shiftKey && select) select(between(anchor.current, place), true);
    else if (select && (picks || event.ctrlKey || event.metaKey || event.target.closest(".check"))) select([place], !isSelected(place));
    else if (open) open(place);
    if (!event.shiftKey) anchor.current = place;
  };

  if (!count) return null;
  const parts = [];
  for (let place = from; place < to; place++) {
    const one = sample(place), chosen = Boolean(isSelected?.(place));
    const shared = { key: one ? one.id : `at ${place}`, id: `${id}-${place}`, "aria-selected": String(chosen), onClick: (event) => press(event, place), class: `${place === at ? "at " : ""}${chosen ? "chosen" : ""}` };
    parts.push(columns
      ? html`<div ...${shared} role="row" aria-rowindex=${place + 2} style=${{ height: LINE }}>${columns.map((column) => html`<div role="gridcell" class=${column.number ? "number" : ""}>${one ? column.cell(one) : "…"}</div>`)}</div>`
      : html`<div ...${shared} role="option" aria-posinset=${place + 1} aria-setsize=${count} style=${{ height: shape.row - GAP }}>${one ? html`<${Option} one=${one} select=${select} chosen=${chosen} note=${note} />` : html`<span class="quiet">…</span>`}</div>`);
  }
  const body = html`<div role=${columns ? "rowgroup" : "presentation"} style=${{ height: rows * shape.row, position: "relative" }}>
    <div role="presentation" class=${columns ? "lines" : "options"} style=${{ top: first * shape.row, gridTemplateColumns: columns ? null : `repeat(${shape.columns}, minmax(0, 1fr))` }}>${parts}</div></div>`;
  const head = columns && html`<div role="rowgroup" class="head"><div role="row" aria-rowindex="1">${columns.map((column) => html`<div role="columnheader" class=${column.number ? "number" : ""} aria-sort=${column.sorted || "none"}>${column.sort ? html`<button tabindex="0" onClick=${column.sort}>${column.title}<span aria-hidden="true">${{ ascending: " ↑", descending: " ↓" }[column.sorted] || ""}</span></button>` : column.title}</div>`)}</div></div>`;
  const active = at >= from && at < to ? `${id}-${at}` : null;
  return html`<div ref=${box} id=${id} class=${`grid ${columns ? "table" : `of-${kind}`}`} tabindex="0" role=${columns ? "grid" : "listbox"} aria-label=${label} aria-multiselectable=${select ? "true" : null} aria-rowcount=${columns ? count + 1 : null} aria-activedescendant=${active}
    onKeyDown=${key} onScroll=${(event) => { const top = event.target.scrollTop; setView((old) => ({ ...old, top })); }} style=${columns ? { "--columns": columns.map((column) => column.width).join(" "), "--least": leastWidth(columns) } : null}>${head}${body}</div>`;
}

function Option({ one, select, chosen, note }) {
  return html`${select && html`<span class="check" aria-hidden="true">${chosen ? "✓" : ""}</span>`}<div class="face"><${Picture} sample=${one} named=${false} /></div>
    <span class="name" title=${one.name}><bdi>${one.name}</bdi></span><span class="known">${note ? note(one) : html`<${Known} sample=${one} />`}</span>`;
}

// How many tiles stand in a row, and how high it is.
function shaped(kind, columns, width) {
  if (columns) return { columns: 1, row: LINE };
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const least = { picture: 7, row: 12, text: 16 }[kind] * rem;
  const across = Math.max(1, Math.floor((width + GAP) / (least + GAP)));
  const tile = (width - GAP * (across - 1)) / across;
  return { columns: across, row: Math.round({ picture: tile + 3 * rem, row: 12 * rem, text: 9 * rem }[kind]) + GAP };
}
