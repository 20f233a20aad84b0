// The grid of all heads, and one head opened. Tokens are drawn on a canvas or written with textContent.

const by = (id) => document.getElementById(id);
const root = getComputedStyle(document.documentElement);
const theme = Object.fromEntries(["back", "text", "line", "hatch"].map((name) => [name, root.getPropertyValue(`--${name}`).trim()]));
const MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
const quoted = (token) => `“\u2068${token}\u2069”`; // isolated: a token from right to left leaves the sentence alone
const state = { layer: data.layer, head: data.head, query: 0, key: null, open: data.open };
const overview = { boxes: null, alike: false };
let layout = null; // where the opened map stands

function element(tag, text, cls) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (cls) made.className = cls;
  return made;
}

/** A canvas of so many pixels of the page, sharp on its screen. */
function prepared(canvas, width, height) {
  const dense = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(height * dense);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.direction = "ltr";
  pen.clearRect(0, 0, width, height);
  return pen;
}

/** The ground of what was not computed. */
const hatch = (() => {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.fillStyle = theme.back;
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = theme.hatch;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift - 1, 7);
    pen.lineTo(shift + 7, -1);
  }
  pen.stroke();
  return pen.createPattern(tile, "repeat");
})();

const stamp = document.createElement("canvas");
function paint(pen, small, largest, x, y, width, height) {
  pen.fillStyle = known ? hatch : theme.back;
  pen.fillRect(x, y, width, height);
  stamp.width = small.width;
  stamp.height = small.height;
  stamp.getContext("2d").putImageData(image(small, largest), 0, 0);
  pen.drawImage(stamp, x, y, width, height);
}

