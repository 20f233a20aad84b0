// The picture of a run: lanes of tokens (rows) through the parts of a model (columns). All texts are written with
// textContent. A part is a <g class="part"> that the step shown may light up; its place is kept for the camera.

const HEADER = 44; // above the rows: titles, shapes, the mask
const CELL = 4.5;
const REACH = { norm: 20, plus: 30 };
const TYPE = 13; // units of letters
const HALL = 18; // the same in a presentation, where rows have room for them

function tensor(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
  const numbers = new DataView(bytes.buffer);
  const steps = packed.shape.map((_, axis) => packed.shape.slice(axis + 1).reduce((a, b) => a * b, 1));
  return {
    shape: packed.shape,
    at: (...index) => numbers.getInt16(2 * index.reduce((sum, i, axis) => sum + i * steps[axis], 0), true) * packed.scale,
  };
}

function unpacked(steps) {
  return Object.fromEntries(Object.entries(steps).map(([slug, step]) => [slug, {
    shape: step.shape,
    allowed: step.allowed,
    values: step.values && tensor(step.values),
    norms: step.norms && tensor(step.norms),
  }]));
}

function shade(scale, share) {
  const at = Math.min(Math.max(share, 0), 1);
  const next = Math.max(1, scale.findIndex(([position]) => position >= at));
  const [[low, first], [high, second]] = [scale[next - 1], scale[next]];
  const mix = (at - low) / (high - low || 1);
  const channel = (color, i) => parseInt(color.slice(1 + 2 * i, 3 + 2 * i), 16);
  return `rgb(${[0, 1, 2].map((i) => Math.round(channel(first, i) * (1 - mix) + channel(second, i) * mix)).join(" ")})`;
}

function cut(token, most) {
  const letters = [...token];
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : token;
}

const share = (value) => (value >= 0.0995 ? value.toFixed(2) : value >= 0.00095 ? value.toFixed(3) : value ? "<0.001" : "0");
const percent = (value) => (value >= 0.0995 ? Math.round(100 * value) + "%" : value >= 0.00095 ? (100 * value).toFixed(1) + "%" : "<0.1%");
const number = (value) => (Math.abs(value) >= 99.95 ? value.toFixed(0) : Math.abs(value) >= 9.995 ? value.toFixed(1) : value.toFixed(2)).replace("-", "−");
const size = (shape) => shape.map((extent) => extent.toLocaleString("en-US")).join(" × ");

// Which step of the block holds what the columns show.
const last = (lane, part) => [`${part}-norm`, `${part}-residual`].find((slug) => lane.block[slug]);
function outOf(lane, layer) {
  return { step: lane.block[lane.prenorm ? "feed-forward-residual" : last(lane, "feed-forward")], layer };
}
function intoBlock(lane, layer) {
  if (layer > 0) return outOf(lane, layer - 1);
  const steps = Object.values(lane.embedding);
  return { step: steps[steps.length - 1], layer: 0 };
}

// The columns of each lane from left to right.
function plan(view) {
  const count = view.lanes.reduce((sum, lane) => sum + lane.tokens.length, 0);
  const several = view.lanes.length > 1;
  const row = Math.min(26, Math.max(several ? 14.5 : 17, (several ? 270 : 235) / count));
  const type = view.least ? Math.min(HALL, Math.max(TYPE, 0.9 * row)) : TYPE;
  const lanes = view.lanes.map((lane, number) => {
    const pair = view.lanes.length > 1;
    const x = {};
    let at = 4;
    const put = (name, width, gap) => { x[name] = { x: at, w: width }; at += width + (gap ?? 8); };
    put("tokens", type > TYPE ? 108 : 94, 8);
    put("token", 8 * CELL, lane.embedding["embedding-position"] ? 18 : 14);
    if (lane.embedding["embedding-position"]) put("position", 8 * CELL, 14);
    const begin = at;
    at += 12;
    if (lane.prenorm) put("norm1", REACH.norm, 6);
    put("qkv", 3 * 4 * CELL + 12, 6);
    put("fan", pair ? 100 : 138, 2);
    put("mix", 4 * CELL, 2);
    put("add", REACH.plus, 2);
    if (!lane.prenorm) put("norm1", REACH.norm, 6);
    if (lane.block["cross-attention-weights"]) {
      if (lane.prenorm) put("normx", REACH.norm, 4);
      put("cross", 132, 2);
      put("addx", REACH.plus, 2);
      if (!lane.prenorm) put("normx", REACH.norm, 4);
    }
    if (lane.prenorm) put("norm2", REACH.norm, 4);
    put("ffn", 78, 2);
    put("add2", REACH.plus, lane.prenorm ? 0 : 2);
    if (!lane.prenorm) put("norm2", REACH.norm, 2);
    at += 6;
    x.frame = { x: begin, w: at - begin };
    at += 18;
    put("states", 8 * CELL, 14);
    if (number === view.lanes.length - 1) put("output", 61 + 7 * type, 0);
    return { lane, number, x, end: at };
  });
  const pair = lanes.length > 1;
  let top = 4;
  lanes.forEach((one) => {
    one.top = top;
    one.row = row;
    one.y = (i) => one.top + HEADER + row * (i + 0.5);
    one.bottom = one.y(one.lane.tokens.length - 1) + row / 2;
    top = one.bottom + 34;
  });
  const end = lanes[lanes.length - 1];
  const loops = end.lane.side === "decoder";
  const below = end.bottom + (loops ? 38 : 28); // where heads and mask begin
  const heads = pair ? 44 : Math.min(36, (end.x.frame.w - 10) / end.lane.heads - 5);
  return { type, lanes, loops, below, heads, width: Math.max(...lanes.map((one) => one.end)) + 4, height: pair ? below : below + heads + 4 };
}

