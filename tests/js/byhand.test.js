const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const test = require("node:test");
const { load } = require("./load.js");

const { cases, numbers, origins } = JSON.parse(readFileSync(join(__dirname, "..", "byhand.json"), "utf8"));
const EXAMPLE = example();
const {
  compute, changeable, layout, neighbor, origin, readNumber, shown, writeCells,
} = load(["components/byhand/compute.js"], [
  "compute", "changeable", "layout", "neighbor", "origin", "readNumber", "shown", "writeCells",
]);

/** The tensors of assets/by-hand.toml, whose rows are JSON. */
function example() {
  const text = readFileSync(join(__dirname, "..", "..", "assets", "by-hand.toml"), "utf8").split("[cells]\n")[1];
  const lines = text.split("\n").filter((line) => line.includes(" = "));
  return Object.fromEntries(lines.map((line) => line.split(" = ")).map(([name, rows]) => [name, JSON.parse(rows)]));
}

function changed(written) {
  const cells = structuredClone(EXAMPLE);
  for (const cell of written.split("~").filter(Boolean)) {
    const [name, value] = cell.split("_");
    cells[name.slice(0, -2)][name.at(-2) - 1][name.at(-1) - 1] = Number(value);
  }
  return cells;
}

for (const { about, mode, causal, cells, expected } of cases) {
  test(`by hand: ${about}`, () => {
    const own = changed(cells);
    assert.equal(writeCells(own, EXAMPLE), cells);
    const tensors = compute(own, mode, causal);
    for (const [name, rows] of Object.entries(expected)) {
      rows.forEach((row, i) => row.forEach((value, j) => {
        const computed = tensors[name][i][j];
        if (value === null) assert.equal(computed, -Infinity);
        else assert.ok(Math.abs(computed - value) < 6e-5, `${name} ${i} ${j}: ${computed} is not ${value}`);
      }));
    }
    for (const row of tensors.a1) assert.ok(Math.abs(row.reduce((all, weight) => all + weight) - 1) < 1e-12);
  });
}

test("a cell takes a short decimal number within its range, and nothing else", () => {
  for (const [text, tensor, value] of numbers) assert.equal(readNumber(text, tensor), value, text);
});

test("each number says how it is computed, and from which cells", () => {
  const words = { masked: "masked", allowed: "allowed", head: "head" };
  for (const { mode, at, text, sources } of origins) {
    const own = changed("");
    const said = origin(compute(own, mode, true), mode, at, words);
    assert.equal(said.text, text);
    assert.deepEqual(said.sources.map(([tensor, row, column]) => `${tensor}${row + 1}${column + 1}`), sources);
  }
});

test("numbers that two decimals would round to none are told from zero", () => {
  assert.deepEqual([0, -0, 3, -2, 0.5, 0.001, -1e-12, -Infinity].map((value) => shown(value)),
    ["0", "0", "3", "−2", "0.50", "0.00", "0", "−∞"]);
});

test("every number of every mode has a computation, or can be changed, and its sources stand on the page", () => {
  const words = { masked: "masked", allowed: "allowed", head: "head" };
  for (const mode of ["head", "rotation", "temperature", "heads"]) {
    const tensors = compute(EXAMPLE, mode, true);
    const names = layout(mode, "output").flat();
    for (const tensor of names) {
      tensors[tensor].forEach((row, i) => row.forEach((_, j) => {
        const { text, sources } = origin(tensors, mode, [tensor, i, j], words);
        assert.equal(text === "", changeable(tensor), `${mode} ${tensor}`);
        for (const [source] of sources) assert.ok(names.includes(source), `${mode} ${tensor} of ${source}`);
      }));
    }
  }
});

test("arrow keys reach every cell from the first, and stay within the page", () => {
  for (const mode of ["head", "rotation", "temperature", "heads"]) {
    const tensors = compute(EXAMPLE, mode, true);
    const rows = layout(mode, "output");
    const size = (tensor) => [tensors[tensor].length, tensors[tensor][0].length];
    const seen = new Set();
    const open = [[rows[0][0], 0, 0]];
    while (open.length) {
      const at = open.pop();
      if (seen.has(String(at))) continue;
      seen.add(String(at));
      assert.notEqual(tensors[at[0]][at[1]][at[2]], undefined);
      for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
        const next = neighbor(rows, size, at, key);
        if (next) open.push(next);
      }
    }
    const all = rows.flat().reduce((sum, tensor) => sum + size(tensor)[0] * size(tensor)[1], 0);
    assert.equal(seen.size, all, mode);
  }
});

test("a step shows what comes before it, and no more", () => {
  assert.deepEqual(layout("head", "scores"), [["q1", "k1", "v1"], ["s1"]]);
  assert.deepEqual(layout("head", "weights").flat(), ["q1", "k1", "v1", "s1", "d1", "m1", "a1"]);
  assert.deepEqual(layout("rotation", "inputs").flat(), ["q1", "k1", "v1", "p", "r1", "u1", "g"]);
});
