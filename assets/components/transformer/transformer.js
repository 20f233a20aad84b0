// Steps, play, depth, zoom and what is chosen in the picture of draw.js; nothing here asks the server for anything. Where
// the visitor stops goes to the page as the trigger "sent", for the link.

const SEND_AFTER_MS = 900;
const STEP_MS = 5000;
const BLOCK_MS = 1100;
const LEAST = 0.7; // of a presentation's type, in the picture
const still = matchMedia("(prefers-reduced-motion: reduce)");

// What each step lights up. Names without a lane are drawn once.
const LIT = {
  tokens: ["tokens"], embeddings: ["tokens", "token"], positions: ["token", "position"], stream: ["frame", "stream", "add", "add2"],
  qkv: ["qkv"], scores: ["qkv", "fan"], mask: ["fan", "/mask"], weights: ["fan", "/heads"], mix: ["fan", "mix", "/heads"],
  add: ["mix", "add", "norm1", "stream"], "feed-forward": ["ffn", "add2", "norm2", "stream"], blocks: ["frame", "stream", "states", "/output"],
  target: ["tokens", "token", "/loop"], causal: ["qkv", "fan", "mix", "add", "/mask", "/heads"], cross: ["cross", "addx", "normx", "/bus", "/mask", "/heads"],
  decoder: ["frame", "stream", "ffn", "add2", "norm2", "states"], output: ["states", "/output"], objective: ["tokens", "/output", "/loop"],
};

function lit(view) {
  const step = view.data.steps[view.at];
  if (step.slug === "overview") return new Set(Object.keys(view.parts));
  const own = view.lanes[step.lane];
  const names = [...LIT[step.slug]];
  if (step.slug === "positions" && !own.embedding["embedding-position"]) names.splice(0, names.length, "fan");
  if (step.slug === "blocks" && view.lanes.length > 1) names.splice(3, 1, "/bus");
  return new Set(names.map((name) => (name[0] === "/" ? name.slice(1) : `${step.lane}:${name}`)));
}

function light(view) {
  const on = lit(view);
  Object.entries(view.parts).forEach(([name, { group }]) => group.classList.toggle("active", on.has(name)));
}

// A presentation enlarges all that it shows: the pixels of the screen that one of an element's own takes.
const scaleOf = (stage) => stage.getBoundingClientRect().width / stage.offsetWidth || 1;

// The pixels that the picture may be high: in a presentation what is left of the screen, with two lines of text.
function roomFor(view) {
  const scale = scaleOf(view.stage);
  return view.least ? Math.max(190, (innerHeight - view.stage.getBoundingClientRect().top) / scale - 4.4 * view.least) : Infinity;
}

// The part of the picture in sight; a narrow screen follows the step.
function target(view) {
  const { width, height } = view.layout;
  const pixels = view.stage.clientWidth || width;
  const room = roomFor(view);
  // A presentation shows all of the picture, and what of it is larger than its screen from the overview on step by step.
  const [type, fits] = [view.layout.type, Math.min(1, room * width / (height * pixels))];
  const readable = Math.min(2.6, view.least ? LEAST * view.least * width / (type * pixels) : Math.max(1, 0.74 * width / pixels));
  const zoom = view.zoom * (view.least ? view.step === "overview" ? fits : Math.max(fits, readable) : readable);
  view.stage.classList.toggle("zoomed", zoom > fits);
  if (zoom <= fits) return [0, 0, width, height];
  const w = width / zoom, h = Math.min(view.zoom > 1 ? height / view.zoom : height, w * room / pixels);
  const names = [...lit(view)].filter((name) => view.parts[name]);
  const main = names.filter((name) => !["heads", "mask", "bus", "loop"].includes(name));
  const boxes = (main.length ? main : names).map((name) => view.parts[name].box);
  const from = Math.min(...boxes.map((box) => box.x)), to = Math.max(...boxes.map((box) => box.x + box.w));
  const top = Math.min(...boxes.map((box) => box.y)), bottom = Math.max(...boxes.map((box) => box.y + box.h));
  const clamp = (value, most) => Math.min(Math.max(value, 0), Math.max(0, most));
  const lane = view.layout.lanes[view.data.steps[view.at].lane];
  const row = lane.y(lane.number === view.lanes.length - 1 ? view.position : view.source);
  const [x, y] = view.center || [to <= w ? w / 2 : to - from > w ? from - 8 + w / 2 : (from + to) / 2, bottom - top <= h ? (top + bottom) / 2 : main.includes("output") ? top + h / 2 : Math.max(row, top + h / 2)];
  return [w > width ? (width - w) / 2 : clamp(x - w / 2, width - w), clamp(y - h / 2, height - h), w, h];
}