function strip(group, values, x, y, height, limit, colors) {
  values.forEach((value, i) => group.append(drawn("rect", "", {
    x: (x + i * CELL).toFixed(1), y: (y - height / 2).toFixed(1), width: CELL, height,
    fill: shade(colors.differences, 0.5 + value / (2 * limit)),
  })));
  group.append(drawn("rect", "edge", { x, y: y - height / 2, width: values.length * CELL, height }));
}

function limitOf(rows) {
  return Math.max(1e-6, ...rows.flat().map(Math.abs));
}

function column(view, one, group, x, step, layer, head) {
  const { lane } = one;
  const kept = step.values.shape[step.values.shape.length - 1];
  const tokens = step.values.shape[step.values.shape.length - 2];
  const rows = lane.tokens.slice(0, tokens).map((_, i) => Array.from({ length: kept }, (_, c) =>
    (head === undefined ? step.values.at(layer, i, c) : step.values.at(layer, head, i, c))));
  const limit = limitOf(rows);
  rows.forEach((values, i) => strip(group, values, x, one.y(i), Math.min(13, one.row - 4), limit, view.data.colors));
}

// Queries, keys and values have a color each, wherever they are drawn or named.
const ROLES = { queries: "query", keys: "key", values: "value" };

function title(view, one, group, at, text, step, shape) {
  const made = drawn("text", "title clickable", { x: at.x + (at.w || 0) / 2, y: one.top + 0.92 * view.layout.type, "text-anchor": "middle" });
  if (step === "qkv") text.split(" ").forEach((letter, i) => made.append(drawn("tspan", Object.values(ROLES)[i], i ? { dx: 22.1 - 0.7 * view.layout.type } : {}, letter)));
  else made.textContent = text;
  made.atlas = { step };
  group.append(made);
  if (shape && view.depth !== "idea") {
    group.append(drawn("text", "shape", { x: at.x + (at.w || 0) / 2, y: one.top + 26, "text-anchor": "middle" }, shape));
  }
}

function plus(group, x, y, radius) {
  group.append(drawn("circle", "plus", { cx: x, cy: y, r: radius }));
  group.append(drawn("path", "sign", { d: `M${x - radius + 2} ${y}h${2 * radius - 4}M${x} ${y - radius + 2}v${2 * radius - 4}` }));
}

function bypass(one, group, from, to) {
  const y = one.top + HEADER - 3;
  group.append(drawn("path", "skip run", { d: `M${from} ${y + 6}V${y - 5}H${to}V${y + 1}` }));
  group.append(drawn("path", "tip", { d: `M${to - 4} ${y}h8l-4 6z` }));
}

