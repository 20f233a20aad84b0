// A mask as a board of cells: queries (rows) attend to keys (columns). A click, Enter or Space switches a cell, arrow keys move.

const SVG = "http://www.w3.org/2000/svg";
const LETTER = 0.62; // width of a letter as a part of its size
const TURN = Math.PI / 3; // labels of columns lean

function drawn(kind, attributes, text) {
  const one = document.createElementNS(SVG, kind);
  Object.entries(attributes).forEach(([name, value]) => one.setAttribute(name, value));
  if (text !== undefined) one.textContent = text;
  return one;
}

const wide = (text) => [...text].reduce((sum, c) => sum + (c.codePointAt(0) > 0x2e7f ? 2 : 1), 0);

function measure(data, room, screen) {
  const size = 13;
  const longest = (labels) => Math.max(1, ...labels.map(wide)) * size * LETTER;
  const [left, slant] = [longest(data.rows) + size + 16, longest(data.cols)];
  const [top, right] = [slant * Math.sin(TURN) + size + 18, Math.max(6, slant * Math.cos(TURN))];
  const most = Math.min(44, Math.floor((screen - top - 4 * size) / data.rows.length));
  const side = Math.max(3, Math.min(most, Math.floor((Math.min(room, 54 * size) - left - right) / data.cols.length)));
  return {
    size, left, top, side, width: left + side * data.cols.length + right, height: top + side * data.rows.length + 4,
    every: Math.max(1, Math.ceil((size + 1) / side)), // labels that would stand on each other are thinned out
  };
}

const allowed = (state, cell) => (state.data.bits[cell] === "1") !== state.flips.has(cell);

function draw(state) {
  const { data, svg } = state;
  const scale = state.root.getBoundingClientRect().width / state.root.offsetWidth || 1; // a presentation's
  const room = measure(data, state.root.clientWidth || 560, innerHeight / scale);
  const { side, left, top, size } = room;
  const [rows, cols] = [data.rows.length, data.cols.length];
  state.room = room;
  svg.setAttribute("viewBox", `0 0 ${room.width} ${room.height}`);
  svg.setAttribute("width", room.width);
  svg.setAttribute("height", room.height);
  let [on, dots, changed, lines] = ["", "", "", ""];
  svg.style.setProperty("--rows", rows);
  svg.style.setProperty("--since", `${state.since - performance.now()}ms`);
  const dot = side >= 9 ? Math.max(1.5, side / 8) : 0;
  for (let q = 0; q < rows; q += 1) {
    for (let k = 0; k < cols; k += 1) {
      const cell = q * cols + k;
      const [x, y] = [left + k * side, top + q * side];
      if (allowed(state, cell)) {
        on += `M${x} ${y}h${side}v${side}h${-side}z`;
        const [cx, cy] = [x + side / 2 - dot, y + side / 2];
        if (dot) dots += `M${cx} ${cy}a${dot} ${dot} 0 1 0 ${2 * dot} 0a${dot} ${dot} 0 1 0 ${-2 * dot} 0z`;
      }
      if (state.flips.has(cell)) {
        const inner = side - Math.min(6, side / 2);
        changed += `M${x + (side - inner) / 2} ${y + (side - inner) / 2}h${inner}v${inner}h${-inner}z`;
      }
    }
  }
  for (let k = 0; k <= cols; k += 1) lines += `M${left + k * side} ${top}v${rows * side}`;
  for (let q = 0; q <= rows; q += 1) lines += `M${left} ${top + q * side}h${cols * side}`;
  const hatch = drawn("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  hatch.append(drawn("path", { class: "hatch", d: "M3 0V6" }));
  const parts = [
    hatch,
    drawn("rect", { class: "ground", x: left - 1, y: top - 1, width: cols * side + 2, height: rows * side + 2 }),
    drawn("path", { class: "on fresh", d: on }),
    drawn("path", { class: "lines", d: side >= 6 ? lines : "" }),
    drawn("path", { class: "dots fresh", d: dots }),
    drawn("path", { class: "changed", d: changed }),
  ];
  const [q, k] = state.over || (state.focused ? state.at : [-1, -1]);
  if (q >= 0) {
    parts.push(drawn("rect", { class: "cross", x: left, y: top + q * side, width: cols * side, height: side }));
    parts.push(drawn("rect", { class: "cross", x: left + k * side, y: top, width: side, height: rows * side }));
  }
  if (state.focused) {
    const [row, column] = state.at;
    parts.push(drawn("rect", { class: "cursor", x: left + column * side, y: top + row * side, width: side, height: side }));
  }
  data.rows.forEach((name, i) => {
    if (i % room.every && i !== q) return;
    parts.push(drawn("text", {
      class: i === q ? "here" : "", x: left - 6, y: top + i * side + side / 2 + size / 3, "text-anchor": "end",
      "font-size": size,
    }, name));
  });
  data.cols.forEach((name, i) => {
    if (i % room.every && i !== k) return;
    const [x, y] = [left + i * side + side / 2 + size / 4, top - 5];
    parts.push(drawn("text", {
      class: i === k ? "here" : "", transform: `translate(${x} ${y}) rotate(-60)`, "font-size": size,
    }, name));
  });
  parts.push(drawn("text", { class: "axis", x: left, y: size + 1, "font-size": size }, data.across + " →"));
  const down = `translate(4 ${top}) rotate(90)`;
  parts.push(drawn("text", { class: "axis", transform: down, "font-size": size }, data.down + " →"));
  svg.replaceChildren(...parts);
}

function say(state, place) {
  const [q, k] = place;
  const { data } = state;
  const cell = q * data.cols.length + k;
  const by = state.flips.has(cell) ? ", changed by hand" : "";
  state.said.textContent =
    `${data.rows[q]} (${q}) ${allowed(state, cell) ? "attends to" : "does not attend to"} ${data.cols[k]} (${k})${by}`;
}

function turn(state, place) {
  const cell = place[0] * state.data.cols.length + place[1];
  if (!state.flips.has(cell) && state.flips.size >= state.data.most) {
    state.said.textContent = `${state.data.most} cells are changed, the most that a link can hold. Restore one first.`;
    return;
  }
  if (!state.flips.delete(cell)) state.flips.add(cell);
  state.at = place;
  state.count += 1;
  draw(state);
  say(state, place);
  state.send("sent", { flips: [...state.flips].sort((a, b) => a - b), count: state.count });
}

function under(state, event) {
  const box = state.svg.getBoundingClientRect();
  const scale = state.room.width / box.width;
  const k = Math.floor(((event.clientX - box.left) * scale - state.room.left) / state.room.side);
  const q = Math.floor(((event.clientY - box.top) * scale - state.room.top) / state.room.side);
  return q >= 0 && k >= 0 && q < state.data.rows.length && k < state.data.cols.length ? [q, k] : null;
}

function key(state, event) {
  const [rows, cols] = [state.data.rows.length, state.data.cols.length];
  let [q, k] = state.at;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    turn(state, state.at);
    return;
  }
  if (event.key === "ArrowLeft") k -= 1;
  else if (event.key === "ArrowRight") k += 1;
  else if (event.key === "ArrowUp") q -= 1;
  else if (event.key === "ArrowDown") q += 1;
  else if (event.key === "Home") [q, k] = event.ctrlKey ? [0, 0] : [q, 0];
  else if (event.key === "End") [q, k] = event.ctrlKey ? [rows - 1, cols - 1] : [q, cols - 1];
  else return;
  event.preventDefault();
  state.at = [Math.min(rows - 1, Math.max(0, q)), Math.min(cols - 1, Math.max(0, k))];
  state.over = null;
  draw(state);
  say(state, state.at);
}

