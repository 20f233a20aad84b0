// Keys, pointer and choices of the grid.

function moveHead(down, across) {
  state.layer = Math.max(0, Math.min(LAYERS - 1, state.layer + down));
  state.head = Math.max(0, Math.min(HEADS - 1, state.head + across));
}

function moveQuery(to) {
  const last = shown.rows.length - 1;
  state.query = shown.rows[Math.max(0, Math.min(last, to))] ?? 0;
  state.key = null;
}

function opened(whether) {
  state.open = whether;
  refresh();
  by(whether ? "one" : "all").focus({ preventScroll: true });
}

/** Scroll so far that the chosen head, or the chosen row, can be seen below the sentence that says what it is. */
function reveal() {
  const box = overview.boxes?.[picture(state.layer, state.head)];
  const [from, high] = state.open
    ? [layout.top + shown.rows.indexOf(state.query) * layout.cell, layout.cell]
    : [box.y, box.height];
  const top = by(state.open ? "one" : "all").getBoundingClientRect().top + from;
  const first = by("said").getBoundingClientRect().bottom + 6, last = window.innerHeight - 6;
  if (top < first) window.scrollBy(0, top - first);
  else if (top + high > last) window.scrollBy(0, top + high - last);
}

const ALL = {
  ArrowUp: () => moveHead(-1, 0),
  ArrowDown: () => moveHead(1, 0),
  ArrowLeft: () => moveHead(0, -1),
  ArrowRight: () => moveHead(0, 1),
  Home: () => moveHead(0, -HEADS),
  End: () => moveHead(0, HEADS),
  PageUp: () => moveHead(-LAYERS, 0),
  PageDown: () => moveHead(LAYERS, 0),
};
const ONE = {
  ArrowUp: () => moveQuery(shown.rows.indexOf(state.query) - 1),
  ArrowDown: () => moveQuery(shown.rows.indexOf(state.query) + 1),
  ArrowLeft: () => moveHead(0, -1),
  ArrowRight: () => moveHead(0, 1),
  Home: () => moveQuery(0),
  End: () => moveQuery(shown.rows.length),
  PageUp: () => moveHead(-1, 0),
  PageDown: () => moveHead(1, 0),
};
/** Tell a page around this one which row is selected; one that is only pointed at is not. */
function select(query) {
  if (window.parent !== window) window.parent.postMessage({ atlas: "token", open: [query + 1] }, "*");
}
window.addEventListener("message", ({ source, data: said }) => {
  if (source !== window.parent || said?.atlas !== "token" || !shown.rows.includes(said.show - 1)) return;
  state.query = said.show - 1;
  state.key = null;
  refresh();
});
if (window.parent !== window) window.parent.postMessage({ atlas: "token", ready: true }, "*");

for (const [id, moves] of [["all", ALL], ["one", ONE]]) {
  by(id).addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (id === "all" && (event.key === "Enter" || event.key === " ")) opened(true);
    else if (moves[event.key]) {
      const before = state.query;
      moves[event.key]();
      refresh();
      reveal();
      if (state.query !== before) select(state.query);
    } else return;
    event.preventDefault();
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.open) opened(false);
});

function boxAt(event) {
  return overview.boxes.find(
    ({ x, y, width, height }) =>
      event.offsetX >= x && event.offsetX < x + width && event.offsetY >= y && event.offsetY < y + height,
  );
}
by("all").addEventListener("pointermove", (event) => {
  const box = boxAt(event);
  event.target.style.cursor = box ? "pointer" : "";
  event.target.title = box ? `Layer ${box.layer + 1}, head ${box.head + 1}` : "";
});
by("all").addEventListener("click", (event) => {
  const box = boxAt(event);
  if (!box) return;
  state.layer = box.layer;
  state.head = box.head;
  opened(true);
});

function point(event) {
  const { side, top, cell } = layout;
  const row = Math.floor((event.offsetY - top) / cell), column = Math.floor((event.offsetX - side) / cell);
  if (row < 0 || row >= shown.rows.length) return;
  const query = shown.rows[row], key = column >= 0 ? (shown.columns[column] ?? null) : null;
  if (query === state.query && key === state.key) return;
  state.query = query;
  state.key = key;
  refresh();
}
by("one").addEventListener("pointermove", point);
by("one").addEventListener("pointerdown", (event) => {
  point(event);
  select(state.query);
});

by("toggle").addEventListener("click", () => opened(!state.open));
for (const [id, count] of [["layer", LAYERS], ["head", HEADS]]) {
  by(id).replaceChildren(...Array.from({ length: count }, (_, i) => new Option(String(i + 1), String(i))));
  by(id).addEventListener("change", () => {
    state[id] = Number(by(id).value);
    refresh();
  });
}
by("alike").addEventListener("change", () => {
  overview.alike = by("alike").checked;
  refresh();
});
by("specials").addEventListener("change", () => {
  hideSpecials(by("specials").checked);
  if (!shown.rows.includes(state.query)) moveQuery(0);
  if (!shown.columns.includes(state.key)) state.key = null;
  refresh();
});

by("title").textContent = data.title;
by("note").textContent = data.note;

let wide = 0;
new ResizeObserver(() => {
  // Only a new width asks for a new drawing; the height follows from it.
  if (document.documentElement.clientWidth === wide) return;
  wide = document.documentElement.clientWidth;
  refresh();
}).observe(document.documentElement);