// Lines from keys (left) to queries (right); those of the chosen query are strong.
function fan(view, one, group, kind, box, keyY, mode, head, chosen) {
  const { lane } = one;
  const layer = Math.min(view.layer, lane.layers - 1);
  const weights = lane.block[`${kind}-weights`].values;
  const scores = lane.block[`${kind}-scores`].values;
  const { allowed } = lane.block[`${kind}-mask`];
  const [, , queries, keys] = weights.shape;
  const left = box.x + (kind === "attention" ? 0 : 52), right = box.x + box.w;
  const line = (i, j) => `M${left} ${keyY(j).toFixed(1)}C${left + 40} ${keyY(j).toFixed(1)} ${right - 40} ${one.y(i).toFixed(1)} ${right} ${one.y(i).toFixed(1)}`;
  const may = (i, j) => allowed[i * keys + j] === "1";
  const peak = limitOf(Array.from({ length: keys }, (_, j) => (may(chosen, j) ? scores.at(layer, head, chosen, j) : 0)));
  const order = [...Array(queries).keys()].filter((i) => i !== chosen).concat(chosen);
  order.forEach((i) => {
    for (let j = 0; j < keys; j += 1) {
      const weight = weights.at(layer, head, i, j);
      const strong = i === chosen;
      if (!may(i, j)) {
        if (strong && mode === "mask") group.append(drawn("path", "blocked", { d: line(i, j) }));
      } else if (strong && mode === "scores") {
        const score = scores.at(layer, head, i, j);
        group.append(drawn("path", "link", { d: line(i, j), "stroke-width": (0.8 + 4 * Math.abs(score) / peak).toFixed(2),
          style: `stroke:${shade(view.data.colors.differences, 0.5 + score / (2.2 * peak))}` }));
      } else if (mode === "mask") {
        group.append(drawn("path", "link", { d: line(i, j), "stroke-width": strong ? 1.8 : 1, "stroke-opacity": strong ? 1 : 0.2 }));
      } else if (strong ? weight > 0.002 : weight > 0.06 && mode === "weights") {
        group.append(drawn("path", "link", { d: line(i, j),
          "stroke-width": (strong ? 0.8 + 6 * weight : 1).toFixed(2), "stroke-opacity": (strong ? 0.5 + 0.5 * weight : 0.3 * weight).toFixed(3) }));
      }
      const told = view.depth === "numbers" || (mode === "weights" && weight >= 0.1);
      if (strong && told) {
        const text = mode === "mask" ? (may(i, j) ? "0" : "−∞") : !may(i, j) ? "0" : mode === "scores"
          ? number(scores.at(layer, head, i, j)) : share(weight);
        if (mode !== "weights" || weight >= 0.005) group.append(drawn("text", "number", { x: left + 5, y: keyY(j) + 4 }, text));
      }
    }
  });
  for (let j = 0; j < keys; j += 1) group.append(drawn("circle", "dot key", { cx: left, cy: keyY(j), r: 2.2 }));
  for (let i = 0; i < queries; i += 1) group.append(drawn("circle", "dot query", { cx: right, cy: one.y(i), r: i === chosen ? 3.2 : 2.2 }));
}

function cells(group, x, y, side, rows, columns, color) {
  const [w, h] = [side / columns, side / rows];
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < columns; j += 1) {
      const fill = color(i, j);
      if (fill) group.append(drawn("rect", "", { x: (x + j * w).toFixed(2), y: (y + i * h).toFixed(2), width: (w + 0.15).toFixed(2), height: (h + 0.15).toFixed(2), fill }));
    }
  }
  group.append(drawn("rect", "edge", { x, y, width: side, height: side, rx: 1 }));
}

function maskOf(view, one, group, x, y, side, kind, text) {
  const step = one.lane.block[`${kind}-mask`];
  const keys = step.shape[step.shape.length - 1], queries = step.shape[step.shape.length - 2];
  cells(group, x, y, side, queries, keys, (i, j) => (step.allowed[i * keys + j] === "1" ? "var(--accent)" : "url(#hatch)"));
  text.forEach((line, i) => group.append(drawn("text", i ? "title" : "small", { x: x + side + 6, y: y + side / 2 - 3 + 15 * i }, line)));
}

function maskName(one, kind) {
  if (kind === "cross-attention") return "all";
  return one.lane.block["attention-mask"].allowed.includes("0") ? "causal" : "bidirectional";
}

