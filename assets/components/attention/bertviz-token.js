// Head view: the lines of one token stay shown, of the one that was clicked or that a page around this one has selected.
// A second click shows the lines of all. bertviz shows a token's lines while the pointer is on it; here the pointer is said to have come back.

if (document.body.className === "head") {
  const picture = document.getElementById("vis");
  const tokens = () => [...picture.querySelectorAll("#left > g:last-child > g")];
  let kept = null;
  const show = () => {
    const token = tokens()[kept];
    if (token) token.dispatchEvent(new MouseEvent("mouseover"));
    else picture.querySelector("#left")?.dispatchEvent(new MouseEvent("mouseleave"));
  };
  const tell = (message) => window.parent !== window && window.parent.postMessage({ atlas: "token", ...message }, "*");
  picture.addEventListener("click", ({ target }) => {
    const at = tokens().findIndex((token) => token.contains(target));
    if (at < 0) return;
    kept = kept === at ? null : at;
    show();
    if (kept !== null) tell({ open: [at + 1] });
  });
  picture.addEventListener("mouseleave", () => setTimeout(show), true); // after bertviz has shown all lines again
  document.addEventListener("change", () => setTimeout(show));
  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || data?.atlas !== "token" || !Number.isInteger(data.show)) return;
    kept = data.show - 1;
    show();
  });
  document.addEventListener("DOMContentLoaded", () => requirejs(["d3"], () => tell({ ready: true })));
}
