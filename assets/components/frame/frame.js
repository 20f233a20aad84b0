// What is selected inside a frame of the page goes to the page, what is selected outside goes to the frame.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const state = parentElement.atlas || (parentElement.atlas = {});
  Object.assign(state, { data, send: setTriggerValue });
  const frames = () => [...document.querySelectorAll("iframe")].map((frame) => frame.contentWindow);
  const tell = (frame) => frame.postMessage({ atlas: state.data.frame, show: state.show }, "*");
  // An answer to an older selection must not undo a newer one, in the frame or in what is compared with the next.
  const follow = () => {
    if (state.count > state.data.count) return;
    Object.assign(state, { count: state.data.count, now: String(state.data.now) });
    if (state.waiting || state.show === state.data.show) return;
    state.show = state.data.show; // selected outside
    frames().forEach(tell);
  };
  follow();
  // As long as the component stands: a message may come between two drawings.
  state.hears ??= (event) => {
    if (!parentElement.isConnected) return window.removeEventListener("message", state.hears);
    const { atlas, open, ready } = event.data ?? {};
    if (atlas !== state.data.frame || !frames().includes(event.source)) return;
    if (ready && state.show) tell(event.source);
    if (!Array.isArray(open)) return;
    // Arrow keys go through many heads, and two clicks make one: what they end at counts.
    clearTimeout(state.waiting);
    state.waiting = setTimeout(() => {
      state.waiting = null;
      if (!parentElement.isConnected) return;
      if (String(open) === state.now) return follow();
      state.count += 1;
      state.now = String(open);
      state.send("sent", { open, count: state.count });
    }, 500);
  };
  window.addEventListener("message", state.hears); // which adds it once
}