function headsOf(view, one, group, kind, x, y, side, perRow) {
  const weights = one.lane.block[`${kind}-weights`].values;
  const [, heads, queries, keys] = weights.shape;
  const { allowed } = one.lane.block[`${kind}-mask`];
  for (let h = 0; h < heads; h += 1) {
    const mark = drawn("g", `clickable head${h === Math.min(view.head, heads - 1) ? " selected" : ""}`, {
      role: "button", tabindex: h === Math.min(view.head, heads - 1) ? 0 : -1,
      "aria-pressed": String(h === Math.min(view.head, heads - 1)), "aria-label": `Head ${h + 1} of ${heads}`,
    });
    mark.atlas = { head: h };
    const at = [x + (h % perRow) * (side + 5), y + Math.floor(h / perRow) * (side + 16)];
    mark.append(drawn("rect", "back", { x: at[0], y: at[1], width: side, height: side, fill: "transparent" }));
    cells(mark, at[0], at[1], side, queries, keys, (i, j) => {
      const weight = weights.at(Math.min(view.layer, one.lane.layers - 1), h, i, j);
      if (allowed[i * keys + j] !== "1") return "url(#hatch)";
      return weight > 0.005 ? shade(view.data.colors.amounts, weight) : "";
    });
    group.append(mark);
  }
}

function chip(view, one, i, group) {
  const { lane, x } = one, token = lane.tokens[i];
  const main = one.number === view.lanes.length - 1;
  const chosen = i === (main ? view.position : view.source);
  const predicted = view.lanes.length === 1 && view.data.answers.some((answer) => answer.position === i);
  const special = /^[<[].*[\]>]$/.test(token);
  const mark = drawn("g", ["clickable token", chosen && "selected", predicted && "predicted", special && "special"].filter(Boolean).join(" "), {
    role: "button", tabindex: chosen ? 0 : -1, "aria-pressed": String(chosen), "aria-label": `${token}, position ${i + 1}`,
  });
  mark.atlas = main ? { position: i } : { source: i };
  const height = Math.min(20, one.row - 2);
  mark.append(drawn("rect", "chip", { x: x.tokens.x, y: one.y(i) - height / 2, width: x.tokens.w, height, rx: 5 }));
  const idShown = view.depth === "numbers";
  mark.append(drawn("text", "mono", { x: x.tokens.x + 6, y: one.y(i) + 0.35 * view.layout.type, direction: "ltr" }, cut(token, idShown ? 6 : view.layout.type > TYPE ? 9 : 11)));
  if (idShown) mark.append(drawn("text", "small", { x: x.tokens.x + x.tokens.w - 4, y: one.y(i) + 4, "text-anchor": "end" }, String(lane.ids[i])));
  group.append(mark);
}

