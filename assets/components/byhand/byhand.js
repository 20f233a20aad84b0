// Three tokens in two dimensions: numbers in cells that a visitor changes, each further number with its computation.

const PAUSE = 400; // milliseconds until what was changed is sent

const place = ([tensor, row, column]) => `${tensor}${row + 1}${column + 1}`;
const parsed = (name) => [name.slice(0, -2), Number(name.at(-2)) - 1, Number(name.at(-1)) - 1];

function sizeOf(state, tensor) {
  const rows = state.tensors[tensor];
  return [rows.length, rows[0].length + (tensor[0] === "a" ? 1 : 0)]; // weights have their sum
}

function send(state) {
  state.count += 1;
  clearTimeout(state.timer);
  state.timer = setTimeout(() => state.send("sent", {
    cells: writeCells(state.cells, state.data.cells), mode: state.mode, mask: state.causal ? "causal" : "none",
    at: place(state.at), until: state.until, count: state.count,
  }), PAUSE);
}

/** The text of a computation, with powers raised. */
function written(parent, text) {
  text.split(/(e\^[−\d.]+)/).forEach((part) => {
    if (!part.startsWith("e^")) return parent.append(part);
    parent.append("e", element("sup", "", part.slice(2)));
  });
}

function explain(state) {
  const { data, said } = state;
  const { tensors, mode } = state;
  const at = state.over || state.at;
  const [tensor, row, column] = at;
  const letter = tensor[0];
  const words = data.words;
  const { text, sources } = origin(tensors, mode, at, words);
  const names = new Set(sources.map(place));
  state.cellsByPlace.forEach((cell, name) => {
    cell.classList.toggle("source", names.has(name));
    cell.classList.toggle("shown", name === place(at));
  });
  state.root.querySelectorAll(".live [data-for]").forEach((part) => {
    part.classList.toggle("here", part.dataset.for.includes(letter));
    const later = ![...part.dataset.for].some((name) => state.letters.has(name));
    part.hidden = later || (Boolean(part.dataset.mode) && part.dataset.mode !== mode);
  });
  const of = "smdxa".includes(letter) && column < data.tokens.length
    ? `${data.tokens[row]} → ${data.tokens[column]}` : data.tokens[tensor === "g" || tensor === "t" || tensor === "w" ? -1 : row];
  said.replaceChildren(element("strong", `of-${letter}`, [symbol(state, tensor), of].filter(Boolean).join(" · ")), " ");
  const computation = element("span", "sum");
  written(computation, text || words.chosen);
  said.append(computation, element("span", "because", words.stages[letter].because));
}

const symbol = (state, tensor) => state.data.words.stages[tensor[0]].symbol + (state.mode === "heads" && tensor[1] ? "₁₂"[tensor[1] - 1] : "");

/** What stands in a cell. */
function valueAt(state, [tensor, row, column]) {
  const values = state.tensors[tensor][row];
  return column < values.length ? values[column] : 1;
}

function refresh(state) {
  state.tensors = compute(state.cells, state.mode, state.causal);
  state.cellsByPlace.forEach((cell, name) => {
    const value = valueAt(state, parsed(name));
    const input = cell.querySelector("input");
    if (input) {
      if (input !== state.typing) input.value = shown(value);
    } else {
      cell.textContent = shown(value);
      cell.classList.toggle("masked", value === -Infinity);
    }
    const tensor = name.slice(0, -2);
    if (tensor[0] === "a" && !cell.classList.contains("total")) {
      cell.style.setProperty("--share", `${Math.round(value * 100)}%`);
    }
  });
  state.again.hidden = !writeCells(state.cells, state.data.cells);
  explain(state);
}

function refuse(state, input, tensor) {
  const { refused } = state;
  const { words } = state.data;
  input.setAttribute("aria-invalid", "true");
  const [low, high] = limits(tensor);
  const takes = (words.takes[tensor] || words.takes.other).replace("{low}", shown(low)).replace("{high}", shown(high));
  const typed = input.value.trim().slice(0, 20);
  refused.textContent = `${typed ? words.refused.replace("{typed}", () => typed) : words.empty} ${takes}`;
  refused.hidden = false;
}

function accept(state, input) {
  input.removeAttribute("aria-invalid");
  state.refused.hidden = true;
}

function typed(state, input, at) {
  const [tensor, row, column] = at;
  const value = readNumber(input.value, tensor);
  if (value === null) {
    refuse(state, input, tensor);
    return;
  }
  accept(state, input);
  if (value === state.cells[tensor][row][column]) return;
  state.cells = { ...state.cells, [tensor]: state.cells[tensor].map((values, i) => values.map((old, j) => (i === row && j === column ? value : old))) };
  state.typing = input;
  refresh(state);
  send(state);
}

