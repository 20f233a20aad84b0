// The steps of a block as a list box, with the way through the block drawn down its left side. Everything is written
// with textContent. The page owns the choice: a click goes there as the trigger "sent", with a count of clicks.

const SEND_AFTER_MS = 220; // while an arrow key is held down, only the step where it stops is sent
function picture(data, view) {
  const svg = view.svg;
  svg.replaceChildren();
  svg.setAttribute("width", data.width);
  svg.setAttribute("height", data.height);
  view.lines = data.lines.map((line) => {
    const path = drawn("path", "line", { d: line.path });
    path.atlas = line;
    svg.append(path);
    return path;
  });
  view.marks = data.points.map((point) => {
    const mark = drawn("g", "mark " + point.shape, {});
    if (point.outside) {
      mark.append(drawn("path", "line from", { d: `M${data.width - 4} ${point.y}H${point.x}` }));
      mark.append(drawn("path", "arrow", { d: `M${point.x + 12} ${point.y - 4}l-5 4l5 4` }));
    }
    if (point.shape === "norm") {
      mark.append(drawn("rect", "node", { x: point.x - 7, y: point.y - 4, width: 14, height: 8, rx: 2 }));
    } else {
      mark.append(drawn("circle", "node", { cx: point.x, cy: point.y, r: point.shape === "sum" ? 7 : 4.5 }));
    }
    if (point.shape === "sum") {
      mark.append(drawn("path", "plus", { d: `M${point.x - 4} ${point.y}h8M${point.x} ${point.y - 4}v8` }));
    }
    svg.append(mark);
    return mark;
  });
}

function build(data, view) {
  view.sign = data.sign;
  view.list.setAttribute("aria-label", data.label);
  view.list.replaceChildren();
  view.rows = [];
  view.flow.style.setProperty("--row", data.row + "px");
  view.flow.style.setProperty("--heading", data.heading + "px");
  view.flow.style.setProperty("--rail", data.width + "px");
  view.boxes.replaceChildren();
  data.boxes.forEach((box) => {
    const made = element("div", "box");
    Object.assign(made.style, { left: box.left + "px", top: box.top + "px", height: box.height + "px" });
    view.boxes.append(made);
  });
  data.parts.forEach((part, number) => {
    const group = element("div", "part");
    const heading = element("div", "heading", part.name);
    heading.id = "part-" + number;
    group.setAttribute("role", "group");
    group.setAttribute("aria-labelledby", heading.id);
    group.append(heading);
    part.steps.forEach((step) => {
      const row = element("div", "row");
      row.setAttribute("role", "option");
      row.setAttribute("aria-label", step.said);
      row.setAttribute("aria-selected", "false");
      row.tabIndex = -1;
      row.title = step.said;
      row.atlas = step.slug;
      row.append(element("span", `name ${step.name}`, step.name), element("span", "of", step.of), element("span", "shape", step.shape));
      view.rows.push(row);
      group.append(row);
    });
    view.list.append(group);
  });
  picture(data, view);
}

function mark(view) {
  const at = Math.max(0, view.rows.findIndex((row) => row.atlas === view.chosen));
  view.rows.forEach((row, i) => {
    row.setAttribute("aria-selected", i === at ? "true" : "false");
    row.tabIndex = i === at ? 0 : -1;
    view.marks[i].classList.toggle("chosen", i === at);
  });
  view.lines.forEach((line) => {
    const into = line.atlas.end === at;
    line.classList.toggle("into", into);
    if (into) view.svg.prepend(line);
  });
  view.lines.filter((line) => line.atlas.end === at).forEach((line) => view.svg.insertBefore(line, view.marks[0]));
  return at;
}

// Scroll the list, and only the list: the page itself stays where it is.
function bringIntoView(view, row) {
  const box = view.scroll.getBoundingClientRect();
  const place = row.getBoundingClientRect();
  const scale = box.width / view.scroll.offsetWidth || 1;
  if (place.top < box.top + 30) view.scroll.scrollTop -= (box.top + 30 - place.top) / scale;
  else if (place.bottom > box.bottom - 30) view.scroll.scrollTop += (place.bottom - box.bottom + 30) / scale;
}

function choose(view, row, now) {
  view.chosen = row.atlas;
  view.count += 1;
  mark(view);
  clearTimeout(view.timer);
  const sent = { step: row.atlas, count: view.count };
  const page = location.pathname;
  view.timer = setTimeout(() => {
    // Who has gone on to another page meanwhile must not be taken back, with that page's query, to this one.
    if (location.pathname === page && view.list.isConnected) view.send("sent", sent);
  }, now ? 0 : SEND_AFTER_MS);
}

function onKey(view, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const here = view.rows.indexOf(event.target.closest("[role=option]"));
  if (here < 0) return;
  const last = view.rows.length - 1;
  const to = { ArrowDown: Math.min(here + 1, last), ArrowUp: Math.max(here - 1, 0), Home: 0, End: last }[event.key];
  if (to === undefined && event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  event.stopPropagation(); // the app's own shortcuts must not hear it
  const row = view.rows[to === undefined ? here : to];
  if (row.atlas !== view.chosen) choose(view, row, to === undefined);
  row.focus({ preventScroll: true });
  bringIntoView(view, row);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".atlas");
  const view = root.view || (root.view = {
    scroll: root.querySelector(".scroll"), flow: root.querySelector(".flow"), boxes: root.querySelector(".boxes"),
    svg: root.querySelector("svg"), list: root.querySelector("[role=listbox]"), count: 0, chosen: null,
  });
  view.send = setTriggerValue;
  root.style.setProperty("--accent", data.accent);
  const fresh = view.sign !== data.sign;
  if (fresh) build(data, view);
  // An answer to an older click must not undo a newer one, so clicks are counted and older answers are passed over.
  if (fresh || data.count >= view.count) {
    view.chosen = data.selected;
    view.count = Math.max(view.count, data.count);
  }
  const at = mark(view);
  if (fresh || view.shown !== view.chosen) requestAnimationFrame(() => bringIntoView(view, view.rows[at])); // has a layout
  view.shown = view.chosen;
  view.list.onclick = (event) => {
    const row = event.target.closest("[role=option]");
    if (!row) return;
    choose(view, row, true);
    row.focus({ preventScroll: true });
  };
  view.list.onkeydown = (event) => onKey(view, event);
}
