// Points on a circle, moved by pointer or by keyboard. The page computes; here only places are kept and drawn.
// Each point is a slider over its angle: left and down turn it clockwise, right and up against the clock.

const SVG = "http://www.w3.org/2000/svg";
const RADIUS = 150;
const PACE = 150;  // milliseconds between two reports while a point is dragged

function make(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

function shape(kind, parent, size) {
  if (kind === "square") {
    return make("rect", { x: -size, y: -size, width: 2 * size, height: 2 * size, rx: 2, class: "shape" }, parent);
  }
  if (kind === "triangle") {
    const d = `M0 ${-1.3 * size}L${1.25 * size} ${0.95 * size}L${-1.25 * size} ${0.95 * size}Z`;
    return make("path", { d, class: "shape" }, parent);
  }
  return make("circle", { r: 1.08 * size, class: "shape" }, parent);
}

function spot(degrees, radius) {
  const angle = (degrees * Math.PI) / 180;
  return [radius * Math.cos(angle), -radius * Math.sin(angle)];
}

function build(root, data, state) {
  const svg = root.querySelector("svg.plane");
  svg.replaceChildren();
  make("circle", { r: RADIUS, class: "ring" }, svg);
  state.ties = data.ties.map(() => make("line", { class: "tie" }, svg));
  state.pulls = data.points.map(() => [make("path", { class: "pull" }, svg), make("path", { class: "tip" }, svg)]);
  state.marks = data.points.map((point, index) => {
    const group = make("g", { class: "point", role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": 359 }, svg);
    group.dataset.index = index;
    group.setAttribute("aria-label", point.name);
    make("circle", { r: 24, class: "halo" }, group);
    shape(point.shape, group, 14).style.fill = point.color;
    const text = make("text", { y: point.shape === "triangle" ? 3 : 1 }, group);
    text.style.fill = point.ink;
    text.textContent = point.text;
    return group;
  });
  const legend = make("g", { class: "legend" }, svg);  // in the file; beside the picture the names can wrap
  data.keys.forEach((entry, i) => {
    const group = make("g", { transform: `translate(${120 * (i - (data.keys.length - 1) / 2) - 30} 226)` }, legend);
    shape(entry.shape, group, 7).style.fill = entry.color;
    make("text", { x: 14, y: 1 }, group).textContent = entry.name;
  });
  const keys = root.querySelector(".keys");
  keys.replaceChildren();
  data.keys.forEach((entry) => {
    const line = document.createElement("span");
    const small = make("svg", { viewBox: "-20 -20 40 40", "aria-hidden": "true" });
    shape(entry.shape, small, 15).style.fill = entry.color;
    line.append(small, document.createTextNode(entry.name));
    keys.append(line);
  });
}

function place(state) {
  const data = state.data;
  const spots = state.angles.map((degrees) => spot(degrees, RADIUS));
  state.ties.forEach((tie, i) => {
    const [a, b] = data.ties[i].map((index) => spots[index]);
    tie.setAttribute("x1", a[0]); tie.setAttribute("y1", a[1]);
    tie.setAttribute("x2", b[0]); tie.setAttribute("y2", b[1]);
  });
  state.marks.forEach((mark, i) => {
    mark.setAttribute("transform", `translate(${spots[i][0]} ${spots[i][1]})`);
    mark.setAttribute("aria-valuenow", state.angles[i]);
    mark.setAttribute("aria-valuetext", `${state.angles[i]} degrees`);
    // an arc outside the circle, from the point to where the loss pulls it
    const [arc, tip] = state.pulls[i];
    const pull = Math.max(-60, Math.min(60, data.points[i].pull));
    const seen = Math.abs(pull) >= 1;
    arc.style.display = tip.style.display = seen ? "" : "none";
    if (!seen) return;
    const radius = RADIUS + 24 + 17 * data.points[i].lane;
    const from = spot(state.angles[i], radius), to = spot(state.angles[i] + pull, radius);
    arc.setAttribute("d", `M${from[0]} ${from[1]}A${radius} ${radius} 0 0 ${pull > 0 ? 0 : 1} ${to[0]} ${to[1]}`);
    const turn = (pull > 0 ? -1 : 1) * 90 - state.angles[i] - pull + 90;
    tip.setAttribute("d", "M0 -8L5 4L-5 4Z");
    tip.setAttribute("transform", `translate(${to[0]} ${to[1]}) rotate(${turn})`);
  });
}

function report(state) {
  state.count += 1;
  state.unsent = { angles: [...state.angles], count: state.count };
  send(state);
}

// What has not left yet survives a drawing anew, which ends with the timer of the drawing before.
function send(state) {
  clearTimeout(state.timer);
  const page = location.pathname;
  state.timer = setTimeout(() => {
    // Who has gone on to another page meanwhile must not be taken back, with that page's query, to this one.
    if (location.pathname !== page) return;
    const value = state.unsent;
    state.unsent = null;
    state.sent = performance.now(); // the clock of the machine may jump
    state.send("sent", value);
  }, Math.max(0, PACE - (performance.now() - (state.sent ?? -PACE))));
}

function turn(state, index, degrees) {
  const to = ((Math.round(degrees) % 360) + 360) % 360;
  if (to === state.angles[index]) return false;
  state.angles[index] = to;
  place(state);
  return true;
}

function save(root, data) {
  const svg = root.querySelector("svg.plane");
  svg.classList.add("saved");
  const text = standalone(svg, data.title, getComputedStyle(root).getPropertyValue("--back"), [-215, -215, 430, 460]);
  svg.classList.remove("saved");
  download(new Blob([text], { type: "image/svg+xml" }), "atlas-points.svg");
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".points");
  const svg = root.querySelector("svg.plane");
  const state = root.atlas || (root.atlas = { sign: null, count: 0, angles: [] });
  state.send = setTriggerValue;
  state.data = data;
  svg.setAttribute("aria-label", data.label);
  const sign = JSON.stringify([data.points.map((p) => [p.name, p.shape, p.color]), data.ties, data.keys]);
  const fresh = sign !== state.sign;
  if (fresh) {
    state.sign = sign;
    state.drag = null;
    build(root, data, state);
  }
  // An answer to an older move must not put a point back that has gone on since.
  if (fresh || data.count >= state.count) {
    state.angles = data.points.map((point) => point.angle);
    state.count = Math.max(state.count, data.count);
  }
  place(state);
  if (state.unsent) send(state);

  root.querySelector(".svg").onclick = () => save(root, state.data);
  svg.onkeydown = (event) => {
    const mark = event.target.closest(".point");
    if (!mark) return;
    const index = Number(mark.dataset.index);
    const step = event.shiftKey ? 1 : 5;
    const by = {
      ArrowRight: step, ArrowUp: step, ArrowLeft: -step, ArrowDown: -step, PageUp: 30, PageDown: -30,
    }[event.key];
    if (by === undefined && event.key !== "Home") return;
    event.preventDefault();
    const changed = turn(state, index, by === undefined ? 0 : state.angles[index] + by);
    if (changed) report(state);
  };
  const angle = (event) => {
    const box = svg.getBoundingClientRect();
    const x = event.clientX - box.left - box.width / 2, y = event.clientY - box.top - box.height / 2;
    return (Math.atan2(-y, x) * 180) / Math.PI;
  };
  svg.onpointerdown = (event) => {
    const mark = event.target.closest(".point");
    if (!mark || event.button !== 0) return;
    event.preventDefault();
    state.drag = Number(mark.dataset.index);
    mark.classList.add("held");
    mark.focus();
    mark.setPointerCapture(event.pointerId);
  };
  svg.onpointermove = (event) => {
    if (state.drag === null || state.drag === undefined) return;
    if (turn(state, state.drag, angle(event))) report(state);
  };
  const drop = () => {
    if (state.drag === null || state.drag === undefined) return;
    state.marks[state.drag].classList.remove("held");
    root.querySelector("[role=status]").textContent =
      `${data.points[state.drag].name}: ${state.angles[state.drag]} degrees`;
    state.drag = null;
  };
  svg.onpointerup = drop;
  svg.onpointercancel = drop;
  return () => clearTimeout(state.timer);
}
