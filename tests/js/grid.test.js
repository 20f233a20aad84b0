const assert = require("node:assert/strict");
const test = require("node:test");
const { load, packed } = require("./load.js");

const NAMES = ["pooled", "allPooled", "strongest", "number", "computed", "written", "hideSpecials", "shown", "css", "ink"];
const WEIGHTS = new Int8Array([
  ...[50, 50, 0, 0, 10, 20, 70, 0, 1, 2, 3, 94], // of two heads, three queries and four keys
  ...[0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0],
]);

async function grid(more = {}) {
  const data = {
    weights: { shape: [1, 2, 3, 4], scale: [0.5, 0.25], bits: 8, signed: true, bytes: packed(WEIGHTS) },
    computed: { shape: [1, 1, 3, 4], bytes: packed(new Uint8Array([0b11001110, 0b11110000])) },
    specials: { queries: [0], keys: [0, 3] },
    colors: [[0, "#000000"], [1, "#ffffff"]],
    signed: false,
    ...more,
  };
  const document = { getElementById: () => ({ textContent: JSON.stringify(data) }) };
  const files = ["unpack.js", "grid-map.js"].map((file) => `components/attention/${file}`);
  const made = load(files, [...NAMES, "inflated"], { document });
  await made.inflated;
  return made;
}

test("numbers are unpacked, of 8 and of 16 bits, with and without a sign", async () => {
  const { unpack } = load(["components/attention/unpack.js"], ["unpack"]);
  assert.deepEqual([...await unpack(packed(new Int16Array([-300, 2])), 16, true)], [-300, 2]);
  assert.deepEqual([...await unpack(packed(new Uint16Array([65000, 2])), 16, false)], [65000, 2]);
  assert.deepEqual([...await unpack(packed(new Int8Array([-3])), 8, true)], [-3]);
  assert.deepEqual([...await unpack(packed(new Uint8Array([253])), 8, false)], [253]);
});

test("a weight is its head's scale times its number", async () => {
  const { number } = await grid();
  assert.deepEqual([number(0, 2, 3), number(0, 1, 2), number(1, 2, 1)], [47, 35, 25]);
});

test("flags are shared by heads, or are a layer's own", async () => {
  const { computed } = await grid();
  assert.deepEqual([[0, 0, 1], [0, 0, 2], [1, 0, 2], [1, 1, 2], [0, 2, 3]].map((cell) => computed(...cell)), [
    ...[true, false, false, true, true],
  ]);
  const layers = await grid({
    weights: { shape: [2, 2, 1, 2], scale: [1, 1, 1, 1], bits: 8, signed: false, bytes: packed(new Uint8Array(8)) },
    computed: { shape: [2, 1, 1, 2], bytes: packed(new Uint8Array([0b10010000])) },
  });
  assert.deepEqual([0, 1, 2, 3].map((at) => layers.computed(at, 0, 0)), [true, true, false, false]);
});

test("where cells share one, the one furthest from zero stands for them", async () => {
  const { pooled, allPooled, shown } = await grid();
  const small = pooled(0, 2, 2);
  assert.deepEqual([...small.cells], [50, 70, 2, 94]);
  assert.equal(small.largest, 47);
  assert.deepEqual([...pooled(0, 9, 9).seen], [1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1], "what was not computed is not 0");
  allPooled(2, 2);
  assert.equal(shown.largest, 47);
  const signed = new Int8Array(24).fill(1);
  signed[1] = -9;
  const weights = { shape: [1, 2, 3, 4], scale: [1, 1], bits: 8, signed: true, bytes: packed(signed) };
  assert.deepEqual([...(await grid({ weights, computed: null })).pooled(0, 1, 1).cells], [-9]);
});

test("the strongest links come in their order, without zeros, of shown tokens alone", async () => {
  const { strongest, hideSpecials, shown } = await grid();
  assert.deepEqual(strongest(0, null, 3), [[2, 3, 47], [1, 2, 35], [0, 0, 25]]);
  assert.deepEqual(strongest(0, 0), [[0, 0, 25], [0, 1, 25]]);
  hideSpecials(true);
  assert.deepEqual([[...shown.rows], [...shown.columns]], [[1, 2], [1, 2]]);
  assert.deepEqual(strongest(0, null, 2), [[1, 2, 35], [1, 1, 10]]);
  hideSpecials(false);
  assert.equal(strongest(0).length, 9);
});

test("a weight has the decimals that its scale can tell, two to five", async () => {
  const weights = { shape: [1, 3, 2, 4], scale: [0.5, 1e-4, 1e-7], bits: 8, signed: true, bytes: packed(WEIGHTS) };
  const { written } = await grid({ weights });
  assert.deepEqual([0, 1, 2].map((at) => written(0.1234567, at)), ["0.12", "0.1235", "0.12346"]);
  const signed = await grid({ signed: true });
  assert.deepEqual([signed.written(-0.5, 0), signed.written(0.5, 0)], ["−0.50", "+0.50"]);
});

test("colors run from zero to the largest, or from minus the largest to it, and ink stands out", async () => {
  const { css, ink } = await grid();
  assert.deepEqual([css(0, 1), css(1, 1), css(9, 1), css(0.3, 0)], ["rgb(0,0,0)", "rgb(255,255,255)", "rgb(255,255,255)", "rgb(0,0,0)"]);
  assert.deepEqual([ink(0, 1), ink(1, 1)], ["#ffffff", "#10151a"]);
  const signed = await grid({ signed: true });
  assert.deepEqual([signed.css(-1, 1), signed.css(0, 1), signed.css(1, 1)], ["rgb(0,0,0)", "rgb(128,128,128)", "rgb(255,255,255)"]);
});