function lane(view, one, root, parts, layout) {
  const { lane: own, x, number } = one;
  const main = number === view.lanes.length - 1;
  const layer = Math.min(view.layer, own.layers - 1), head = Math.min(view.head, own.heads - 1);
  const chosen = main ? view.position : view.source;
  const n = own.tokens.length;
  const rowsTop = one.top + HEADER, height = one.bottom - rowsTop;
  const active = view.data.steps[view.at].lane === number;
  const mode = (active && { scores: "scores", mask: "mask", causal: "mask" }[view.step]) || "weights";
  const part = (name, box) => {
    const group = drawn("g", "part", { "data-part": `${number}:${name}` });
    parts[`${number}:${name}`] = { group, box: { x: box.x, y: one.top, w: box.w, h: one.bottom - one.top } };
    root.append(group);
    return group;
  };
  const shape = (slug) => size(own.block[slug].shape);

  // The block's frame, with those behind it.
  const frame = part("frame", x.frame);
  [8, 4].slice(own.layers > 2 ? 0 : own.layers > 1 ? 1 : 2).forEach((shift) => frame.append(drawn("rect", "behind", {
    x: x.frame.x + shift, y: rowsTop - 12 - shift, width: x.frame.w, height: height + 32, rx: 9 })));
  frame.append(drawn("rect", "frame", { x: x.frame.x, y: rowsTop - 12, width: x.frame.w, height: height + 32, rx: 9 }));
  const name = drawn("text", "small clickable", { x: x.frame.x + 9, y: one.bottom + 15 },
    `${layout.lanes.length > 1 ? own.side + " " : ""}block ${layer + 1} of ${own.layers}`);
  name.atlas = { step: "blocks" };
  frame.append(name);

  // The residual stream: one line for each token.
  const stream = part("stream", x.frame);
  const until = main ? x.output.x - 6 : x.states.x + x.states.w;
  for (let i = 0; i < n; i += 1) {
    stream.append(drawn("path", `stream${i === chosen ? " selected" : ""}`, { d: `M${x.token.x} ${one.y(i)}H${until}` }));
  }

  const tokens = part("tokens", x.tokens);
  title(view, one, tokens, x.tokens, main && layout.lanes.length > 1 ? "Output" : layout.lanes.length > 1 ? "Source" : "Tokens",
    main && layout.lanes.length > 1 ? "target" : "tokens", `${n}`);
  for (let i = 0; i < n; i += 1) chip(view, one, i, tokens);

  const token = part("token", x.token);
  const summed = Boolean(x.position);
  title(view, one, token, summed ? { x: x.token.x, w: x.position.x + x.position.w - x.token.x } : x.token, summed ? "Embeddings" : "Embed",
    "embeddings", size([n, own.block["attention-projected"].shape[1]]));
  column(view, one, token, x.token.x, own.embedding["embedding-token"], 0);
  if (summed) {
    const position = part("position", x.position);
    column(view, one, position, x.position.x, own.embedding["embedding-position"], 0);
    for (let i = 0; i < n; i += 1) position.append(drawn("path", "sign", { d: `M${x.position.x - 12} ${one.y(i)}h6m-3 -3v6` }));
  }

  const queries = part("qkv", x.qkv);
  title(view, one, queries, x.qkv, "Q K V", "qkv", view.lanes.length > 1 ? "" : shape("attention-queries"));
  Object.entries(ROLES).forEach(([what, role], k) => {
    const at = x.qkv.x + k * (4 * CELL + 6);
    column(view, one, queries, at, own.block[`attention-${what}`], layer, head);
    queries.append(drawn("rect", `role ${role}`, { x: at - 1.5, y: rowsTop - 1, width: 4 * CELL + 3, height: height + 2, rx: 3 }));
  });

  const lines = part("fan", x.fan);
  title(view, one, lines, x.fan, "Attention", "weights", shape("attention-weights"));
  fan(view, one, lines, "attention", x.fan, one.y, mode, head, chosen);

  const mix = part("mix", x.mix);
  column(view, one, mix, x.mix.x, own.block["attention-mix"], layer, head);

  const add = part("add", x.add);
  for (let i = 0; i < n; i += 1) plus(add, x.add.x + x.add.w / 2, one.y(i), Math.min(6, one.row / 3));
  bypass(one, add, (own.prenorm ? x.norm1.x : x.qkv.x) - 5, x.add.x + x.add.w / 2);

  const norms = { norm1: "attention", normx: "cross-attention", norm2: "feed-forward" };
  Object.keys(norms).filter((key) => x[key]).forEach((key) => {
    const group = part(key, x[key]);
    group.append(drawn("rect", "norm", { x: x[key].x, y: rowsTop + 1, width: 14, height: height - 2, rx: 4 }));
    const middle = [x[key].x + 11, (rowsTop + one.bottom) / 2];
    group.append(drawn("text", "small", { x: middle[0], y: middle[1], "text-anchor": "middle", transform: `rotate(-90 ${middle.join(" ")})` }, "norm"));
  });

  if (x.cross) {
    const source = view.lanes[0].tokens;
    const cross = part("cross", x.cross);
    const keyY = (j) => rowsTop + height * (j + 0.5) / source.length;
    title(view, one, cross, x.cross, "Cross-attention", "cross", shape("cross-attention-weights"));
    source.forEach((word, j) => cross.append(drawn("text", "mono number", { x: x.cross.x + 48, y: keyY(j) + 4, "text-anchor": "end",
      style: `font: ${Math.min(11.5, height / source.length + 1).toFixed(1)}px var(--st-code-font, monospace)` }, cut(word, 7))));
    fan(view, one, cross, "cross-attention", x.cross, keyY, "weights", Math.min(view.head, own.block["cross-attention-weights"].shape[0] - 1), chosen);
    const addx = part("addx", x.addx);
    for (let i = 0; i < n; i += 1) plus(addx, x.addx.x + x.addx.w / 2, one.y(i), Math.min(6, one.row / 3));
    bypass(one, addx, (own.prenorm ? x.normx.x : x.cross.x) - 2, x.addx.x + x.addx.w / 2);
  }

  const ffn = part("ffn", x.ffn);
  title(view, one, ffn, x.ffn, "Feed-forward", "feed-forward", shape("feed-forward-inner"));
  const [a, b, c] = [x.ffn.x, x.ffn.x + x.ffn.w / 2, x.ffn.x + x.ffn.w];
  const narrow = Math.min(height * 0.18, 40);
  ffn.append(drawn("path", "bend", { d: `M${a} ${rowsTop + narrow}L${b - 20} ${rowsTop}H${b + 20}L${c} ${rowsTop + narrow}V${one.bottom - narrow}L${b + 20} ${one.bottom}H${b - 20}L${a} ${one.bottom - narrow}Z` }));
  column(view, one, ffn, b - 4 * CELL, own.block["feed-forward-activation"], layer);
  const add2 = part("add2", x.add2);
  for (let i = 0; i < n; i += 1) plus(add2, x.add2.x + x.add2.w / 2, one.y(i), Math.min(6, one.row / 3));
  bypass(one, add2, (own.prenorm ? x.norm2.x : x.ffn.x) - 4, x.add2.x + x.add2.w / 2);

  const states = part("states", x.states);
  const ended = Object.values(own.end);
  const within = active && (view.step === "blocks" || view.step === "decoder");
  const shown = within || !ended.length ? outOf(own, within ? layer : own.layers - 1) : { step: ended[ended.length - 1], layer: 0 };
  title(view, one, states, x.states, main ? "States" : "Output", main ? "output" : "blocks", "");
  column(view, one, states, x.states.x, shown.step, shown.layer);
}

