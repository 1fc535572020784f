// What the views decide, without a page: tests/studio/logic.test.mjs runs it.

// Milliseconds for which a key does nothing after what it is about has become another by itself: the hand was on its way.
export const SETTLE = 400;

// Digits press the class of that name if there is one, otherwise the class at that place.
export function classOfKey(key, names) {
  if (names.includes(key)) return key;
  if (names.some((name) => /^\d$/.test(name))) return undefined;
  return names[key === "0" ? 9 : Number(key) - 1];
}

export function keyOfClass(name, place, names) {
  if (names.some((one) => /^\d$/.test(one))) return /^\d$/.test(name) ? name : null;
  return place < 10 ? String((place + 1) % 10) : null;
}

// The class that a person means by a text: one of that name, in any case if only one is, or a new one.
export function matching(text, names) {
  const wanted = text.trim(), alike = names.filter((name) => name.toLowerCase() === wanted.toLowerCase());
  return alike.length === 1 && !names.includes(wanted) ? alike[0] : wanted;
}

// What a field shows for the first letters of a class, if no other class begins so; null if there is nothing to add.
export function completed(text, names) {
  const begins = text.trim() ? names.filter((name) => name.slice(0, text.length).toLowerCase() === text.toLowerCase()) : [];
  return begins.length === 1 && begins[0].length > text.length ? text + begins[0].slice(text.length) : null;
}

// A list may change by itself only while nobody looks at it closely.
export function mayReload({ inside, ticked }) { return !inside && !ticked; }

// Whether something was said before what is known, by the same start of the server; news name it only at first.
export function isOlder(said, known) { return Boolean(known) && (said.start ?? known.start) === (known.start ?? said.start) && said.serial < known.serial; }

// What a page makes of news: the new state, or null if it must ask for everything, after the server was started anew.
export function merged(state, news) {
  if (news.start !== undefined && news.start !== state.start) return null;
  if (isOlder(news, state)) return state;
  const { touched, more, ...fields } = news;
  return { ...state, ...fields };
}

// Which files of those that a person chose are sent: the images, or else the one that can be opened.
export function picked(files, { images, files: others, most }) {
  const suffix = (path) => /\.[^./]+$/.exec(path.toLowerCase())?.[0] ?? "", isSeen = ({ path }) => !path.split("/").some((part) => part.startsWith("."));
  const pictures = files.filter((one) => isSeen(one) && images.includes(suffix(one.path)));
  const send = pictures.length ? pictures : files.filter((one) => isSeen(one) && others.includes(suffix(one.path)));
  if (!send.length) return { send, problem: `${files.length === 1 ? `${files[0].path} is not` : "None of these files is"} of a kind that can be opened: choose a table, a text file, a zip or a folder of images.` };
  if (!pictures.length && send.length > 1) return { send, problem: `Choose one file: ${send.slice(0, 3).map((one) => one.path).join(", ")}${send.length > 3 ? " …" : ""} would be several projects.` };
  const size = send.reduce((sum, one) => sum + one.file.size, 0);
  if (size > most) return { send, problem: `These files take ${(size / 2 ** 30).toFixed(1)} GB; at most ${most / 2 ** 30} GB can be brought. Use \`ancr studio PATH\` in the terminal.` };
  return { send: [...send].sort((a, b) => (a.path < b.path ? -1 : 1)), problem: "" };
}

// A share as a reader expects it: what rounds to nothing has no sign, and nothing is called certain that is not.
export function percent(value, digits = 1) {
  const text = (100 * value).toFixed(digits).replace(/^-(?=[0.]+$)/, ""), least = 10 ** -digits;
  const [sign, shown] = value < 1 && Number(text) === 100 ? [">\u00a0", (100 - least).toFixed(digits)]
    : value > 0 && Number(text) === 0 ? ["<\u00a0", least.toFixed(digits)] : ["", text];
  return `${sign}${shown}\u00a0%`;
}

// A sentence of the server, in which a number keeps its % on its line.
export const unbroken = (text) => text.replace(/(\d) %/g, "$1\u00a0%");

// Two digits of a number, and no powers of ten.
export const short = (value) => (value >= 99.5 ? String(Math.round(value)) : value.toPrecision(2));

// How long ago a time was, in words.
export function ago(time, now) {
  const minutes = Math.max(0, Math.round((now - Date.parse(time)) / 60000));
  const [number, unit] = minutes < 60 ? [minutes, "minute"] : minutes < 1440 ? [Math.round(minutes / 60), "hour"] : [Math.round(minutes / 1440), "day"];
  return minutes < 1 ? "just now" : `${number} ${unit}${number === 1 ? "" : "s"} ago`;
}

// Which rows of a grid are drawn: those that are seen, and some above and below.
export function seenRows({ top, height, rowHeight, rows, margin = 3 }) {
  const first = Math.max(0, Math.floor(top / rowHeight) - margin);
  return { first, last: Math.max(first, Math.min(rows, Math.ceil((top + height) / rowHeight) + margin)) };
}

// How wide a table is at least, in rem: its columns, and one between two and on either side. The head and the rows are as
// wide as that or as the page, so that their columns are in line whatever is in them.
export function leastWidth(columns) {
  return `${columns.reduce((sum, { width }) => sum + parseFloat(/[\d.]+(?=rem)/.exec(width)[0]), columns.length + 1)}rem`;
}

// Where the cursor of a grid goes by a key; undefined if the key does not move it.
export function moved(key, at, { count, columns, page }) {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -columns * page, PageDown: columns * page };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (!(key in steps)) return undefined;
  const to = at + steps[key];
  if (to < 0) return key === "ArrowUp" || key === "ArrowLeft" ? at : 0;
  return to >= count ? (key.startsWith("Arrow") ? at : count - 1) : to;
}

// Numbers as a request writes them: neighbours as ranges, "3,4" as "3-4".
export function ranges(numbers) {
  const parts = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = parts[parts.length - 1];
    if (last && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");
}

// The address of a search with its filters; what is not set is left out.
export function asked(wanted) {
  const set = Object.entries(wanted).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  return new URLSearchParams(set.map(([name, value]) => [name, value === true ? "1" : String(value)])).toString();
}

// How samples of this data are shown.
export function kindOf(state) {
  if (state.pictures) return "picture";
  return state.kinds.length === 1 && state.kinds[0] === "text" ? "text" : "row";
}
