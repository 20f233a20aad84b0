export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const state = parentElement.atlas || (parentElement.atlas = { sent: null });
  Object.assign(state, { frame: data.frame, now: String(data.now), send: setTriggerValue });
  const frames = () => [...document.querySelectorAll("iframe")].map((frame) => frame.contentWindow);
  const tell = (frame) => frame.postMessage({ atlas: state.frame, show: state.show }, "*");
  if (state.show !== data.show) {
    state.show = data.show; // selected outside
    frames().forEach(tell);
  }
  if (state.listen) return;
  state.listen = (event) => {
    const { atlas, open, ready } = event.data ?? {};
    if (atlas !== state.frame || !frames().includes(event.source)) return;
    if (ready && state.show) tell(event.source);
    if (!Array.isArray(open)) return;
    // Arrow keys go through many heads, and two clicks make one: what they end at counts.
    clearTimeout(state.waiting);
    state.waiting = setTimeout(() => {
      if (parentElement.isConnected && String(open) !== state.now) state.send("sent", { open });
    }, 500);
  };
  window.addEventListener("message", state.listen);
  return () => {
    window.removeEventListener("message", state.listen);
    state.listen = null;
  };
}