function output(view, one, root, parts) {
  const { x } = one;
  const group = drawn("g", "part", { "data-part": "output" });
  parts.output = { group, box: { x: x.output.x, y: one.top, w: x.output.w, h: one.bottom - one.top } };
  root.append(group);
  const main = view.lanes.length - 1;
  const early = view.step === "blocks" && main === 0;
  const answer = view.data.answers.find((each) => each.position === view.position) || view.data.answers[0];
  const own = early ? { ...view.data.lens[Math.min(view.layer, one.lane.layers - 1) + 1], position: view.data.answers[0]?.position ?? 0 } : answer;
  if (!own) return;
  title(view, one, group, x.output, early ? `After block ${view.layer + 1}` : "Prediction", "output", `of ${view.data.vocabulary.toLocaleString("en-US")} entries`);
  const token = one.lane.tokens[own.position];
  const rowsTop = one.top + HEADER, room = Math.max(one.bottom - rowsTop, 8 * 19);
  const step = Math.min(26, room / own.tokens.length);
  group.append(drawn("text", "small", { x: x.output.x + x.output.w / 2, y: one.top + 40, "text-anchor": "middle" }, view.data.architecture === "encoder" ? `at “${cut(token, 10)}”` : `after “${cut(token, 10)}”`));
  const { type } = view.layout, bar = x.output.x + 4.8 * type + 5;
  own.tokens.forEach((word, k) => {
    const y = rowsTop + step * (k + 0.5), chance = own.probabilities[k];
    group.append(drawn("text", "mono", { x: bar - 5, y: y + 0.35 * type, "text-anchor": "end" }, cut(word, 8)));
    group.append(drawn("rect", "bar-back", { x: bar, y: y - 6, width: 52, height: 12, rx: 2 }));
    group.append(drawn("rect", "chance", { x: bar, y: y - 6, width: Math.max(1, 52 * chance), height: 12, rx: 2 }));
    group.append(drawn("text", "small", { x: bar + 56, y: y + 0.31 * type }, percent(chance)));
  });
  one.x.output.bottom = rowsTop + step * own.tokens.length;
}

// What sets the architectures apart: the masks, and what leads from one lane to the other or back to the input.
function masks(view, layout, root, parts) {
  const end = layout.lanes[layout.lanes.length - 1];
  const group = drawn("g", "part", { "data-part": "mask" });
  root.append(group);
  if (layout.lanes.length === 1) {
    const [x, y] = [end.x.tokens.x, layout.below + 2];
    parts.mask = { group, box: { x, y, w: 130, h: layout.heads } };
    maskOf(view, end, group, x, y, layout.heads, "attention", ["mask:", maskName(end, "attention")]);
    return;
  }
  const [first] = layout.lanes;
  const x = first.end + 24, room = first.bottom - first.top - HEADER + 20;
  const side = Math.min(46, (room - 20) / 3);
  parts.mask = { group, box: { x, y: first.top, w: 190, h: room } };
  group.append(drawn("text", "title", { x, y: first.top + 12 }, "Attention masks"));
  group.append(drawn("text", "small", { x, y: first.top + 26 }, "query → key"));
  [[first, "attention", "source → source"], [end, "attention", "output → output"], [end, "cross-attention", "output → source"]].forEach(([one, kind, what], k) => {
    maskOf(view, one, group, x, first.top + 34 + k * (side + 7), side, kind, [what, maskName(one, kind)]);
  });
}

