// The view that this browser stored when it was left (see address.js). Sent once; forgotten on request. What a page sends
// while its visitor goes Back from it would lead there again, so nothing is sent once the address is another page's.
export default function (component) {
  const { data, setTriggerValue } = component;
  try {
    if (data.forget) {
      sessionStorage.removeItem("atlas.view");
      return;
    }
    const stored = sessionStorage.getItem("atlas.view");
    const here = ["", "/", "/home"].some((end) => location.pathname === data.base + end);
    if (here && stored && stored !== JSON.stringify(data.view)) setTriggerValue("sent", JSON.parse(stored));
  } catch { /* a browser that stores nothing, or something else under this name */ }
}