/** How many of the shown tokens of a side stand before the second sentence; null where there is no line to draw. */
function border(side) {
  if (data.second === null || (side === "rows" && !data.square)) return null;
  const before = shown[side].filter((i) => i < data.second).length;
  return before > 0 && before < shown[side].length ? before / shown[side].length : null;
}
function borders(pen, x, y, width, height, thick) {
  pen.strokeStyle = theme.text;
  pen.lineWidth = thick;
  pen.globalAlpha = thick > 1 ? 0.9 : 0.5; // in the small pictures it stands before what is to be seen
  pen.setLineDash([4, 3]);
  pen.beginPath();
  const [row, column] = [border("rows"), border("columns")];
  if (row !== null) { pen.moveTo(x, y + row * height); pen.lineTo(x + width, y + row * height); }
  if (column !== null) { pen.moveTo(x + column * width, y); pen.lineTo(x + column * width, y + height); }
  pen.stroke();
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

/** All heads: layers down, heads across. */
function drawAll() {
  const canvas = by("all"), room = canvas.parentElement.clientWidth;
  const left = 30, top = 34, gap = room < 600 ? 2 : 5;
  const width = Math.max(16, Math.min(130, Math.floor((room - left) / HEADS) - gap));
  const shape = Math.max(0.4, Math.min(2.5, shown.rows.length / Math.max(1, shown.columns.length)));
  const height = Math.round(width * shape);
  const pen = prepared(canvas, left + HEADS * (width + gap), top + LAYERS * (height + gap));
  const dense = window.devicePixelRatio || 1;
  const pictures = allPooled(Math.ceil(width * dense), Math.ceil(height * dense)), largest = shown.largest;
  pen.fillStyle = theme.text;
  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "left";
  pen.fillText("Heads", left, 11);
  pen.save();
  pen.translate(10, top + 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "right";
  pen.fillText("Layers", 0, 0);
  pen.restore();
  overview.boxes = [];
  for (let at = 0; at < LAYERS * HEADS; at++) {
    const layer = Math.floor(at / HEADS), head = at % HEADS;
    const x = left + head * (width + gap), y = top + layer * (height + gap);
    overview.boxes.push({ x, y, width, height, layer, head });
    pen.fillStyle = theme.text;
    pen.textAlign = "center";
    if (layer === 0) pen.fillText(String(head + 1), x + width / 2, top - 6);
    pen.textAlign = "right";
    if (head === 0) pen.fillText(String(layer + 1), left - 6, y + height / 2 + 4);
    paint(pen, pictures[at], overview.alike ? largest : pictures[at].largest, x, y, width, height);
    borders(pen, x, y, width, height, 1);
    const here = layer === state.layer && head === state.head;
    pen.strokeStyle = here ? data.accent : theme.line;
    pen.lineWidth = here ? 3 : 1;
    pen.strokeRect(x - (here ? 1 : 0.5), y - (here ? 1 : 0.5), width + (here ? 2 : 1), height + (here ? 2 : 1));
  }
  legend(overview.alike ? largest : null);
}

function fitted(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  const letters = Array.from(text);
  while (letters.length && pen.measureText(`${letters.join("")}…`).width > room) letters.pop();
  return `${letters.join("")}…`;
}

/** One head: queries down, keys across. */
function drawOne() {
  const canvas = by("one"), room = canvas.parentElement.clientWidth, at = picture(state.layer, state.head);
  const { rows, columns } = shown;
  const most = room < 600 ? 74 : 104, ruler = canvas.getContext("2d");
  ruler.setTransform(1, 0, 0, 1, 0, 0);
  ruler.font = `bold 13px ${MONO}`;
  const longest = (tokens, indices) => indices.reduce((far, i) => Math.max(far, ruler.measureText(tokens[i]).width), 0);
  const side = Math.min(most, longest(data.queries, rows) + 14), top = Math.min(most, longest(data.keys, columns) + 14) + 4;
  const cell = Math.max(3, Math.min(32, Math.floor((room - side - 4) / Math.max(1, columns.length))));
  const width = cell * columns.length, height = cell * rows.length;
  const pen = prepared(canvas, side + width + 4, top + height + 4);
  const small = pooled(at, columns.length, rows.length);
  if (overview.alike && !shown.size) allPooled(32, 32);
  const largest = overview.alike ? shown.largest : small.largest;
  layout = { side, top, cell, largest };
  paint(pen, small, largest, side, top, width, height);
  if (cell >= 10) {
    pen.strokeStyle = theme.back;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let i = 1; i < rows.length; i++) { pen.moveTo(side, top + i * cell); pen.lineTo(side + width, top + i * cell); }
    for (let j = 1; j < columns.length; j++) { pen.moveTo(side + j * cell, top); pen.lineTo(side + j * cell, top + height); }
    pen.stroke();
  }
  borders(pen, side, top, width, height, 1.5);
  pen.strokeStyle = theme.line;
  pen.lineWidth = 1;
  pen.strokeRect(side - 0.5, top - 0.5, width + 1, height + 1);

  const size = Math.max(10, Math.min(13, cell)), every = Math.ceil((size + 1) / cell);
  const row = rows.indexOf(state.query), column = columns.indexOf(state.key);
  /** Names along a side; where there is no room for all, every so many, and the chosen one in the place of its neighbors. */
  const names = (indices, tokens, chosen, limit, write) => {
    indices.forEach((token, i) => {
      if (i === chosen || (i % every === 0 && (chosen < 0 || every === 1 || Math.abs(i - chosen) >= every))) {
        pen.font = `${i === chosen ? "bold " : ""}${size}px ${MONO}`;
        pen.fillStyle = theme.text;
        write(fitted(pen, tokens[token], limit), (i + 0.5) * cell);
      }
    });
  };
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  names(rows, data.queries, row, side - 10, (text, y) => pen.fillText(text, side - 6, top + y));
  pen.textAlign = "left";
  names(columns, data.keys, column, top - 10, (text, x) => {
    pen.save();
    pen.translate(side + x, top - 6);
    pen.rotate(-Math.PI / 2);
    pen.fillText(text, 0, 0);
    pen.restore();
  });
  pen.strokeStyle = data.accent;
  pen.lineWidth = 2;
  if (row >= 0) pen.strokeRect(side - 1, top + row * cell - 1, width + 2, cell + 2);
  if (row >= 0 && column >= 0) {
    pen.lineWidth = 3;
    pen.strokeRect(side + column * cell, top + row * cell, cell, cell);
  }
  legend(largest);
}

/** What the colors say; ``largest`` is the weight at their end, null where every head has its own. */
function legend(largest) {
  const at = picture(state.layer, state.head);
  const end = largest === null ? "each head's largest" : written(largest, at);
  by("low").textContent = data.signed ? (largest === null ? "−" : written(-largest, at)) : "0";
  by("high").textContent = data.signed && largest === null ? "+ (up to each head's largest)" : end;
  const stops = Array.from({ length: 21 }, (_, i) => css(data.signed ? i / 10 - 1 : i / 20, 1));
  by("ramp").style.background = `linear-gradient(to right, ${stops.join(", ")})`;
}

/** A table of links; with a query its keys alone. */
function table(body, links, at, from) {
  body.replaceChildren(
    ...links.map(([query, key, weight], rank) => {
      const line = element("tr");
      const cells = from ? [data.queries[query], data.keys[key]] : [data.keys[key]];
      line.append(element("td", String(rank + 1)));
      for (const [i, token] of cells.entries()) {
        const place = from && i === 0 ? query : key;
        const made = element("td");
        made.append(element("bdi", token), element("small", ` ${place + 1}`));
        line.append(made);
      }
      line.append(element("td", written(weight, at), "number"));
      return line;
    }),
  );
}

/** The keys of the chosen query, shaded by weight. */
function shade(at) {
  const pieces = [];
  const largest = layout.largest;
  shown.columns.forEach((key, i) => {
    if (i && data.second !== null && key >= data.second && shown.columns[i - 1] < data.second) pieces.push(element("span", "", "bar"));
    const word = element("bdi", data.keys[key]);
    if (computed(at, state.query, key)) {
      const weight = number(at, state.query, key);
      word.style.background = css(weight, largest);
      word.style.color = ink(weight, largest);
      word.title = `${key + 1}: ${written(weight, at)}`;
    } else {
      word.className = "not";
      word.title = `${key + 1}: not computed`;
    }
    if (key === state.key) word.classList.add("here");
    pieces.push(word);
  });
  by("shaded").replaceChildren(...pieces);
}

function say() {
  const at = picture(state.layer, state.head), where = `Layer ${state.layer + 1}, head ${state.head + 1}.`;
  const links = strongest(at);
  table(by("links"), links, at, true);
  by("which").textContent = `${where.slice(0, -1)}`;
  by("layer").value = String(state.layer);
  by("head").value = String(state.head);
  showSteps();
  if (!state.open) {
    const three = links.slice(0, 3).map(([query, key, weight]) => `${quoted(data.queries[query])} to ${quoted(data.keys[key])} ${written(weight, at)}`);
    by("said").textContent = `${where} ${three.length ? `Largest weights: ${three.join(", ")}.` : "No weight above zero."}`;
    return;
  }
  const keys = strongest(at, state.query), token = quoted(data.queries[state.query]);
  table(by("keys"), keys, at, false);
  by("asked").replaceChildren(element("bdi", data.queries[state.query]), ` (token ${state.query + 1})`);
  shade(at);
  const three = keys.slice(0, 3).map(([, key, weight]) => `${quoted(data.keys[key])} ${written(weight, at)}`);
  const pointed = state.key === null ? "" : ` At ${quoted(data.keys[state.key])}: ${computed(at, state.query, state.key) ? written(number(at, state.query, state.key), at) : "not computed"}.`;
  const verb = data.signed ? "differs most at" : "attends most to";
  by("said").textContent = `${where} Token ${state.query + 1}, ${token}, ${three.length ? `${verb} ${three.join(", ")}.` : "has no weight above zero."}${pointed}`;
}

function refresh() {
  by("overview").hidden = state.open;
  by("single").hidden = by("row").hidden = !state.open;
  by("toggle").textContent = state.open ? "All heads" : "Open this head";
  by("how").textContent = state.open ? data.hints.one : data.hints.all;
  by("summed").hidden = !by("specials").checked;
  if (state.open) drawOne();
  else drawAll();
  say();
  tell();
}

let told = "";
/** Say to a page around this one which head is open, so that its link can keep it. */
function tell() {
  const open = state.open ? [state.layer + 1, state.head + 1] : [];
  if (window.parent === window || told === String(open)) return;
  told = String(open);
  window.parent.postMessage({ atlas: "grid", open }, "*");
}
