// The view that this browser stored when it was left (see copy.js). Sent once; forgotten on request.
export default function (component) {
  const { data, setTriggerValue } = component;
  try {
    if (data.forget) {
      localStorage.removeItem("atlas.view");
      return;
    }
    const stored = localStorage.getItem("atlas.view");
    if (stored && stored !== JSON.stringify(data.view)) setTriggerValue("sent", JSON.parse(stored));
  } catch { /* a browser that stores nothing, or something else under this name */ }
}
