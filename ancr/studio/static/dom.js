// Elements from data. Every text goes through textContent, so that a name is never markup.
export function el(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

export const percent = (value, digits = 1) => `${(100 * value).toFixed(digits)} %`;

export function say(text) { document.getElementById("status").textContent = text; }

export function complain(text) { document.getElementById("alert").textContent = text; }

export function bar(share, kind = "") {
  const node = el("div", { class: `bar ${kind}`, "aria-hidden": "true" });
  node.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return node;
}

// A sample as a picture, or as the first columns of its row.
export function picture(sample) {
  if (sample.picture) {
    return el("img", { src: `/api/picture/${sample.id}`, alt: `Picture of ${sample.name}`, loading: "lazy", class: "pixels" });
  }
  if (sample.row && sample.row.length === 1) return el("p", { class: "cell", text: String(sample.row[0][1] ?? "–") });
  const list = el("dl");
  for (const [name, value] of sample.row || []) list.append(el("dt", { text: name }), el("dd", { text: String(value ?? "–") }));
  return list;
}

export function tile(sample, ...lines) {
  return el("li", { class: "tile" }, picture(sample), el("span", { class: "name", text: sample.name }), ...lines);
}

// Keeps the focus where it was when a part of the page is drawn again.
export function redraw(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.getAttribute("data-key") : null;
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  if (focused) parent.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}
