// The family over the years: which months are shown, whose line is lit, what the pointer and the keys do. The page owns
// the last month and the chosen system; where the slider stops goes there as the trigger "sent", with a count, so that
// an answer to an older move is passed over.

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
  "November", "December"];

function when(month) {
  return `${MONTHS[month % 12]} ${Math.floor(month / 12)}`;
}

// The numbers of a system's ancestors, itself and all that descends from it.
function lineOf(nodes, at) {
  const found = new Set();
  for (let i = at; i >= 0 && !found.has(i); i = nodes[i].parent) found.add(i);
  const below = new Set([at]);
  for (let size = 0; size !== below.size;) {
    size = below.size;
    nodes.forEach((one, i) => { if (below.has(one.parent)) below.add(i); });
  }
  return new Set([...found, ...below]);
}

// What is later than the shown month goes out of sight; the line of the chosen system, or of the one looked at, is lit.
function mark(view, picture) {
  const { nodes } = view.data;
  const chosen = nodes.findIndex((one) => one.slug === view.data.chosen);
  const line = chosen >= 0 ? lineOf(nodes, chosen) : null;
  const looked = view.looked >= 0 ? lineOf(nodes, view.looked) : line;
  const dress = (link, i) => {
    link.classList.toggle("later", nodes[i].at > view.until);
    link.classList.toggle("faint", Boolean(line) && !line.has(i) && !(view.looked >= 0 && looked.has(i)));
    link.classList.toggle("chosen", i === chosen);
    link.classList.toggle("looked", i === view.looked || (Boolean(line) && line.has(i)));
  };
  if (picture) {
    picture.nodes.forEach(dress);
    picture.edges.forEach((path) => {
      const i = path.atlas;
      const lit = Boolean(looked) && looked.has(i) && looked.has(nodes[i].parent);
      path.classList.toggle("later", nodes[i].at > view.until);
      path.classList.toggle("lit", lit);
      path.classList.toggle("faint", Boolean(looked) && !lit);
    });
    const x = picture.drawing.x0 + (view.until + 1) * picture.drawing.step;
    picture.now.setAttribute("x1", x);
    picture.now.setAttribute("x2", x);
    picture.now.classList.toggle("later", view.until >= view.data.last);
  }
  if (picture === view.picture && view.listed) {
    view.listed.nodes.forEach(dress);
    view.listed.groups.forEach((group) => [group.heading, group.rows].forEach((part) => { part.hidden = group.at > view.until; }));
    view.listed.nodes.forEach((link, i) => { link.parentElement.hidden = nodes[i].at > view.until; });
  }
}

function show(view) {
  const there = view.data.nodes.filter((one) => one.at <= view.until).length;
  view.range.value = String(view.until);
  const said = `${when(view.until)}: ${there} of ${view.data.nodes.length}`;
  view.range.setAttribute("aria-valuetext", said);
  view.output.textContent = said;
  mark(view, view.picture);
}

function send(view) {
  view.trigger("sent", { until: view.until, count: view.count });
}

function tell(view, i, link) {
  view.looked = i;
  mark(view, view.picture);
  const one = view.data.nodes[i];
  view.tip.replaceChildren(element("b", "", one.name), element("span", "", one.who), element("span", "", one.sizes),
    element("p", "", (one.from ? `From ${one.from}: ` : "") + one.change));
  view.tip.classList.add("open");
  const stage = view.root.getBoundingClientRect();
  const spot = link.querySelector(".marker").getBoundingClientRect();
  const { width: wide, height: high } = view.tip.getBoundingClientRect();
  const scale = high / view.tip.offsetHeight || 1; // of a presentation: its pixels on the screen
  const left = Math.min(Math.max(0, spot.left - stage.left + spot.width / 2 - wide / 2), stage.width - wide);
  const top = spot.top - high - 70 * scale < 0 ? spot.bottom - stage.top + 12 * scale : spot.top - stage.top - high - 10 * scale;
  view.tip.style.left = left / scale + "px";
  view.tip.style.top = top / scale + "px";
}

