// The lines of one token stay shown: of the one that was clicked, or that a page around this one has selected. A second
// click shows those of all. bertviz shows a token's lines while the pointer is on it; here the pointer is said to have come
// back. In the model view, the enlarged picture has tokens. And the head view is drawn as wide as the page.
let showKept; // at once, for a picture that is saved as soon as the pointer has left
{
  const view = document.body.className;
  const picture = document.getElementById("vis");
  const QUERIES = {
    head: "#left > g:last-child",
    model: "g.detail",
    neuron: "#collapsed:not([visibility=hidden]) #leftText, #expanded[visibility=visible] #leftText",
  };
  const tokens = () => [...(picture.querySelector(QUERIES[view])?.children ?? [])];
  let kept = -1; // from 0, in the whole text
  const show = () => {
    const drawn = tokens();
    const token = kept < 0 ? null : drawn[kept - PYTHON_PARAMS.from];
    if (token) token.dispatchEvent(new MouseEvent("mouseover"));
    else (view === "head" ? picture.querySelector("#left") : drawn[0])?.dispatchEvent(new MouseEvent("mouseleave"));
  };
  showKept = show;
  const tell = (message) => window.parent !== window && window.parent.postMessage({ atlas: "token", ...message }, "*");
  picture.addEventListener("click", ({ target }) => {
    // In the neuron view, a click on a plus or minus sign has drawn the tokens elsewhere: it is found among its siblings.
    const token = target.closest(view === "neuron" ? "#leftText > g" : "g");
    const at = view === "neuron" && token ? [...token.parentNode.children].indexOf(token) : tokens().indexOf(token);
    if (at >= 0) {
      const now = at + PYTHON_PARAMS.from;
      kept = kept === now && !target.matches("path ~ rect") ? -1 : now;
    }
    show();
    if (at >= 0 && kept >= 0) tell({ open: [kept + 1] });
  });
  // after bertviz has shown all lines again
  picture.addEventListener("mouseleave", (event) => event.isTrusted && setTimeout(show), true);
  document.addEventListener("change", () => setTimeout(show));
  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || data?.atlas !== "token" || !Number.isInteger(data.show)) return;
    kept = data.show - 1;
    show();
  });
  document.addEventListener("DOMContentLoaded", () => requirejs(["d3"], () => tell({ ready: true })));

  if (view === "head") {
    const NARROW = 340;
    const END = 225; // of bertviz's lines
    const MOST = 480;
    const widen = () => {
      const more = Math.max(0, Math.min(picture.clientWidth - NARROW, MOST));
      picture.querySelector("#right")?.setAttribute("transform", `translate(${more})`);
      for (const line of picture.querySelectorAll("#attention line")) line.setAttribute("x2", END + more);
    };
    new MutationObserver(widen).observe(picture, { childList: true });
    new ResizeObserver(widen).observe(picture);
  }
}