function heads(view, layout, root, parts) {
  const end = layout.lanes[layout.lanes.length - 1], pair = layout.lanes.length > 1;
  const number = view.data.steps.find((step) => step.slug === view.step).lane;
  const one = layout.lanes[number], kind = view.step === "cross" ? "cross-attention" : "attention";
  const group = drawn("g", "part", { "data-part": "heads", role: "group", "aria-label": "Heads" });
  root.append(group);
  if (!pair) {
    const [x, y] = [end.x.frame.x + 4, layout.below + 2];
    parts.heads = { group, box: { x, y, w: end.x.frame.w, h: layout.heads } };
    group.append(drawn("text", "small", { x: x - 8, y: y + layout.heads / 2 + 4, "text-anchor": "end" }, "heads"));
    headsOf(view, one, group, kind, x, y, layout.heads, one.lane.heads);
    return;
  }
  const [first] = layout.lanes;
  const x = first.end + 204, room = layout.width - x - 4;
  parts.heads = { group, box: { x, y: first.top, w: room, h: first.bottom - first.top } };
  group.append(drawn("text", "title", { x, y: first.top + 12 }, "Heads"));
  group.append(drawn("text", "small", { x, y: first.top + 26 }, kind === "attention" ? `${one.lane.side}, attention` : kind));
  const across = Math.ceil(Math.sqrt(one.lane.heads));
  headsOf(view, one, group, kind, x, first.top + 34, Math.min(54, room / across - 6), across);
}

function ties(view, layout, root, parts) {
  const end = layout.lanes[layout.lanes.length - 1];
  if (layout.lanes.length > 1) {
    const [first] = layout.lanes, group = drawn("g", "part", { "data-part": "bus" });
    const from = first.x.states.x + first.x.states.w, y = (first.top + HEADER + first.bottom) / 2;
    const to = end.x.cross.x + 24, gap = first.bottom + 27;
    parts.bus = { group, box: { x: to - 20, y: first.top, w: from - to + 60, h: end.bottom - first.top } };
    group.append(drawn("path", "bus run", { d: `M${from + 2} ${y}h12V${gap}H${to}V${end.top + 30}` }));
    group.append(drawn("path", "tip", { d: `M${to - 6} ${end.top + 29}h12l-6 9z`, style: "fill:var(--accent)" }));
    group.append(drawn("text", "small", { x: Math.max(from, to) + 20, y: gap + 4 }, "keys and values"));
    root.append(group);
  }
  if (!layout.loops || !view.data.answers.length) return;
  const group = drawn("g", "part", { "data-part": "loop" });
  const answer = view.data.answers[view.data.answers.length - 1], y = end.bottom + 12;
  parts.loop = { group, box: { x: 0, y, w: layout.width, h: 30 } };
  const { x, w } = end.x.tokens, middle = end.x.output.x + 92;
  group.append(drawn("path", "loop run", { d: `M${middle} ${end.x.output.bottom + 4}V${end.bottom + 31}H${x + w / 2}V${y + 11}` }));
  group.append(drawn("path", "tip", { d: `M${x + w / 2 - 5} ${y + 15}h10l-5 -7z`, style: "fill:var(--accent)" }));
  const ghost = drawn("g", "ghost", {});
  ghost.append(drawn("rect", "chip", { x, y: y - 10, width: w, height: 19, rx: 5 }));
  ghost.append(drawn("text", "mono", { x: x + 6, y: y + 4 }, cut(answer.tokens[0], 11)));
  group.append(ghost);
  root.append(group);
}

function picture(view) {
  const layout = plan(view), root = view.svg, parts = {};
  view.layout = layout;
  root.style.setProperty("--type", `${layout.type}px`);
  const hatch = drawn("pattern", "", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  hatch.append(drawn("path", "hatch", { d: "M2.5 0V5" }));
  root.replaceChildren(hatch);
  layout.lanes.forEach((one) => lane(view, one, root, parts, layout));
  output(view, layout.lanes[layout.lanes.length - 1], root, parts);
  masks(view, layout, root, parts);
  heads(view, layout, root, parts);
  ties(view, layout, root, parts);
  view.parts = parts;
}
