// The keys of a presentation: P, and Escape while nothing else is open that it closes; the button that ends it, too.

const FIELDS = "textarea, select, [contenteditable=true], input:not([type=radio], [type=checkbox], [type=range])";
const OPEN = "[role=dialog], [role=listbox][id], [data-testid=stPopoverBody], [data-baseweb=popover]";

const SCROLLS = "[class*=st-key-scrolling-], .katex-display, [data-testid=stMarkdownContainer]:has(> table)";

/** A box that scrolls sideways on this screen takes the focus, so that the arrow keys scroll it. */
function reachable(box) {
  const scrolls = box.scrollWidth > box.clientWidth + 1;
  if (scrolls === box.hasAttribute("tabindex")) return;
  for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", "Scrolls sideways"]]) {
    if (scrolls) box.setAttribute(name, value);
    else box.removeAttribute(name);
  }
}

// On a telephone the sidebar lies over the page: what is chosen in it would stay covered. A link to another view of
// the same page leads to its top, as one to another page does.
window.atlasUncovers ??= addEventListener("click", ({ target, ctrlKey, metaKey }) => {
  if (innerWidth <= 768 && target.closest?.("[data-testid=stSidebar] a"))
    setTimeout(() => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click());
  if (!ctrlKey && !metaKey && target.closest?.("[data-testid=stPageLink] a"))
    document.querySelector("[data-testid=stMain]").scrollTo(0, 0);
}) ?? true;

// A box sends what was typed a moment after it has lost the focus. A link pressed at once would overtake it, and what the
// box then sends for the page before would call that page back. So a link waits until nothing else is left to do.
window.atlasSends ??= (() => {
  const links = "[data-testid=stSidebarNav] a, [data-testid=stPageLink] a";
  const idle = window.requestIdleCallback ?? ((then) => setTimeout(then, 100));
  let left = -Infinity;
  addEventListener("focusout", ({ target }) => {
    if (target.matches?.(FIELDS)) left = performance.now();
  }, true);
  addEventListener("click", (event) => {
    const link = event.isTrusted && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.target.closest?.(links);
    if (!link || performance.now() - left > 1000) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    idle(() => link.click(), { timeout: 500 });
  }, true);
  return true;
})();

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const button = parentElement.querySelector("button");
  const state = parentElement.atlas || (parentElement.atlas = {});
  state.send = setTriggerValue;
  // A key pressed before the answer to the one before it finds what that one asked for.
  if (!(state.count > data.count)) Object.assign(state, { count: data.count, on: data.on });
  const turn = (on) => {
    state.on = on;
    state.count += 1;
    state.send("sent", { to: on ? "hall" : "page", count: state.count });
  };
  button.textContent = data.label;
  button.hidden = !data.on;
  const said = parentElement.querySelector("[role=status]");
  // What a page shows first is read with the page; news is what has changed.
  if (state.news !== undefined && state.news !== data.news) said.textContent = data.news;
  state.news = data.news;
  button.onclick = () => turn(false);
  // Streamlit's list of pages has groups between the list and its items, which is no list to a screen reader.
  const items = "[data-testid=stSidebarNavItems], [data-testid=stSidebarNavItems] li";
  const adjust = () => {
    document.querySelectorAll(items).forEach((one) => one.setAttribute("role", "none"));
    document.querySelectorAll(SCROLLS).forEach(reachable);
  };
  let rounds = 40; // what is drawn after this, or anew
  let timer = setInterval(() => {
    adjust();
    rounds -= 1;
    if (rounds === 0) {
      clearInterval(timer);
      timer = setInterval(adjust, 2000);
    }
  }, 250);
  adjust();
  // As long as the button stands: a key may come between two drawings.
  state.hears ??= (event) => {
    if (!parentElement.isConnected) return window.removeEventListener("keydown", state.hears, true);
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.composedPath()[0].matches?.(FIELDS)) return;
    const key = state.on ? event.key === "Escape" && !document.querySelector(OPEN) : event.key.toLowerCase() === "p";
    if (key) turn(!state.on);
  };
  // Before what the page itself closes with Escape has gone.
  window.addEventListener("keydown", state.hears, true); // which adds it once
  return () => clearInterval(timer);
}
