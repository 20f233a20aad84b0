// Two rows of tokens and the weighted lines between them. Tokens arrive as data and are written with textContent.

const SVG = "http://www.w3.org/2000/svg";

function chip(token, tag) {
  const made = document.createElement(tag);
  made.className = "chip" + (token.special ? " special" : "");
  made.title = token.title;
  const word = document.createElement("bdi");
  word.textContent = token.text;
  made.append(word);
  if (tag === "button") made.type = "button";
  return made;
}

function draw(root, data, state) {
  const above = root.querySelector(".read"), below = root.querySelector(".written");
  state.read = data.source.map((token) => chip(token, "span"));
  state.written = data.target.map((token) => chip(token, "button"));
  above.replaceChildren(...state.read);
  below.replaceChildren(...state.written);
  state.read.forEach((made, s) => {
    made.onmouseenter = () => lines(root, state, null, s);
    made.onmouseleave = () => lines(root, state, state.at, null);
  });
  state.written.forEach((made, t) => {
    made.onmouseenter = () => lines(root, state, t, null);
    made.onmouseleave = () => lines(root, state, state.at, null);
    made.onfocus = () => lines(root, state, t, null);
    made.onclick = () => {
      state.at = t;
      mark(state);
      lines(root, state, t, null);
      state.count += 1;
      state.send("sent", { selected: t, count: state.count });
    };
  });
}

function mark(state) {
  state.written.forEach((made, t) => {
    made.classList.toggle("taken", t === state.at);
    made.setAttribute("aria-pressed", t === state.at ? "true" : "false");
    made.tabIndex = t === state.at ? 0 : -1;
  });
}

function lines(root, state, target, source) {
  // Centered rows would push the shorter one out of sight where the longer one scrolls.
  const scroll = root.querySelector(".scroll");
  root.classList.toggle("long", scroll.scrollWidth > scroll.clientWidth + 1);
  const stage = root.querySelector(".stage"), svg = root.querySelector("svg");
  const box = stage.getBoundingClientRect(), scale = box.width / stage.offsetWidth || 1;
  const place = (made) => {
    const found = made.getBoundingClientRect();
    return [found.left - box.left + found.width / 2, found.top - box.top, found.bottom - box.top].map((value) => value / scale);
  };
  const ends = state.read.map(place), starts = state.written.map(place);
  const seen = new Set();
  const drawn = state.data.lines.map(([t, s, weight]) => {
    const on = source === null ? t === target : s === source;
    if (on && source === null) seen.add(s);
    const [x0, , y0] = ends[s], [x1, y1] = starts[t];
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", `M${x0} ${y0 + 1}C${x0} ${(y0 + y1) / 2} ${x1} ${(y0 + y1) / 2} ${x1} ${y1 - 1}`);
    path.style.stroke = on ? state.data.accent : "var(--st-text-color, #888)";
    path.style.strokeWidth = 0.8 + 7 * weight;
    path.style.opacity = on ? 0.35 + 0.65 * weight : 0.05 + 0.2 * weight;
    return [on, path];
  });
  drawn.sort((a, b) => a[0] - b[0]);
  svg.replaceChildren(...drawn.map((pair) => pair[1]));
  state.read.forEach((made, s) => made.classList.toggle("seen", seen.has(s)));
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".alignment");
  const state = root.atlas || (root.atlas = { sign: null, count: 0, at: 0 });
  state.send = setTriggerValue;
  state.data = data;
  root.style.setProperty("--accent", data.accent);
  root.style.setProperty("--on-accent", data.onAccent);
  root.querySelector(".written").setAttribute("aria-label", data.label);
  const sign = JSON.stringify([data.source, data.target]);
  const fresh = sign !== state.sign;
  if (fresh) {
    state.sign = sign;
    draw(root, data, state);
  }
  // An answer to an older click must not undo a newer one.
  if (fresh || data.count >= state.count) {
    state.at = Math.min(data.selected, data.target.length - 1);
    state.count = Math.max(state.count, data.count);
  }
  mark(state);
  lines(root, state, state.at, null);
  const watch = new ResizeObserver(() => lines(root, state, state.at, null));
  watch.observe(root.querySelector(".stage"));
  root.querySelector(".written").onkeydown = (event) => {
    const here = state.written.indexOf(event.target.closest("button"));
    const last = state.written.length - 1;
    const to = { ArrowRight: Math.min(here + 1, last), ArrowLeft: Math.max(here - 1, 0), Home: 0, End: last }[event.key];
    if (here < 0 || to === undefined) return;
    event.preventDefault();
    state.written.forEach((made, t) => { made.tabIndex = t === to ? 0 : -1; });
    state.written[to].focus();
  };
  return () => watch.disconnect();
}