function camera(view, jump) {
  const goal = target(view);
  const pixels = view.stage.clientWidth || view.layout.width;
  const high = pixels * view.layout.height / Math.min(view.layout.width, goal[2] * view.zoom);
  view.svg.style.height = `${Math.round(Math.min(high, roomFor(view)))}px`;
  cancelAnimationFrame(view.moving);
  const start = view.box, begun = performance.now();
  const put = (box) => { view.box = box; view.svg.setAttribute("viewBox", box.map((value) => value.toFixed(1)).join(" ")); };
  if (jump || still.matches || !start) { put(goal); return; }
  const move = (now) => {
    const part = Math.min(1, (now - begun) / 450), eased = part * part * (3 - 2 * part);
    put(start.map((value, i) => value + (goal[i] - value) * eased));
    if (part < 1) view.moving = requestAnimationFrame(move);
  };
  view.moving = requestAnimationFrame(move);
}

// The values of a step as a table: what the picture shows, for the chosen token and head.
function rowsOf(view) {
  const step = view.data.steps[view.at], own = view.lanes[step.lane], main = step.lane === view.lanes.length - 1;
  const chosen = main ? view.position : view.source, layer = Math.min(view.layer, own.layers - 1), head = Math.min(view.head, own.heads - 1);
  const named = (slug) => own.block[slug];
  const values = (entry, at, count = entry.values.shape[2]) => Array.from({ length: count }, (_, i) => number(entry.values.at(at, chosen, i)));
  const vectors = (list) => ({
    head: ["vector", ...Array.from({ length: list[0][1].values.shape[2] }, (_, i) => String(i + 1)), "…", "norm"],
    rows: list.map(([name, entry, at]) => [name, ...values(entry, at), "", number(entry.norms.at(at, chosen))]),
  });
  const ofHead = (slug) => Array.from({ length: 4 }, (_, i) => number(named(slug).values.at(layer, head, Math.min(chosen, named(slug).values.shape[2] - 1), i)));
  const prefix = step.slug === "cross" ? "cross-attention" : "attention", keys = step.slug === "cross" ? view.lanes[0].tokens : own.tokens;
  const inside = (part) => Object.entries(own.block).filter(([slug]) => slug.startsWith(part)).map(([slug, entry]) => [slug.replace(part, "").replaceAll("-", " ").trim(), entry, layer]);
  const before = intoBlock(own, layer);
  const answer = view.data.answers.find((each) => each.position === view.position) || view.data.answers[0];
  switch (step.slug) {
    case "overview": case "tokens": case "target": case "objective":
      return { head: ["token", "position", "id"], rows: own.tokens.map((token, i) => [token, i + 1, own.ids[i]]), chosen };
    case "embeddings": case "positions": return vectors(Object.entries(own.embedding).map(([slug, entry]) => [slug.replace("embedding-", ""), entry, 0]));
    case "stream": return vectors([["into the block", before.step, before.layer], ["after attention", named("attention-residual"), layer], ["after feed-forward", named("feed-forward-residual"), layer]]);
    case "qkv": case "mix":
      return { head: ["vector", "1", "2", "3", "4", "…"], rows: (step.slug === "mix" ? [["values", "attention-values"], ["weighted sum", "attention-mix"]] : [["query", "attention-queries"], ["key", "attention-keys"], ["value", "attention-values"]]).map(([name, slug]) => [name, ...ofHead(slug), ""]) };
    case "scores": case "mask": case "weights": case "causal": case "cross": {
      const of = prefix === "attention" ? head : Math.min(view.head, named(`${prefix}-weights`).shape[0] - 1);
      return { head: ["key", "score", "mask", "weight"], rows: keys.map((token, j) => [token, number(named(`${prefix}-scores`).values.at(layer, of, chosen, j)),
        named(`${prefix}-mask`).allowed[chosen * keys.length + j] === "1" ? "0" : "−∞", named(`${prefix}-weights`).values.at(layer, of, chosen, j).toFixed(4)]) };
    }
    case "add": return vectors([["X", before.step, before.layer], ...inside("attention-").filter(([name]) => /^(projected|residual|norm)$/.test(name))]);
    case "feed-forward": case "decoder": return vectors(inside("feed-forward-").filter(([, entry]) => entry.norms));
    case "blocks":
      if (view.lanes.length > 1) return vectors(Array.from({ length: own.layers }, (_, l) => [`after block ${l + 1}`, outOf(own, l).step, l]));
      return { head: ["after", "prediction", "probability"], rows: view.data.lens.map((each, l) => [l ? `block ${l}` : "embeddings", each.tokens[0], percent(each.probabilities[0])]) };
    default: return { head: ["prediction", "probability"], rows: answer ? answer.tokens.map((token, i) => [token, percent(answer.probabilities[i])]) : [] };
  }
}

