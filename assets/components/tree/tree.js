// A module tree to walk: WAI-ARIA's tree view pattern. Everything is written with textContent.
// The browser owns what is open and what is chosen; the choice goes back as the state "node" (a dotted path).

const SEND_AFTER_MS = 220; // while an arrow key is held down, only the module where it stops is sent

function item(node, view) {
  const li = element("li");
  li.setAttribute("role", "treeitem");
  li.setAttribute("aria-label", node.said);
  li.setAttribute("aria-selected", "false");
  li.tabIndex = -1;
  li.atlas = { node, parent: null, kids: [] };
  const row = element("div", node.share > 0 ? "row" : "row none");
  const twist = element("span", "twist", node.kids.length ? "▸" : "·");
  twist.setAttribute("aria-hidden", "true");
  const meter = element("span", "meter");
  const fill = element("i");
  fill.style.width = (100 * node.share).toFixed(2) + "%";
  if (node.color) fill.style.setProperty("--role", node.color);
  meter.append(fill);
  li.atlas.name = element("span", "name", node.name);
  li.atlas.cls = element("span", "cls", node.cls);
  row.append(twist, li.atlas.name);
  if (node.repeat > 1) row.append(element("span", "times", node.repeat + " ×"));
  row.append(li.atlas.cls);
  if (node.tied) row.append(element("span", "tie", "shared"));
  if (node.badge) row.append(element("span", "tie", node.badge));
  row.append(meter, element("span", "count", node.count));
  row.title = node.said;
  li.append(row);
  view.items.set(node.path, li);
  if (node.kids.length) {
    li.setAttribute("aria-expanded", "false");
    const group = element("ul");
    group.setAttribute("role", "group");
    node.kids.forEach((kid, index) => {
      const below = item(kid, view);
      below.atlas.parent = li;
      below.setAttribute("aria-setsize", String(node.kids.length));
      below.setAttribute("aria-posinset", String(index + 1));
      li.atlas.kids.push(below);
      group.append(below);
    });
    li.append(group);
  }
  return li;
}

function levels(li, level) {
  li.setAttribute("aria-level", String(level));
  li.atlas.kids.forEach((kid) => levels(kid, level + 1));
}

const isOpen = (li) => li.getAttribute("aria-expanded") === "true";

function open(li, whether) {
  if (li.atlas.kids.length) li.setAttribute("aria-expanded", whether ? "true" : "false");
}

function reveal(li) {
  for (let up = li.atlas.parent; up; up = up.atlas.parent) open(up, true);
}

function visible(view) {
  const seen = [];
  const visit = (li) => {
    if (li.hidden) return;
    seen.push(li);
    if (isOpen(li)) li.atlas.kids.forEach(visit);
  };
  visit(view.root);
  return seen;
}

function focusable(view, li) {
  if (view.at) view.at.tabIndex = -1;
  view.at = li;
  li.tabIndex = 0;
}

function choose(view, li, now) {
  if (view.chosen) view.chosen.setAttribute("aria-selected", "false");
  view.chosen = li;
  li.setAttribute("aria-selected", "true");
  focusable(view, li);
  clearTimeout(view.timer);
  const path = li.atlas.node.path;
  const page = location.pathname;
  view.timer = setTimeout(() => {
    // Who has gone on to another page meanwhile must not be taken back, with that page's query, to this one.
    if (location.pathname === page && li.isConnected) view.send("sent", { node: path });
  }, now ? 0 : SEND_AFTER_MS);
}

// Scroll the list, and only the list: the page itself stays where it is.
function bringIntoView(view, li) {
  const box = view.scroll.getBoundingClientRect();
  const place = li.firstChild.getBoundingClientRect();
  const scale = box.width / view.scroll.offsetWidth || 1;
  if (place.top < box.top + 4) view.scroll.scrollTop -= (box.top + 4 - place.top) / scale;
  else if (place.bottom > box.bottom - 4) view.scroll.scrollTop += (place.bottom - box.bottom + 4) / scale;
}

function go(view, li, now) {
  choose(view, li, now);
  li.focus({ preventScroll: true });
  bringIntoView(view, li);
}

// Write text into box with every found word in a <mark>; words are lower case.
function highlight(box, text, words) {
  box.replaceChildren();
  const low = text.toLowerCase();
  let at = 0;
  while (at < text.length) {
    let from = -1;
    let length = 0;
    for (const word of words) {
      const hit = low.indexOf(word, at);
      if (hit >= 0 && (from < 0 || hit < from || (hit === from && word.length > length))) [from, length] = [hit, word.length];
    }
    if (from < 0) break;
    box.append(text.slice(at, from), element("mark", "", text.slice(from, from + length)));
    at = from + length;
  }
  box.append(text.slice(at));
}

