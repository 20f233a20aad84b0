export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const state = parentElement.atlas || (parentElement.atlas = { sent: null });
  Object.assign(state, { frame: data.frame, now: String(data.now), send: setTriggerValue });
  if (state.listen) return;
  state.listen = (event) => {
    const frames = [...document.querySelectorAll("iframe")].map((frame) => frame.contentWindow);
    const { atlas, open } = event.data ?? {};
    if (atlas !== state.frame || !Array.isArray(open) || !frames.includes(event.source)) return;
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