function table(view) {
  const { head, rows, chosen } = rowsOf(view), step = view.data.steps[view.at], own = view.lanes[step.lane];
  const made = element("table"), token = own.tokens[step.lane === view.lanes.length - 1 ? view.position : view.source];
  made.append(element("caption", "", `${step.title}: “${token}”, block ${Math.min(view.layer, own.layers - 1) + 1}, head ${Math.min(view.head, own.heads - 1) + 1}`));
  const line = (cells, tag) => {
    const row = element("tr");
    cells.forEach((cell) => row.append(element(tag, "", String(cell))));
    return row;
  };
  const [top, body] = [element("thead"), element("tbody")];
  top.append(line(head, "th"));
  rows.forEach((cells, i) => {
    const row = line(cells, "td");
    if (i === chosen) row.className = "chosen";
    body.append(row);
  });
  made.append(top, body);
  view.scroll.replaceChildren(made);
}

// A piece of a step's text, as elements: in the steps of attention, queries, keys and values have their colors.
const WORDS = /(\bquer(?:y|ies)\b|\bkeys?\b|\bvalues?\b)/i;
const NAMED = new Set(["qkv", "scores", "weights", "mix", "cross", "causal"]);
const role = (word) => (/^q/i.test(word) ? "query" : /^k/i.test(word) ? "key" : "value");

function worded(view, piece) {
  const names = NAMED.has(view.step);
  if (piece.href) {
    const link = anchor(piece), found = names && piece.text.match(WORDS);
    if (found) link.className = role(found[0]);
    return [link];
  }
  if (!names) return [piece.text];
  return piece.text.split(WORDS).map((part, i) => (i % 2 ? element("b", role(part), part) : part));
}

function anchor({ text, href, tip }) {
  const link = element("a", "", text);
  link.href = href;
  if (tip) link.title = tip;
  if (window.top !== window) Object.assign(link, { target: "_blank", rel: "noopener" }); // in another page's frame
  return link;
}

function words(view) {
  const step = view.data.steps[view.at];
  const put = (place, text) => { if (place.textContent !== text) place.textContent = text; };
  put(view.root.querySelector("h3"), `${view.at + 1} of ${view.data.steps.length}. ${step.title}`);
  const text = view.root.querySelector(".text p");
  const whole = step.text.map((piece) => piece.text).join("");
  if (view.least) put(text, ` ${whole.split(/(?<=[.:]) /)[0]}`);
  else if (text.textContent !== whole) text.replaceChildren(...step.text.flatMap((piece) => worded(view, piece)));
  const shapes = view.root.querySelector(".shapes");
  shapes.hidden = view.depth === "idea";
  put(shapes, step.shapes);
  view.doors.replaceChildren(...step.doors.map((door) => anchor({ text: `${door.label} →`, href: door.href })));
  view.root.querySelector(".back").disabled = view.at === 0;
  view.root.querySelector(".next").disabled = view.at === view.data.steps.length - 1;
  put(view.root.querySelector(".play"), view.timer ? "Pause" : "Play");
  view.range.max = String(Math.max(...view.lanes.map((lane) => lane.layers)));
  view.range.value = String(view.layer + 1);
  put(view.root.querySelector(".layer output"), `${view.layer + 1} of ${view.range.max}`);
  view.root.querySelectorAll(".depths button").forEach((button) => button.setAttribute("aria-pressed", String(button.atlas === view.depth)));
}

function draw(view, jump) {
  view.step = view.data.steps[view.at].slug;
  const focused = view.root.getRootNode().activeElement, kind = focused && focused.closest && focused.closest(".token, .head");
  picture(view);
  light(view);
  words(view);
  view.scroll.hidden = view.depth !== "numbers"; // the menu As a table shows them at any depth
  table(view);
  camera(view, jump);
  if (kind) view.svg.querySelector(kind.classList.contains("head") ? ".head.selected" : ".token.selected")?.focus({ preventScroll: true });
}