function focusCell(state, at) {
  const cell = state.cellsByPlace.get(place(at));
  if (cell) (cell.querySelector("input") || cell).focus();
}

function move(state, event, at) {
  const input = event.target.matches("input") ? event.target : null;
  let key = event.key === "Enter" ? "ArrowDown" : event.key;
  if (!key.startsWith("Arrow") || event.altKey || event.ctrlKey || event.metaKey) return;
  if (input && (key === "ArrowLeft" || key === "ArrowRight")) {
    const [from, to, length] = [input.selectionStart, input.selectionEnd, input.value.length];
    const all = from === 0 && to === length; // a cell that was entered, not one that is being written
    if (!all && (from !== to || (key === "ArrowLeft" ? from > 0 : to < length))) return;
  }
  event.preventDefault();
  event.stopPropagation();
  const next = neighbor(state.rows, (tensor) => sizeOf(state, tensor), at, key);
  if (next) focusCell(state, next);
}

/** One block: a table with the tokens of its rows, and of its columns where these are keys. */
function block(state, tensor) {
  const { data } = state;
  const letter = tensor[0];
  const [height, width] = sizeOf(state, tensor);
  const stage = data.words.stages[letter];
  const table = element("table", `block of-${letter}`);
  const caption = element("caption", "");
  caption.append(element("b", `of-${letter}`, symbol(state, tensor)), ` ${stage.title}`);
  table.append(caption);
  table.setAttribute("role", "grid");
  const pairs = "sdmxa".includes(letter);
  const rows = height === data.tokens.length ? data.tokens : Array(height).fill("");
  const head = element("tr", "head");
  head.append(element("td", ""));
  for (let j = 0; j < width; j += 1) {
    const number = ["q1", "k1"].includes(tensor) ? data.dimensions[j] : String(j + 1);
    const name = pairs ? data.tokens[j] || "Σ" : width > 1 ? number : "";
    const th = element("th", pairs ? "key" : "", name);
    th.scope = "col";
    head.append(th);
  }
  table.append(head);
  for (let i = 0; i < height; i += 1) {
    const tr = element("tr", "");
    const th = element("th", "row", rows[i]);
    th.scope = "row";
    tr.append(th);
    for (let j = 0; j < width; j += 1) {
      const at = [tensor, i, j];
      const cell = element("td", letter === "a" && j === width - 1 ? "cell total" : "cell");
      const own = changeable(tensor) ? element("input", "") : cell;
      own.tabIndex = i || j ? -1 : 0;
      if (own !== cell) {
        own.autocomplete = "off";
        own.spellcheck = false;
        own.maxLength = 40;
        own.setAttribute("aria-label", [`${symbol(state, tensor)} ${stage.title}`, rows[i], width > 1 ? j + 1 : ""].filter(String).join(", "));
        own.oninput = () => typed(state, own, at);
        own.onblur = () => { // the number that counts stands in it again
          state.typing = null;
          own.removeAttribute("aria-invalid");
          own.value = shown(valueAt(state, at));
        };
        cell.append(own);
      }
      own.onfocus = () => {
        state.refused.hidden = true;
        table.querySelectorAll("[tabindex='0'], input").forEach((other) => { other.tabIndex = -1; });
        own.tabIndex = 0;
        if (own.select) own.select();
        state.over = null;
        if (place(state.at) === place(at)) return explain(state);
        state.at = at;
        explain(state);
        send(state);
      };
      own.onkeydown = (event) => {
        if (event.key === "Escape" && own.select) {
          own.value = shown(valueAt(state, at));
          accept(state, own);
          own.select();
        } else move(state, event, at);
      };
      cell.onpointerenter = (event) => {
        if (event.pointerType !== "mouse") return;
        state.over = at;
        explain(state);
      };
      tr.append(cell);
      state.cellsByPlace.set(place(at), cell);
    }
    table.append(tr);
  }
  return table;
}