function filter(view, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  const visit = (li) => {
    const node = li.atlas.node;
    const text = (node.name + " " + node.cls + " " + node.extra + " " + node.path).toLowerCase();
    const hit = words.length > 0 && words.every((word) => text.includes(word));
    let below = false;
    li.atlas.kids.forEach((kid) => { below = visit(kid) || below; });
    if (hit) found += 1;
    li.hidden = words.length > 0 && !hit && !below;
    if (words.length && below) open(li, true);
    highlight(li.atlas.name, node.name, hit ? words : []);
    highlight(li.atlas.cls, node.cls, hit ? words : []);
    return hit || below;
  };
  visit(view.root);
  view.root.hidden = false;
  const all = view.items.size;
  view.status.textContent = words.length ? (found ? `${found} of ${all} modules` : "No module has this in its name") : `${all} modules`;
  if (view.at.hidden || !visible(view).includes(view.at)) focusable(view, view.root);
  if (!words.length && view.chosen) { reveal(view.chosen); focusable(view, view.chosen); }
}

function typeAhead(view, letter, rows, here) {
  clearTimeout(view.typing);
  view.typing = setTimeout(() => { view.typed = ""; }, 600);
  view.typed = (view.typed || "") + letter.toLowerCase();
  const from = view.typed.length > 1 ? here : here + 1;
  const order = rows.slice(from).concat(rows.slice(0, from));
  return order.find((li) => li.atlas.node.name.toLowerCase().startsWith(view.typed));
}

function onKey(view, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const li = event.target.closest("[role=treeitem]");
  if (!li) return;
  const rows = visible(view);
  const here = rows.indexOf(li);
  let to = null;
  if (event.key === "ArrowDown") to = rows[here + 1];
  else if (event.key === "ArrowUp") to = rows[here - 1];
  else if (event.key === "Home") to = rows[0];
  else if (event.key === "End") to = rows[rows.length - 1];
  else if (event.key === "ArrowRight") {
    if (li.atlas.kids.length && !isOpen(li)) open(li, true);
    else to = li.atlas.kids.find((kid) => !kid.hidden);
  } else if (event.key === "ArrowLeft") {
    if (isOpen(li)) open(li, false);
    else to = li.atlas.parent;
  } else if (event.key === "Enter" || event.key === " ") {
    open(li, !isOpen(li));
    choose(view, li, true);
  } else if (event.key === "*") (li.atlas.parent ? li.atlas.parent.atlas.kids : [li]).forEach((kid) => open(kid, true));
  else if (event.key.length === 1 && /\S/.test(event.key)) to = typeAhead(view, event.key, rows, here);
  else return;
  event.preventDefault();
  event.stopPropagation();
  if (to) go(view, to, false);
}

function build(parent, data) {
  const view = { items: new Map(), sign: data.sign, typed: "" };
  view.scroll = parent.querySelector(".scroll");
  view.status = parent.querySelector("[role=status]");
  view.input = parent.querySelector("input");
  const list = parent.querySelector("[role=tree]");
  list.setAttribute("aria-label", data.label);
  list.replaceChildren();
  view.root = item(data.root, view);
  view.root.setAttribute("aria-setsize", "1");
  view.root.setAttribute("aria-posinset", "1");
  levels(view.root, 1);
  list.append(view.root);
  view.items.forEach((li) => open(li, Number(li.getAttribute("aria-level")) <= data.openTo));
  const chosen = view.items.get(data.selected) || view.root;
  reveal(chosen);
  view.chosen = chosen;
  chosen.setAttribute("aria-selected", "true");
  focusable(view, chosen);
  list.onclick = (event) => {
    const li = event.target.closest("[role=treeitem]");
    if (!li) return;
    const twist = event.target.closest(".twist");
    if (twist || view.chosen === li) open(li, !isOpen(li));
    else open(li, true);
    go(view, li, true);
  };
  list.onkeydown = (event) => onKey(view, event);
  view.input.oninput = () => filter(view, view.input.value);
  view.input.onkeydown = (event) => {
    event.stopPropagation(); // the app's own shortcuts must not hear what is typed here
    if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      const words = view.input.value.trim();
      const hit = words && visible(view).find((li) => li.querySelector(":scope > .row mark"));
      go(view, hit || view.at, true);
    } else if (event.key === "Escape" && view.input.value) {
      event.preventDefault();
      view.input.value = "";
      filter(view, "");
    }
  };
  filter(view, view.input.value);
  requestAnimationFrame(() => bringIntoView(view, view.chosen)); // once there is a layout to measure
  return view;
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const box = parentElement.querySelector(".atlas");
  if (!box.view || box.view.sign !== data.sign) box.view = build(parentElement, data);
  box.view.send = setTriggerValue;
}
