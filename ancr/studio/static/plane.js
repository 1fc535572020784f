// Points of a map without a page: where they are on a screen, which one is near, which are inside a lasso, and their
// picture. Places are typed arrays, so that fifty thousand are drawn and searched within a frame.

// How the plane is seen: the middle of the window, and pixels for each unit.
export function fitted({ x, y }, width, height, margin = 24) {
  let left = Infinity, right = -Infinity, low = Infinity, high = -Infinity;
  for (let i = 0; i < x.length; i++) {
    if (x[i] < left) left = x[i];
    if (x[i] > right) right = x[i];
    if (y[i] < low) low = y[i];
    if (y[i] > high) high = y[i];
  }
  const across = Math.max(1, width - 2 * margin) / (right - left || 1), up = Math.max(1, height - 2 * margin) / (high - low || 1);
  return { x: (left + right) / 2, y: (low + high) / 2, scale: Math.min(across, up), width, height };
}

export const toScreen = (view, x, y) => [(x - view.x) * view.scale + view.width / 2, (view.y - y) * view.scale + view.height / 2];

// The same place stays under the pointer.
export function zoomed(view, by, [px, py] = [view.width / 2, view.height / 2]) {
  const scale = view.scale * by, shift = 1 / view.scale - 1 / scale;
  return { ...view, scale, x: view.x + (px - view.width / 2) * shift, y: view.y - (py - view.height / 2) * shift };
}

export const shifted = (view, dx, dy) => ({ ...view, x: view.x - dx / view.scale, y: view.y + dy / view.scale });

// A view in which a point is seen: moved only if it is not.
export function showing(view, px, py, margin = 30) {
  const over = (at, size) => (at < margin ? margin - at : at > size - margin ? size - margin - at : 0);
  return shifted(view, over(px, view.width), over(py, view.height));
}

// The point nearest to a place on the screen, within some pixels; -1 if there is none. Of several, the one drawn last.
export function nearest({ x, y }, view, [px, py], within = Infinity) {
  const wantedX = view.x + (px - view.width / 2) / view.scale, wantedY = view.y - (py - view.height / 2) / view.scale;
  let best = -1, least = (within / view.scale) ** 2;
  for (let i = 0; i < x.length; i++) {
    const dx = x[i] - wantedX, dy = y[i] - wantedY, gap = dx * dx + dy * dy;
    if (gap <= least) { least = gap; best = i; }
  }
  return best;
}

// The nearest point in the direction of an arrow, of those less than 45° off it; the same one if there is none.
export function neighbour({ x, y }, at, key) {
  const [ax, ay] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
  let best = at, least = Infinity;
  for (let i = 0; i < x.length; i++) {
    const dx = x[i] - x[at], dy = y[i] - y[at], along = dx * ax + dy * ay, aside = Math.abs(dx * ay) + Math.abs(dy * ax);
    if (along <= 0 || aside > along) continue;
    const gap = along + 2 * aside;
    if (gap < least) { least = gap; best = i; }
  }
  return best;
}

// Numbers of the points, the nearest to one of them first.
export function byDistance({ x, y }, at) {
  const gaps = Float64Array.from(x, (_, i) => (x[i] - x[at]) ** 2 + (y[i] - y[at]) ** 2);
  gaps[at] = -1;
  return Uint32Array.from(x.keys()).sort((a, b) => gaps[a] - gaps[b]);
}

// Numbers of the points inside a polygon on the screen: a ray from each crosses its edges an odd number of times.
export function inside({ x, y }, view, corners) {
  const xs = corners.map(([px]) => view.x + (px - view.width / 2) / view.scale), ys = corners.map(([, py]) => view.y - (py - view.height / 2) / view.scale);
  const left = Math.min(...xs), right = Math.max(...xs), low = Math.min(...ys), high = Math.max(...ys), found = [];
  for (let i = 0; i < x.length; i++) {
    if (x[i] < left || x[i] > right || y[i] < low || y[i] > high) continue;
    let odd = false;
    for (let a = 0, b = xs.length - 1; a < xs.length; b = a++) {
      if ((ys[a] > y[i]) !== (ys[b] > y[i]) && x[i] < ((xs[b] - xs[a]) * (y[i] - ys[a])) / (ys[b] - ys[a]) + xs[a]) odd = !odd;
    }
    if (odd) found.push(i);
  }
  return found;
}