function saved(state) {
  const [focused, over] = [state.focused, state.over];
  Object.assign(state, { focused: false, over: null });
  draw(state);
  const { width, height } = state.room;
  const ground = getComputedStyle(state.root).getPropertyValue("--back");
  const text = standalone(state.svg, state.data.label, ground, [0, 0, width, height]);
  Object.assign(state, { focused, over });
  draw(state);
  return { text, width, height };
}

function save(state, kind) {
  const { text, width, height } = saved(state);
  if (kind === "svg") {
    download(new Blob([text], { type: "image/svg+xml" }), `${state.data.file}.svg`);
    return;
  }
  const image = new Image();
  image.onload = () => {
    const sheet = document.createElement("canvas");
    [sheet.width, sheet.height] = [2 * width, 2 * height];
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    sheet.toBlob((blob) => download(blob, `${state.data.file}.png`));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}

function listen(state) {
  const { svg } = state;
  svg.onclick = (event) => {
    const place = under(state, event);
    if (place) turn(state, place);
  };
  svg.onpointermove = (event) => {
    const place = under(state, event);
    if (String(place) === String(state.over)) return;
    state.over = place;
    draw(state);
    if (place) say(state, place);
  };
  svg.onpointerleave = () => {
    state.over = null;
    draw(state);
  };
  svg.onfocus = () => {
    // a cursor for those who walk by keys; after a click the pointer shows the place
    state.focused = svg.matches(":focus-visible");
    draw(state);
    if (state.focused) say(state, state.at);
  };
  svg.onblur = () => {
    state.focused = false;
    draw(state);
  };
  svg.onkeydown = (event) => {
    state.focused = true;
    key(state, event);
  };
  state.root.querySelector(".svg").onclick = () => save(state, "svg");
  state.root.querySelector(".png").onclick = () => save(state, "png");
  new ResizeObserver(() => draw(state)).observe(state.root);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".board");
  const first = !root.atlas;
  const state = root.atlas || (root.atlas = { root, sign: null, count: 0, flips: new Set(), at: [0, 0], over: null });
  Object.assign(state, { data, send: setTriggerValue, svg: root.querySelector("svg"), said: root.querySelector("output") });
  root.style.setProperty("--accent", data.accent);
  root.style.setProperty("--on-accent", data.onAccent);
  state.svg.setAttribute("aria-label", data.label);
  const sign = JSON.stringify([data.rows, data.cols, data.bits]);
  const fresh = sign !== state.sign;
  // An answer to an older click must not undo a newer one, so clicks are counted and older answers are passed over.
  if (fresh || data.count >= state.count) {
    state.flips = new Set(data.flips);
    state.count = Math.max(state.count, data.count);
  }
  if (fresh) {
    state.sign = sign;
    state.at = [Math.min(state.at[0], data.rows.length - 1), Math.min(state.at[1], data.cols.length - 1)];
    state.said.textContent = "";
    state.since = performance.now();
  }
  if (first) listen(state);
  draw(state);
}
