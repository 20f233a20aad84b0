// What is chosen in a view of bertviz's, read off what it has drawn: its own notes are out of reach. From 1, as shown.
// A page around this one is told, so that its link holds it.

/** The layer, 0 for all of them (model view), and the heads: those that are on, the one, or the enlarged one. */
function chosen() {
  const { include_layers: layers, include_heads: heads, layer, head } = PYTHON_PARAMS;
  const menu = (id) => document.getElementById(id)?.selectedOptions[0];
  const view = document.body.className;
  if (view === "model") {
    const pictures = [...document.querySelectorAll(".attn_background")];
    const open = pictures.findIndex((one) => Number(one.getAttribute("stroke-opacity")) > 0);
    if (open < 0) return { layer: 0, heads: [] };
    return { layer: layers[Math.floor(open / heads.length)], heads: [heads[open % heads.length]] };
  }
  if (view === "neuron") {
    const at = (id, usual) => Number(menu(id)?.value ?? usual ?? 0); // these menus count from 0
    return { layer: layers[at("layer", layer)], heads: [heads[at("att_head", head)]] };
  }
  return {
    layer: Number(menu("layer")?.value ?? layer ?? layers[0]),
    heads: squares().flatMap((square, index) => (square.__data__ ? [heads[index]] : [])),
  };
}

/** Those of the head view's heads; each holds whether its head is on, as d3 keeps what a shape stands for. */
const squares = () => [...document.querySelectorAll(".head #vis svg > g:last-child > rect")];

/** One head alone has the branch's color, as in every map of weights. */
function shade() {
  const all = squares();
  for (const square of all) square.classList.toggle("on", square.__data__);
  document.getElementById("vis").classList.toggle("single", all.filter((square) => square.__data__).length === 1);
}

/** The enlarged picture that the model view begins with, which bertviz itself cannot be asked for. */
document.addEventListener("DOMContentLoaded", () => requirejs(["d3"], () => {
  const { open } = PYTHON_PARAMS;
  const pictures = document.querySelectorAll(".attn_background");
  // What takes the click lies over a picture, last of its group.
  const wanted = open && pictures[open[0] * PYTHON_PARAMS.include_heads.length + open[1]];
  wanted?.parentNode.lastChild.dispatchEvent(new MouseEvent("click"));
  shade();
}));
// bertviz listens nearer to what is clicked, so it has drawn by now.
for (const name of ["click", "dblclick", "change"]) document.addEventListener(name, shade);

if (window.parent !== window) {
  const tell = () => {
    const { layer, heads } = chosen();
    const all = document.body.className === "head" && heads.length === PYTHON_PARAMS.include_heads.length;
    window.parent.postMessage({ atlas: "bertviz", open: layer ? [layer, ...(all ? [] : heads)] : [] }, "*");
  };
  for (const name of ["click", "dblclick"]) document.getElementById("vis").addEventListener(name, tell);
  document.addEventListener("change", tell);
}