// Marks differ in shape, too, so that a class is told by more than its colour. Each is a test of a pixel for radius 1.
export const SHAPES = {
  circle: (dx, dy) => dx * dx + dy * dy <= 1,
  square: (dx, dy) => Math.max(Math.abs(dx), Math.abs(dy)) <= 0.85,
  diamond: (dx, dy) => Math.abs(dx) + Math.abs(dy) <= 1.2,
  triangle: (dx, dy) => dy <= 0.75 && dy >= -1.1 && Math.abs(dx) <= 0.6 * (dy + 1.1),
};

// The pixels that a mark covers, as offsets and how much of each it covers, from 0 to 256.
export function stamp(shape, radius) {
  const is = SHAPES[shape], reach = Math.ceil(1.2 * radius), dx = [], dy = [], cover = [];
  for (let v = -reach; v <= reach; v++) for (let u = -reach; u <= reach; u++) {
    let hits = 0;
    for (let a = 0; a < 4; a++) for (let b = 0; b < 4; b++) hits += is((u + (a - 1.5) / 4) / radius, (v + (b - 1.5) / 4) / radius);
    if (hits) { dx.push(u); dy.push(v); cover.push(16 * hits); }
  }
  return { dx: Int32Array.from(dx), dy: Int32Array.from(dy), cover: Int32Array.from(cover), reach };
}

// A colour as one number, as it lies in memory.
const packed = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;

// Draw points into pixels, each a number of 32 bits: those without a code below the others, those that are chosen on top
// and each on a halo. Looks are { stamp, colour: [r, g, b] }; that of a code is marks[code + 1].
export function paint({ pixels, width, height }, { x, y, codes, chosen }, view, { marks, halo, ground }) {
  pixels.fill(packed(ground));
  const ready = ({ stamp: { dx, dy, cover, reach }, colour }) => ({ dx, dy, cover, reach, colour: packed(colour), offset: dx.map((u, k) => dy[k] * width + u) });
  const around = ready(halo), looks = marks.map(ready);
  const draw = (px, py, look) => {
    const { reach } = look;
    if (px < reach || py < reach || px >= width - reach || py >= height - reach) dabAtEdge(pixels, width, height, px, py, look);
    else dab(pixels, py * width + px, look);
  };
  for (let level = 0; level < 3; level++) {
    for (let i = 0; i < x.length; i++) {
      if ((chosen[i] ? 2 : codes[i] < 0 ? 0 : 1) !== level) continue;
      const px = Math.round((x[i] - view.x) * view.scale + width / 2), py = Math.round((view.y - y[i]) * view.scale + height / 2);
      if (level === 2) draw(px, py, around);
      draw(px, py, looks[codes[i] + 1]);
    }
  }
}

function dab(pixels, at, { offset, cover, colour }) {
  for (let k = 0; k < cover.length; k++) {
    const place = at + offset[k], share = cover[k];
    pixels[place] = share === 256 ? colour : mixed(pixels[place], colour, share);
  }
}

function dabAtEdge(pixels, width, height, px, py, { dx, dy, cover, colour }) {
  for (let k = 0; k < cover.length; k++) {
    const u = px + dx[k], v = py + dy[k];
    if (u >= 0 && v >= 0 && u < width && v < height) pixels[v * width + u] = mixed(pixels[v * width + u], colour, cover[k]);
  }
}

// Red and blue are mixed together, green between them: two products for a pixel instead of three.
function mixed(under, over, share) {
  const rest = 256 - share, redBlue = (Math.imul(under & 0xff00ff, rest) + Math.imul(over & 0xff00ff, share)) >>> 8;
  const green = (Math.imul((under >>> 8) & 0xff, rest) + Math.imul((over >>> 8) & 0xff, share)) & 0xff00;
  return (0xff000000 | (redBlue & 0xff00ff) | green) >>> 0;
}

// How far the card about a point is from the edge that is nearer to the point: beside the point, but never cut.
export const cardEdge = (at, size, card, gap = 16) => Math.max(0, Math.min((at > size / 2 ? size - at : at) + gap, size - card));

// How large a mark is, in pixels of the page: many points are small ones.
export const radiusOf = (count) => (count <= 600 ? 5 : count <= 4000 ? 4 : count <= 20000 ? 3 : 2);

// The look of a class: ten colours, and another shape for each ten.
export const lookOf = (code) => ({ colour: code % 10, shape: Object.keys(SHAPES)[Math.floor(code / 10) % 4] });
