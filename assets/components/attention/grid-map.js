// What the grid knows: the numbers of every head, what was computed, and colors for them. No element is touched here.
// A picture is a layer and a head as one number, layer * heads + head; whole numbers n stand for n * scale[picture].

const data = JSON.parse(document.getElementById("data").textContent);
const [LAYERS, HEADS, QUERIES, KEYS] = data.weights.shape;
const scale = data.weights.scale;

const picture = (layer, head) => layer * HEADS + head;
const number = (at, query, key) => whole[(at * QUERIES + query) * KEYS + key] * scale[at];

/** The numbers, and flags of every cell as 0 or 1, for as many layers and heads as differ; null where all was computed. */
let whole = null, known = null;
const inflated = (async () => {
  whole = await unpack(data.weights.bytes, data.weights.bits, data.weights.signed);
  if (!data.computed) return;
  const bytes = await unpack(data.computed.bytes, 8, false);
  const size = data.computed.shape.reduce((a, b) => a * b, 1);
  known = new Uint8Array(size);
  for (let i = 0; i < size; i++) known[i] = (bytes[i >> 3] >> (7 - (i & 7))) & 1;
})();

/** Where the flags of a picture begin. */
function flagsOf(at) {
  const [layers, heads] = data.computed.shape;
  const layer = layers > 1 ? Math.floor(at / HEADS) : 0;
  return (layer * heads + (heads > 1 ? at % HEADS : 0)) * QUERIES * KEYS;
}
const computed = (at, query, key) => !known || known[flagsOf(at) + query * KEYS + key] === 1;

/** The queries and keys that are shown, as indices; and what was worked out for them. */
const every = (count) => Int32Array.from({ length: count }, (_, i) => i);
const shown = { rows: every(QUERIES), columns: every(KEYS), small: [], size: "" };
function hideSpecials(whether) {
  const left = (count, specials) => every(count).filter((i) => !whether || !specials.includes(i));
  shown.rows = left(QUERIES, data.specials.queries);
  shown.columns = left(KEYS, data.specials.keys);
  shown.size = "";
}

/** A picture with at most wide x high cells: where several cells share one, the one furthest from zero is kept. */
function pooled(at, wide, high) {
  const { rows, columns } = shown;
  const width = Math.min(columns.length, wide), height = Math.min(rows.length, high);
  const cells = new Int32Array(width * height), sizes = new Int32Array(width * height);
  const seen = new Uint8Array(width * height);
  const flags = known ? flagsOf(at) : 0;
  const across = Int32Array.from(columns, (_, j) => Math.floor((j * width) / columns.length));
  for (let i = 0; i < rows.length; i++) {
    const line = Math.floor((i * height) / rows.length) * width;
    const from = (at * QUERIES + rows[i]) * KEYS, flag = flags + rows[i] * KEYS;
    for (let j = 0; j < columns.length; j++) {
      if (known && !known[flag + columns[j]]) continue;
      const n = whole[from + columns[j]], size = n < 0 ? -n : n, to = line + across[j];
      seen[to] = 1;
      if (size > sizes[to]) {
        sizes[to] = size;
        cells[to] = n;
      }
    }
  }
  let largest = 0;
  for (const size of sizes) if (size > largest) largest = size;
  return { width, height, cells, seen, largest: largest * scale[at], step: scale[at] };
}

/** Every picture pooled to at most wide x high cells, kept until the size or the tokens change; and its largest size. */
function allPooled(wide, high) {
  if (shown.size !== `${wide} ${high}`) {
    shown.size = `${wide} ${high}`;
    shown.small = Array.from({ length: LAYERS * HEADS }, (_, at) => pooled(at, wide, high));
    shown.largest = shown.small.reduce((most, one) => Math.max(most, one.largest), 0);
  }
  return shown.small;
}

/** Colors from zero (or, with a sign, from minus one) to one, as rgb triples. */
const colors = (() => {
  const count = 511;
  const table = new Uint8ClampedArray(3 * count);
  const parse = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  let stop = 0;
  for (let i = 0; i < count; i++) {
    const at = i / (count - 1);
    while (stop < data.colors.length - 2 && at > data.colors[stop + 1][0]) stop++;
    const [[from, first], [to, second]] = [data.colors[stop], data.colors[stop + 1]];
    const share = (at - from) / (to - from), a = parse(first), b = parse(second);
    for (let c = 0; c < 3; c++) table[3 * i + c] = a[c] + (b[c] - a[c]) * share;
  }
  return table;
})();
function colourAt(value, largest) {
  const share = largest > 0 ? Math.max(-1, Math.min(1, value / largest)) : 0;
  return 3 * Math.round(data.signed ? 255 + 255 * share : 510 * Math.max(0, share));
}
function css(value, largest) {
  const at = colourAt(value, largest);
  return `rgb(${colors[at]},${colors[at + 1]},${colors[at + 2]})`;
}
/** Black or white, whichever reads better on the color of a value. */
function ink(value, largest) {
  const at = colourAt(value, largest);
  return 0.299 * colors[at] + 0.587 * colors[at + 1] + 0.114 * colors[at + 2] > 140 ? "#10151a" : "#ffffff";
}

/** A pooled picture as an image; what was not computed stays clear, so that the ground shows. */
function image(small, largest) {
  const made = new ImageData(small.width, small.height);
  for (let i = 0; i < small.cells.length; i++) {
    if (!small.seen[i]) continue;
    const at = colourAt(small.cells[i] * small.step, largest);
    made.data[4 * i] = colors[at];
    made.data[4 * i + 1] = colors[at + 1];
    made.data[4 * i + 2] = colors[at + 2];
    made.data[4 * i + 3] = 255;
  }
  return made;
}

/** The strongest links of a picture, [query, key, weight]: of one row, or of all rows that are shown. */
function strongest(at, query = null, count = 10) {
  const best = [];
  for (const row of query === null ? shown.rows : [query]) {
    for (const key of shown.columns) {
      if (!computed(at, row, key)) continue;
      const weight = number(at, row, key), size = Math.abs(weight);
      if (size === 0 || (best.length === count && size <= Math.abs(best[count - 1][2]))) continue;
      let place = best.length;
      while (place > 0 && Math.abs(best[place - 1][2]) < size) place--;
      best.splice(place, 0, [row, key, weight]);
      best.length = Math.min(best.length, count);
    }
  }
  return best;
}

/** A weight with as many decimals as its bytes can tell. */
function written(weight, at) {
  const decimals = Math.max(2, Math.min(5, Math.floor(-Math.log10(scale[at]))));
  const text = Math.abs(weight).toFixed(decimals);
  return (weight < 0 ? "−" : data.signed ? "+" : "") + text;
}
