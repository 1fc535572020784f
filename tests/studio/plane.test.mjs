// Points of a map, without a page: node --test tests/studio/*.test.mjs
import assert from "node:assert/strict";
import test from "node:test";
import { byDistance, cardEdge, fitted, inside, lookOf, nearest, neighbour, paint, radiusOf, shifted, showing, stamp, toScreen, zoomed } from "../../ancr/studio/static/plane.js";

const square = { x: Float32Array.of(0, 10, 0, 10, 5), y: Float32Array.of(0, 0, 10, 10, 5) };

test("all points are within the window, at the same scale in both directions", () => {
  const view = fitted(square, 300, 200, 20);
  assert.equal(view.scale, 16);
  assert.deepEqual(toScreen(view, 5, 5), [150, 100]);
  assert.deepEqual(toScreen(view, 0, 0), [70, 180]);
  assert.ok(Number.isFinite(fitted({ x: Float32Array.of(3), y: Float32Array.of(4) }, 300, 200).scale));
});

test("zooming keeps the place under the pointer, moving moves it by as much", () => {
  const view = fitted(square, 300, 200), [px, py] = toScreen(view, 2, 7);
  const [ax, ay] = toScreen(zoomed(view, 3, [px, py]), 2, 7);
  assert.ok(Math.abs(ax - px) + Math.abs(ay - py) < 1e-9);
  const [bx, by] = toScreen(shifted(view, 11, -4), 2, 7);
  assert.ok(Math.abs(bx - px - 11) + Math.abs(by - py + 4) < 1e-9);
});

test("a point that is out of sight is brought into the window, one that is seen moves nothing", () => {
  const view = zoomed(fitted(square, 300, 200), 10), [px, py] = toScreen(view, 0, 0);
  const [ax, ay] = toScreen(showing(view, px, py, 30), 0, 0);
  assert.deepEqual([Math.round(ax), Math.round(ay)], [30, 170]);
  assert.deepEqual(showing(view, 150, 100), view);
});

test("the nearest point, and none that is too far", () => {
  const view = fitted(square, 300, 200);
  for (let i = 0; i < 5; i++) assert.equal(nearest(square, view, toScreen(view, square.x[i] + 0.1, square.y[i])), i);
  assert.equal(nearest(square, view, toScreen(view, 2.5, 5), 10), -1);
});

test("arrows lead to the nearest point in their direction and reach every point of a grid", () => {
  assert.equal(neighbour(square, 0, "ArrowRight"), 1);
  assert.equal(neighbour(square, 4, "ArrowLeft"), 0);
  assert.equal(neighbour(square, 0, "ArrowLeft"), 0);
  const lattice = { x: Float32Array.from({ length: 12 }, (_, i) => i % 4), y: Float32Array.from({ length: 12 }, (_, i) => Math.floor(i / 4)) };
  const seen = new Set([0]), left = [0];
  while (left.length) {
    const at = left.pop();
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
      const to = neighbour(lattice, at, key);
      if (!seen.has(to)) { seen.add(to); left.push(to); }
    }
  }
  assert.equal(seen.size, 12);
});

test("neighbours come in order of distance, the point itself first", () => {
  assert.deepEqual([...byDistance({ x: Float32Array.of(0, 9, 1, 4), y: Float32Array.of(0, 0, 0, 0) }, 2)], [2, 0, 3, 1]);
  assert.equal(byDistance({ x: Float32Array.of(1, 1), y: Float32Array.of(1, 1) }, 1)[0], 1);
});

test("a lasso takes what is inside it, also where it is not convex", () => {
  const view = { x: 0, y: 0, scale: 1, width: 0, height: 0 };
  const points = { x: Float32Array.of(1, 5, 9, 5), y: Float32Array.of(-1, -1, -1, -8) };
  const horseshoe = [[0, 0], [2, 0], [2, 6], [8, 6], [8, 0], [10, 0], [10, 9], [0, 9]];
  assert.deepEqual(inside(points, view, horseshoe), [0, 2, 3]);
});

const RED = [255, 0, 0], BLUE = [0, 0, 255], WHITE = [255, 255, 255], BLACK = [0, 0, 0];
const looks = { marks: [BLACK, RED, BLUE].map((colour) => ({ stamp: stamp("circle", 3), colour })), halo: { stamp: stamp("circle", 5), colour: BLACK }, ground: WHITE };
const view = { x: 0, y: 0, scale: 1 };

function painted(points, size = 21) {
  const pixels = new Uint32Array(size * size);
  paint({ pixels, width: size, height: size }, points, view, looks);
  const bytes = new Uint8Array(pixels.buffer);
  return (x, y) => [...bytes.slice(4 * (y * size + x), 4 * (y * size + x) + 3)];
}

test("points have the colour of their code; those without one lie below, those chosen have a halo", () => {
  const same = { x: Float32Array.of(0, 0), y: Float32Array.of(0, 0) };
  const at = painted({ ...same, codes: Int16Array.of(1, -1), chosen: Uint8Array.of(0, 0) });
  assert.deepEqual(at(11, 11), BLUE);
  assert.deepEqual(at(0, 0), WHITE);
  assert.deepEqual(at(15, 11), WHITE);
  const chosen = painted({ ...same, codes: Int16Array.of(0, 1), chosen: Uint8Array.of(1, 0) });
  assert.deepEqual(chosen(11, 11), RED);
  assert.deepEqual(chosen(15, 11), BLACK);
});

test("a point at the edge is cut, and one far outside changes nothing", () => {
  const at = painted({ x: Float32Array.of(-10, 500), y: Float32Array.of(0, 0), codes: Int16Array.of(0, 1), chosen: Uint8Array.of(0, 1) });
  assert.deepEqual(at(0, 11), RED);
  assert.deepEqual(at(20, 10), WHITE);  // nothing came round from the other side
  assert.deepEqual(at(20, 11), WHITE);
});

test("the edge of a mark is between its colour and the ground", () => {
  const colours = new Set(), at = painted({ x: Float32Array.of(0), y: Float32Array.of(0), codes: Int16Array.of(0), chosen: Uint8Array.of(0) });
  for (let x = 0; x < 21; x++) colours.add(at(x, 8).join());
  for (const colour of colours) assert.match(colour, /^25[45],(\d+),\1$/);
  assert.ok(colours.size > 2);
});

test("forty classes look different, and many points are small", () => {
  assert.equal(new Set(Array.from({ length: 40 }, (_, code) => JSON.stringify(lookOf(code)))).size, 40);
  assert.ok(radiusOf(100) > radiusOf(50000));
});

test("the card about a point lies beside it, and within the window", () => {
  assert.equal(cardEdge(100, 1000, 240), 116);
  assert.equal(cardEdge(950, 1000, 240), 66);  // from the other edge
  assert.equal(cardEdge(225, 430, 240), 190);  // 205 + 16 would be cut
  assert.equal(cardEdge(50, 200, 240), 0);
});
