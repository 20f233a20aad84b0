// A step's view as a frame of the app itself, the arrow keys of the page around it, and the visitor's progress, which
// stays in this browser. All steps share one frame and its session: the frame goes to the next view as Back would, in a
// third of the time that a page takes to load, and its address is replaced, which adds no step to the history.

const STORE = "atlas.lessons";
const OWN_KEYS = "input, textarea, select, [contenteditable], [role=slider], [role=radio], [role=tab], [role=option], " +
  "[role=combobox], [role=listbox], [role=menuitem], [role=separator]";

function remember(data) {
  if (!data.lesson) return;
  try {
    const all = JSON.parse(localStorage.getItem(STORE) || "{}");
    const before = all[data.lesson] || {};
    all[data.lesson] = { at: data.step, far: Math.max(data.step, before.far || 0), steps: data.steps };
    localStorage.setItem(STORE, JSON.stringify(all));
  } catch { /* a browser that stores nothing forgets the progress */ }
}

const KEYS = { ArrowRight: 1, ArrowLeft: -1 };
// What a presenter's remote sends, in a presentation wherever the focus is, the view's frame included.
const REMOTE = { PageDown: 1, PageUp: -1 };
const OWN_REMOTE = "textarea, select, [contenteditable], [role=slider], [role=option], [role=combobox], [role=listbox]";

const PATIENCE = 30_000; // milliseconds
const MAIN = "[data-testid=stMain]";
const UNFINISHED = "[data-stale=true], [data-testid=stSkeleton]";
const STANDS = "[data-testid=stApp][data-test-script-state=notRunning]";

// Whether the frame shows the view that it was sent to, complete.
function stands(frame) {
  const inside = frame.contentDocument;
  return Boolean(inside?.querySelector(STANDS) && inside.querySelector("h1") && !inside.querySelector(UNFINISHED));
}

// Covers the frame until the run that shows its view is over; after a while it is shown as far as it has come.
function uncover(box, frame, goes) {
  box.classList.add("loading");
  let runs = !goes;
  const begun = performance.now();
  box.runs?.disconnect();
  box.runs = new MutationObserver(() => { runs = true; });
  if (goes) box.runs.observe(frame.contentDocument.body, { subtree: true, attributeFilter: ["data-test-script-state"] });
  clearInterval(box.timer);
  box.timer = setInterval(() => {
    const waited = performance.now() - begun;
    if (waited < PATIENCE && !(stands(frame) && (runs || waited > 2_000))) return;
    clearInterval(box.timer);
    box.runs.disconnect();
    box.classList.remove("loading");
  }, 50);
}

function show(box, data) {
  const { src, theme, title } = data;
  let frame = box.querySelector("iframe");
  const goes = Boolean(frame?.contentDocument?.querySelector(STANDS)) && box.dataset.theme === theme;
  if (goes) {
    const inside = frame.contentWindow;
    inside.history.replaceState(inside.history.state, "", src);
    inside.dispatchEvent(new inside.PopStateEvent("popstate"));
  } else {
    frame?.remove();
    frame = document.createElement("iframe");
    frame.src = src;
    frame.addEventListener("load", () => {
      frame.contentWindow.addEventListener("keydown", (event) => { if (REMOTE[event.key]) box.press(event); });
    });
    box.append(frame);
  }
  frame.title = title;
  Object.assign(box.dataset, { src, theme });
  uncover(box, frame, goes);
}

// A new step begins at its title, wherever the step before was left; so does the end, for which this is drawn anew.
function rise(box, data) {
  const step = String(data.step);
  if (box.dataset.step !== step) document.querySelector(MAIN)?.scrollTo(0, 0);
  box.dataset.step = step;
}

// A view that prints the answer is neither seen nor read, nor reached by the keyboard, before the question is answered.
// On a phone it is low while it is covered; what stands below it, the verdict, stays where it is as it opens.
function cover(box, data) {
  const [opens, before] = [box.matches(".covered") && !data.covered, box.offsetHeight];
  box.classList.toggle("covered", data.covered);
  box.querySelector(".cover").textContent = data.covered ? data.cover : "";
  box.querySelector("iframe").inert = data.covered;
  if (opens && box.dataset.step === String(data.step)) {
    document.querySelector(MAIN)?.scrollBy(0, box.offsetHeight - before);
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const box = parentElement.querySelector(".view");
  box.hidden = !data.src; // the end of a lesson has no view
  if (data.src) {
    if (box.dataset.src !== data.src) show(box, data);
    cover(box, data);
  }
  rise(box, data);
  remember(data);
  // A press before the answer to the one before it counts from the step that was asked for.
  if (!(box.count > data.count)) Object.assign(box, { count: data.count, at: data.step });
  box.press = (event) => {
    const remote = data.presented && REMOTE[event.key], by = remote || KEYS[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    if (event.composedPath()[0].closest?.(remote ? OWN_REMOTE : OWN_KEYS)) return;
    if (box.at + by < 1 || box.at + by > data.steps + 1) return;
    event.preventDefault();
    box.at += by;
    box.count += 1;
    setTriggerValue("sent", { count: box.count, step: box.at });
  };
  // As long as the box stands: a key may come between two drawings.
  box.hears ??= (event) => {
    if (box.isConnected) box.press(event);
    else document.removeEventListener("keydown", box.hears);
  };
  document.addEventListener("keydown", box.hears); // which adds it once
}