function build(state) {
  const { data, root } = state;
  state.tensors = compute(state.cells, state.mode, state.causal);
  state.rows = layout(state.mode, state.until);
  state.letters = new Set([state.mode, "head"].flatMap((name) => layout(name, state.until).flat()).map(([letter]) => letter));
  state.cellsByPlace = new Map();
  state.over = null;
  const there = state.rows.flat().includes(state.at[0]);
  const [height, width] = there ? sizeOf(state, state.at[0]) : [0, 0];
  if (!there || state.at[1] >= height || state.at[2] >= width) state.at = [state.rows.at(-1).at(-1), 0, 0];
  const hand = root.querySelector(".hand");
  hand.replaceChildren(...state.rows.map((tensors) => {
    const row = element("div", "blocks");
    row.append(...tensors.map((tensor) => block(state, tensor)));
    return row;
  }));
  hand.onpointerleave = () => {
    state.over = null;
    explain(state);
  };
  const modes = root.querySelector(".modes");
  modes.replaceChildren(...Object.entries(data.words.modes).map(([mode, title]) => {
    const button = element("button", "", title);
    button.type = "button";
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", String(mode === state.mode));
    button.tabIndex = mode === state.mode ? 0 : -1;
    button.onclick = () => choose(state, mode);
    button.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const names = Object.keys(data.words.modes);
      choose(state, names[(names.indexOf(mode) + step + names.length) % names.length]);
      modes.querySelector("[aria-checked=true]").focus();
    };
    return button;
  }));
  state.more.hidden = state.until === "output";
  refresh(state);
}

function choose(state, mode) {
  if (mode === state.mode) return;
  state.mode = mode;
  state.until = "output";
  state.at = parsed({ head: "s131", rotation: "r131", temperature: "x131", heads: "y31" }[mode]);
  build(state);
  send(state);
}

/** The same steps of the live model, each beside the one that it belongs to. */
function drawLive(state) {
  const { data, root } = state;
  const live = root.querySelector(".live");
  live.hidden = !data.live;
  if (!data.live) return;
  const parts = data.live.parts.map(({ of, title, lines, bars, mode }) => {
    const part = element("div", "part");
    part.dataset.for = of;
    if (mode) part.dataset.mode = mode;
    part.append(element("b", `of-${of[0]}`, title), ...lines.map((line) => element("p", "", line)));
    (bars || []).forEach(([token, weight]) => {
      const bar = element("div", "weight");
      bar.append(element("span", "token", token), element("span", "length"), element("span", "number", shown(weight)));
      bar.style.setProperty("--share", `${Math.round(weight * 100)}%`);
      part.append(bar);
    });
    return part;
  });
  live.replaceChildren(element("h4", "", data.words.live_title), element("p", "", data.live.title), ...parts);
}

function listen(state) {
  const { root } = state;
  root.querySelector(".mask input").onchange = (event) => {
    state.causal = event.target.checked;
    refresh(state);
    send(state);
  };
  state.more.onclick = () => {
    const steps = ["inputs", "scores", "scaled", "mask", "weights", "output"];
    const before = new Set(state.rows.flat());
    do state.until = steps[steps.indexOf(state.until) + 1];
    while (state.until !== "output" && layout(state.mode, state.until).flat().every((tensor) => before.has(tensor)));
    build(state);
    state.at = [state.rows.flat().findLast((tensor) => !before.has(tensor)) || state.at[0], state.data.tokens.length - 1, 0];
    explain(state);
    state.cellsByPlace.get(place(state.at)).scrollIntoView({ block: "nearest" });
    send(state);
  };
  state.again.onclick = () => {
    state.cells = state.data.cells;
    state.refused.hidden = true;
    refresh(state);
    send(state);
    state.root.querySelector(".modes [aria-checked=true]").focus();
  };
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".byhand");
  const first = !root.atlas;
  const state = root.atlas || (root.atlas = { root, count: 0, cells: null, sign: "", typing: null });
  Object.assign(state, {
    data, send: setTriggerValue, said: root.querySelector("output"), refused: root.querySelector(".refused"),
    more: root.querySelector(".more"), again: root.querySelector(".again"),
  });
  const taken = first || data.count > state.count;
  if (taken) { // an answer to an older change must not undo a newer one
    state.count = data.count;
    Object.assign(state, { cells: data.now.cells, mode: data.now.mode, causal: data.now.mask === "causal", until: data.now.until });
    state.at = parsed(data.now.at);
  }
  const { words } = data;
  root.classList.toggle("hall", data.hall);
  root.querySelector(".modes").setAttribute("aria-label", words.mode);
  root.querySelector(".mask span").textContent = words.mask;
  root.querySelector(".mask input").checked = state.causal;
  state.more.textContent = words.more;
  state.again.textContent = words.again;
  if (first) listen(state);
  const sign = JSON.stringify([words, data.live]);
  if (sign !== state.sign) drawLive(state);
  if (sign !== state.sign || taken) build(state);
  state.sign = sign;
}