function send(view) {
  clearTimeout(view.waiting);
  view.count += 1;
  const page = location.pathname;
  view.waiting = setTimeout(() => {
    if (view.timer || location.pathname !== page || !view.root.isConnected) return;
    view.trigger("sent", { step: view.step, depth: view.depth, layer: view.layer + 1, head: view.head + 1,
      position: view.position, source: view.source, count: view.count });
  }, SEND_AFTER_MS);
}

function go(view, at) {
  view.at = Math.min(Math.max(at, 0), view.data.steps.length - 1);
  view.center = null;
  draw(view);
  send(view);
}

function stop(view) {
  clearTimeout(view.timer);
  view.timer = 0;
  words(view);
  send(view);
}

function tick(view) {
  if (!view.root.isConnected) { view.timer = 0; return; }
  const layers = Number(view.range.max), blocks = view.step === "blocks" || view.step === "decoder";
  if (blocks && view.layer < layers - 1) {
    view.layer += 1;
    draw(view);
  } else if (view.at === view.data.steps.length - 1) {
    stop(view);
    return;
  } else {
    go(view, view.at + 1);
    if (view.step === "blocks" || view.step === "decoder") { view.layer = 0; draw(view); }
  }
  const inBlocks = (view.step === "blocks" || view.step === "decoder") && view.layer < layers - 1;
  view.timer = setTimeout(() => tick(view), inBlocks ? BLOCK_MS : STEP_MS);
}

function play(view) {
  if (view.timer) { stop(view); return; }
  if (view.at === view.data.steps.length - 1) { view.at = 0; draw(view); }
  view.timer = setTimeout(() => tick(view), STEP_MS / 2);
  words(view);
}

function zoom(view, by) {
  view.zoom = by ? Math.min(4, Math.max(1, view.zoom * by)) : 1;
  if (view.zoom === 1) view.center = null;
  camera(view);
}

function choose(view, what) {
  if (what.step) {
    const at = view.data.steps.findIndex((step) => step.slug === what.step);
    if (at >= 0) { go(view, at); return; }
  }
  Object.assign(view, what);
  draw(view);
  send(view);
}

// What a presenter's remote sends; in a lesson it moves the lesson.
const REMOTE = { PageDown: 1, PageUp: -1 };
const isRemote = (view, event) => view.least && window.top === window && Boolean(REMOTE[event.key])
  && !event.composedPath()[0].closest?.("textarea, select, .scroll, [role=slider], [role=listbox], [role=option]");

function onKey(view, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const inside = event.target.closest("button, input, a, .scroll");
  const mark = event.target.closest(".token, .head");
  const ways = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };
  const remote = isRemote(view, event) && REMOTE[event.key];
  const vertical = event.key === "ArrowDown" || event.key === "ArrowUp";
  if (remote) go(view, view.at + remote);
  else if (mark && vertical) {
    const step = view.data.steps[view.at], main = step.lane;
    if (mark.atlas.head !== undefined) choose(view, { head: Math.min(Math.max(view.head + ways[event.key], 0), view.lanes[main].heads - 1) });
    else {
      const name = mark.atlas.position !== undefined ? "position" : "source";
      const own = view.lanes[name === "position" ? view.lanes.length - 1 : 0];
      choose(view, { [name]: Math.min(Math.max(view[name] + ways[event.key], 0), own.tokens.length - 1) });
    }
  } else if (!vertical && ways[event.key] && !event.target.closest("input, .scroll")) go(view, view.at + ways[event.key]);
  else if (event.key === " " && !inside) play(view);
  else if (!inside && (event.key === "+" || event.key === "-" || event.key === "0")) zoom(view, { "+": 1.4, "-": 1 / 1.4, 0: 0 }[event.key]);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function dragging(view) {
  let from = null;
  view.stage.onpointerdown = (event) => {
    if (!view.stage.classList.contains("zoomed")) return;
    from = { x: event.clientX, y: event.clientY, box: view.box, moved: false };
  };
  view.stage.onpointermove = (event) => {
    if (!from || !event.buttons) return;
    const scale = from.box[2] / view.stage.clientWidth / scaleOf(view.stage);
    const [dx, dy] = [(event.clientX - from.x) * scale, (event.clientY - from.y) * scale];
    if (Math.hypot(dx, dy) < 6) return;
    from.moved = view.dragged = true;
    view.center = [from.box[0] + from.box[2] / 2 - dx, from.box[1] + from.box[3] / 2 - dy];
    camera(view, true);
  };
  view.stage.onpointerup = view.stage.onpointerleave = () => { from = null; setTimeout(() => { view.dragged = false; }); };
  view.stage.onwheel = (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(view, event.deltaY < 0 ? 1.2 : 1 / 1.2);
  };
}

