const assert = require("node:assert/strict");
const test = require("node:test");
const { element, load } = require("./load.js");

const transformer = load(["components/transformer/draw.js"], [
  ...["tensor", "shade", "cut", "share", "percent", "number", "limitOf", "outOf", "intoBlock"],
]);

test("an index of a tensor finds its number in row-major order", () => {
  const bytes = new DataView(new ArrayBuffer(12));
  [0, 1, 2, 10, 11, -12].forEach((value, i) => bytes.setInt16(2 * i, value, true));
  const { at } = transformer.tensor({ shape: [2, 3], scale: 0.5, data: Buffer.from(bytes.buffer).toString("base64") });
  assert.deepEqual([at(0, 2), at(1, 0), at(1, 2)], [1, 5, -6]);
});

test("a color is mixed between the two stops around a share, and a share beyond the scale takes its end", () => {
  const scale = [[0, "#000000"], [0.5, "#ff0000"], [1, "#ffffff"]];
  const colors = [-1, 0.1, 0.5, 0.75, 2].map((share) => transformer.shade(scale, share));
  assert.deepEqual(colors, ["rgb(0 0 0)", "rgb(51 0 0)", "rgb(255 0 0)", "rgb(255 128 128)", "rgb(255 255 255)"]);
});

test("numbers keep about three digits, and none is rounded to a longer one", () => {
  assert.deepEqual([0, 0.0009, 0.00095, 0.0994, 0.0995, 1].map(transformer.share), ["0", "<0.001", "0.001", "0.099", "0.10", "1.00"]);
  assert.deepEqual([0.0009, 0.0994, 0.0996, 0.5].map(transformer.percent), ["<0.1%", "9.9%", "10%", "50%"]);
  assert.deepEqual([9.994, 9.996, -99.94, 99.96].map(transformer.number), ["9.99", "10.0", "−99.9", "100"]);
  assert.equal(transformer.limitOf([[0, 0]]), 1e-6, "a row of zeros is divided by");
});

test("a token is cut between characters, not inside one", () => {
  assert.equal(transformer.cut("😀😀😀", 3), "😀😀😀");
  assert.equal(transformer.cut("😀😀😀😀", 3), "😀😀…");
});

test("a layer reads what the one before has written, the first the embedding", () => {
  const block = { "feed-forward-residual": "sum", "feed-forward-norm": "normed" };
  const lane = { prenorm: false, block, embedding: { words: "first", positions: "second" } };
  assert.deepEqual(transformer.intoBlock(lane, 0), { step: "second", layer: 0 });
  assert.deepEqual(transformer.intoBlock(lane, 3), { step: "normed", layer: 2 });
  assert.equal(transformer.outOf({ ...lane, prenorm: true }, 2).step, "sum");
  assert.equal(transformer.outOf({ ...lane, block: { "feed-forward-residual": "sum" } }, 2).step, "sum");
});

const timeline = load(["components/timeline/timeline-draw.js", "components/timeline/timeline.js"], [
  ...["outline", "when", "lineOf", "onKey"],
]);

test("markers of all shapes have the area of their circle", () => {
  const numbers = (shape) => timeline.outline(shape, 0, 0, 1).match(/-?[\d.]+/g).map(Number);
  const square = numbers("square");
  assert.ok(Math.abs(square[2] ** 2 - Math.PI) < 0.02 * Math.PI);
  const [, top, right, , , bottom] = numbers("diamond");
  assert.ok(Math.abs((right * (bottom - top)) - Math.PI) < 0.02 * Math.PI);
  const [, tip, corner, base, left] = numbers("triangle");
  assert.ok(Math.abs(((corner - left) * (base - tip)) / 2 - Math.PI) < 0.02 * Math.PI);
});

test("a month is named, and a line is ancestors and descendants, also of a circle", () => {
  assert.equal(timeline.when(2019 * 12 + 5), "June 2019");
  const nodes = [-1, 0, 1, 0, 2].map((parent) => ({ parent }));
  assert.deepEqual([...timeline.lineOf(nodes, 1)].sort(), [0, 1, 2, 4]);
  assert.deepEqual([...timeline.lineOf([{ parent: 1 }, { parent: 0 }], 0)].sort(), [0, 1]);
});