function hush(view) {
  view.looked = -1;
  view.tip.classList.remove("open");
  mark(view, view.picture);
}

// One stop for the tab key; the arrows walk: left and right in time, up to the parent, down to the first child.
function onKey(view, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const nodes = view.data.nodes;
  const here = view.picture.nodes.indexOf(event.target.closest(".node"));
  if (here < 0) return;
  if (event.key === "Escape") return hush(view);
  const seen = nodes.map((one, i) => i).filter((i) => nodes[i].at <= view.until);
  const place = seen.indexOf(here);
  const to = {
    ArrowLeft: seen[place - 1], ArrowRight: seen[place + 1], Home: seen[0], End: seen.at(-1),
    ArrowUp: nodes[here].parent, ArrowDown: seen.find((i) => nodes[i].parent === here),
  };
  if (!(event.key in to)) return;
  event.preventDefault();
  event.stopPropagation(); // the app's own shortcuts must not hear it
  const next = to[event.key];
  if (next === undefined || next < 0) return;
  rove(view, next);
  view.picture.nodes[next].focus();
}

function rove(view, at) {
  view.at = at;
  view.picture.nodes.forEach((link, i) => link.setAttribute("tabindex", i === at ? "0" : "-1"));
}

// Nodes are links, which the browser follows by itself. Listening is done once: nodes are looked up anew each time.
function listen(view) {
  const holder = view.stage;
  const links = () => view.picture.nodes;
  const numberOf = (event) => links().indexOf(event.target.closest(".node"));
  holder.addEventListener("pointerover", (event) => {
    const i = numberOf(event);
    if (i >= 0 && event.pointerType === "mouse") tell(view, i, links()[i]);
    else if (view.looked >= 0) hush(view);
  });
  holder.addEventListener("pointerleave", () => hush(view));
  holder.addEventListener("focusin", (event) => {
    const i = numberOf(event);
    if (i < 0) return;
    rove(view, i);
    if (event.target.matches(":focus-visible")) tell(view, i, links()[i]);
  });
  holder.addEventListener("focusout", () => hush(view));
  holder.addEventListener("keydown", (event) => onKey(view, event));
}

function layOut(view) {
  const width = view.stage.clientWidth;
  const fits = view.data.drawings.filter((one) => one.width <= width);
  const drawing = fits.at(-1);
  view.root.classList.toggle("narrow", !drawing);
  if (!drawing || (view.picture && view.picture.drawing === drawing)) return;
  view.picture = paint(view.data, drawing);
  view.stage.replaceChildren(view.picture.svg);
  fit(view.picture);
  rove(view, Math.min(view.at, view.data.nodes.length - 1));
  mark(view, view.picture);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".atlas");
  const part = (name) => root.querySelector(name);
  const known = root.view;
  const view = known || (root.view = {
    root, stage: part(".picture"), rows: part(".list"), tip: part(".tip"), range: part("input"), output: part("output"),
    count: 0, at: 0, looked: -1,
  });
  view.trigger = setTriggerValue;
  if (!known) listen(view);
  const fresh = view.sign !== data.sign;
  const wanted = fresh || data.count >= view.count ? data.until : view.until;
  view.data = fresh ? data : { ...data, drawings: view.data.drawings };
  view.count = Math.max(view.count, data.count);
  view.until = wanted;
  if (fresh) {
    view.sign = data.sign;
    view.picture = null;
    view.looked = -1;
    view.range.min = String(data.first);
    view.range.max = String(data.last);
    root.classList.toggle("still", !data.years);
    view.listed = listed(data);
    view.rows.replaceChildren(view.listed.list);
    view.range.oninput = () => {
      view.until = Number(view.range.value);
      view.count += 1; // an answer to an older move must not move what is being dragged
      show(view);
    };
    view.range.onchange = () => send(view);
    part(".svg").onclick = () => saveSvg(view);
    part(".png").onclick = () => savePng(view);
  }
  layOut(view);
  show(view);
  const watch = new ResizeObserver(() => layOut(view));
  watch.observe(root);
  return () => watch.disconnect();
}
