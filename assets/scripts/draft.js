// A text that is typed and not sent yet would be lost where Back or Forward takes its box away. It waits in this tab's
// memory until its address shows the box again: there it is typed once more, and sent.
(() => {
  const BOXES = ".stTextInput input, .stTextArea textarea, .stNumberInput input";
  const MOST = 20; // drafts, each of at most as many characters as its box takes
  const drafts = new Map(); // the name of a box and its text, by address
  let open = null; // the box that has the focus and holds what was not sent, and its address
  let left = new Set(); // boxes of the view that was left, which stand until the next is drawn
  const address = () => location.pathname + location.search;
  const name = (box) => { // the widget's key without the number of the page's state, which goes up on the way
    const names = [...box.closest("[class*=st-key-]")?.classList ?? []];
    return names.find((one) => /^st-key-.+?-\d+-/.test(one))?.replace(/-\d+-/, " ");
  };
  const drop = () => {
    open = null;
    drafts.delete(address());
  };
  const watch = new MutationObserver(() => {
    if (open?.box.isConnected) open.at = address(); // an earlier run may have written it since
    const draft = drafts.get(address());
    if (!draft || !document.querySelector("[data-test-script-state=notRunning]")) return;
    const box = [...document.querySelectorAll(BOXES)].find((one) => !left.has(one) && name(one) === draft.name);
    if (!box) return;
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(box), "value").set.call(box, draft.text);
    for (const event of ["input", "focusout"]) box.dispatchEvent(new Event(event, { bubbles: true }));
  });
  addEventListener("input", ({ target }) => {
    if (!target.matches?.(BOXES) || !name(target)) return;
    drop();
    open = { box: target, at: address() };
    watch.observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-test-script-state"] });
  }, true);
  addEventListener("focusout", ({ target }) => { if (target === open?.box) drop(); }, true); // Streamlit sends it
  addEventListener("popstate", () => {
    left = new Set(document.querySelectorAll(BOXES));
    if (!open || open.at === address()) return;
    drafts.set(open.at, { name: name(open.box), text: open.box.value });
    if (drafts.size > MOST) drafts.delete(drafts.keys().next().value);
    open = null;
  }, true);
})();
