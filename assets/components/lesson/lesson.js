// A step's view as a frame of the app itself, the arrow keys of the page around it, and the visitor's progress, which
// stays in this browser. A new view gets a new frame: one whose address changes would add a step to the history.

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

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const box = parentElement.querySelector(".view");
  if (box.dataset.src !== data.src) {
    box.dataset.src = data.src;
    const frame = document.createElement("iframe");
    frame.title = data.title;
    frame.src = data.src;
    frame.onload = () => frame.classList.add("here");
    const old = box.querySelector("iframe");
    if (old) old.remove();
    box.append(frame);
  }
  remember(data);
  if (box.stop) box.stop.abort();
  box.stop = new AbortController();
  let count = data.count;
  document.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const target = event.composedPath()[0];
    if (!by || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (target instanceof Element && target.closest(OWN_KEYS)) return;
    if (data.step + by < 1 || data.step + by > data.steps) return;
    event.preventDefault();
    count += 1;
    setTriggerValue("sent", { count, step: data.step + by });
  }, { signal: box.stop.signal });
  return () => box.stop.abort();
}