// The whole picture as it stands, with colors that every program reads.
function save(view) {
  const { width, height } = view.layout, ground = getComputedStyle(view.root).getPropertyValue("--back").trim();
  const text = standalone(view.svg, view.data.label, ground, [0, 0, width, height]).replace(
    /color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)[^)]*\)/g, (_, ...parts) => `rgb(${parts.slice(0, 3).map((part) => Math.round(255 * part)).join(",")})`);
  download(new Blob([text], { type: "image/svg+xml" }), `transformer-${view.data.architecture}-${view.step}.svg`);
}

function listen(view) {
  const at = (name) => view.root.querySelector(name);
  at(".back").onclick = () => go(view, view.at - 1);
  at(".next").onclick = () => go(view, view.at + 1);
  at(".play").onclick = () => play(view);
  at(".in").onclick = () => zoom(view, 1.4);
  at(".out").onclick = () => zoom(view, 1 / 1.4);
  at(".whole").onclick = () => zoom(view, 0);
  at(".svg").onclick = () => save(view);
  view.range.oninput = () => choose(view, { layer: Number(view.range.value) - 1 });
  view.root.onkeydown = (event) => onKey(view, event);
  view.svg.onclick = (event) => {
    const mark = event.target.closest(".clickable");
    if (mark && !view.dragged) choose(view, mark.atlas);
  };
  dragging(view);
  view.seen = new ResizeObserver(() => {
    if (presented(view) && view.layout) draw(view, true);
    else if (view.layout) camera(view, true);
  });
  view.seen.observe(view.stage);
}

// Whether a presentation has begun or ended: it enlarges all, and type of 13 pixels is the least it shows.
function presented(view) {
  const least = scaleOf(view.stage) > 1.01 ? 13 : 0;
  const changed = least !== view.least;
  view.least = least;
  view.root.classList.toggle("presented", least > 0);
  return changed;
}

// Take over what the page says is chosen.
function follow(view, data, fresh) {
  const { now } = data;
  view.count = Math.max(view.count, data.count);
  const same = !fresh && view.depth === now.depth && view.step === now.step && view.layer === now.layer - 1
    && view.head === now.head - 1 && view.position === now.position - 1 && view.source === now.source - 1;
  if (same) { words(view); return; }
  const at = Math.max(0, data.steps.findIndex((step) => step.slug === now.step));
  Object.assign(view, { at, depth: now.depth, layer: now.layer - 1, head: now.head - 1, position: now.position - 1, source: now.source - 1 });
  draw(view, fresh);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".atlas");
  const view = root.view || (root.view = {
    root, stage: root.querySelector(".stage"), svg: root.querySelector("svg"), range: root.querySelector(".layer input"),
    doors: root.querySelector(".doors"), scroll: root.querySelector(".scroll"),
    count: 0, zoom: 1, timer: 0,
  });
  view.trigger = setTriggerValue;
  root.style.setProperty("--accent", data.accent);
  const turned = presented(view);
  const fresh = view.sign !== data.sign;
  // An answer to an older move must not undo a newer one.
  const older = !fresh && data.count < view.count;
  view.data = data;
  if (fresh) {
    view.sign = data.sign;
    view.lanes = data.lanes.map((lane) => ({ ...lane, embedding: unpacked(lane.embedding), block: unpacked(lane.block), end: unpacked(lane.end) }));
    view.stage.setAttribute("aria-label", data.label);
    view.root.querySelector(".depths").replaceChildren(...Object.entries(data.depths).map(([slug, name]) => {
      const button = element("button", "", name);
      button.type = "button";
      button.atlas = slug;
      button.onclick = () => choose(view, { depth: slug });
      return button;
    }));
    clearTimeout(view.timer);
    view.timer = 0;
    view.box = null;
  }
  if (!view.seen) listen(view);
  if (!older) follow(view, data, fresh);
  else words(view);
  if (!fresh && turned) draw(view, true);
  // Arrow keys step while nothing else has the focus; the space bar scrolls the page unless it is presented.
  // As long as the picture stands: a key may come between two drawings.
  view.hears ??= (event) => {
    if (!root.isConnected) return window.removeEventListener("keydown", view.hears);
    const free = event.target === document.body && (view.least || event.key.startsWith("Arrow"));
    if (!event.defaultPrevented && (free || isRemote(view, event))) onKey(view, event);
  };
  window.addEventListener("keydown", view.hears); // which adds it once
}