test("arrow keys walk the systems of the shown months, and up to a parent", () => {
  const nodes = [{ parent: -1, at: 1 }, { parent: 0, at: 2 }, { parent: 0, at: 9 }, { parent: 0, at: 3 }];
  const focused = [];
  const links = nodes.map((_, i) => ({ setAttribute() {}, focus: () => focused.push(i) }));
  const view = { data: { nodes }, until: 5, picture: { nodes: links } };
  const press = (key, i) => {
    const target = { closest: () => links[i] };
    timeline.onKey(view, { key, target, preventDefault() {}, stopPropagation() {} });
    return focused.pop();
  };
  assert.deepEqual([press("ArrowRight", 1), press("ArrowRight", 3), press("End", 0)], [3, undefined, 3]);
  assert.deepEqual([press("ArrowUp", 3), press("ArrowUp", 0), press("ArrowDown", 0)], [0, undefined, 1]);
});

const document = { createElementNS: () => element() };
const board = load(["components/masks/board.js"], ["wide", "measure", "allowed", "turn", "key"], { document, innerHeight: 720 });

test("a label of wide characters takes twice the room, and labels that would overlap are thinned out", () => {
  assert.deepEqual([board.wide("mask"), board.wide("漢字")], [4, 4]);
  const labels = (count) => Array.from({ length: count }, () => "key");
  const few = board.measure({ rows: labels(4), cols: labels(4) }, 600, 720);
  const many = board.measure({ rows: labels(64), cols: labels(64) }, 600, 720);
  assert.equal(few.every, 1);
  assert.ok(many.every * many.side >= 14 && many.width <= 600, `${many.every} ${many.side}`);
  assert.ok(many.height <= 720);
});

function drawnBoard(most) {
  const sent = [];
  const data = { rows: ["a", "b"], cols: ["a", "b", "c"], bits: "100110", most, across: "keys", down: "queries" };
  const state = { data, flips: new Set(), at: [0, 0], count: 0, since: 0, root: element(), svg: element(), said: element() };
  state.send = (_, message) => sent.push(message);
  return [state, sent];
}

test("a cell that is switched twice is as before; no more change than a link can hold", () => {
  const [state, sent] = drawnBoard(2);
  for (const place of [[1, 2], [0, 0], [0, 1]]) board.turn(state, place);
  assert.deepEqual(sent, [{ flips: [5], count: 1 }, { flips: [0, 5], count: 2 }]);
  assert.match(state.said.textContent, /^2 cells are changed/);
  assert.deepEqual([0, 1, 5].map((cell) => board.allowed(state, cell)), [false, false, true]);
  board.turn(state, [0, 0]);
  assert.deepEqual(sent.at(-1), { flips: [5], count: 3 });
  assert.equal(state.said.textContent, "a (0) attends to a (0)");
});

test("keys move within the board", () => {
  const [state] = drawnBoard(2);
  const press = (key, ctrlKey = false) => {
    board.key(state, { key, ctrlKey, preventDefault() {} });
    return state.at.join();
  };
  assert.deepEqual(["ArrowUp", "ArrowDown", "ArrowDown", "End", "ArrowRight", "Home"].map((key) => press(key)), [
    ...["0,0", "1,0", "1,0", "1,2", "1,2", "1,0"],
  ]);
  assert.deepEqual([press("Home", true), press("End", true)], ["0,0", "1,2"]);
});

test("an angle is counted from 0 to 359, against the clock", () => {
  const points = load(["components/points/points.js"], ["spot", "turn"]);
  const state = { angles: [0], data: { points: [{ pull: 0 }], ties: [] }, ties: [], marks: [element()] };
  state.pulls = [[element(), element()]];
  assert.equal(points.turn(state, 0, 360), false);
  assert.deepEqual([-5, 725].map((degrees) => points.turn(state, 0, degrees) && state.angles[0]), [355, 5]);
  assert.deepEqual(points.spot(90, 10).map(Math.round), [0, -10], "up on the screen");
});

test("found words are marked, the longer of two at one place", () => {
  const page = { document: { createElement: () => element() } };
  const { highlight } = load(["components/dom/dom.js", "components/tree/tree.js"], ["highlight"], page);
  const marked = (text, words) => {
    const box = element();
    highlight(box, text, words);
    return box.children.map((part) => (typeof part === "string" ? part : `[${part.textContent}]`)).join("");
  };
  assert.equal(marked("SelfAttentionSelf", ["self", "selfatt"]), "[SelfAtt]ention[Self]");
  assert.equal(marked("<b>", ["x"]), "<b>");
});
