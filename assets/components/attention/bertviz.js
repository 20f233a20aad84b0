// What bertviz's scripts ask for, given before they run: the modules that require.js is asked for, which are on the page
// already, and their parameters as PYTHON_PARAMS (head and model view) or window.bertviz_params (neuron view). The module
// d3 comes once the numbers are inflated: so bertviz, and all that waits for what it draws, waits for them. Where a
// map is longer than a view can draw, a window of it is shown: bertviz reads the map anew whenever its own menu "filter"
// changes, so the window is cut just before that.
define("jquery", () => window.jQuery);
let unpacked; // a promise
define("unpacked", { load: (name, require, done) => unpacked.then(done) });
define("d3", ["unpacked!"], () => window.d3);
const PYTHON_PARAMS = JSON.parse(document.getElementById("data").textContent);
window.bertviz_params = PYTHON_PARAMS;
window.d3.schemeCategory10 = PYTHON_PARAMS.colors;

{
  const params = PYTHON_PARAMS;
  const filter = document.getElementById("filter");
  const menus = { rows: document.getElementById("rows"), columns: document.getElementById("columns") };
  const all = (map, side) => ({ from: 0, to: (side === "rows" ? map.left : map.right).length });
  let now = 0;

  async function inflate(map) {
    map.left = map.left_text;
    map.right = map.right_text;
    map.numbers = {};
    for (const name of ["weights", "queries", "keys"]) {
      if (map[name]) map.numbers[name] = await unpack(map[name].bytes, map[name].bits, map[name].signed);
    }
  }

  /** Nested arrays of the part [from, to) of a map's third axis and [left, right) of its fourth. */
  function nested(numbers, { shape, scale }, row, column) {
    const [layers, heads, rows, columns] = shape;
    return Array.from({ length: layers }, (_, layer) =>
      Array.from({ length: heads }, (_, head) => {
        const picture = layer * heads + head;
        const step = scale[picture];
        return Array.from({ length: row.to - row.from }, (_, i) => {
          const at = (picture * rows + row.from + i) * columns;
          return Array.from(numbers.subarray(at + column.from, at + column.to), (n) => n * step);
        });
      }),
    );
  }

  function cut(map, row, column) {
    map.attn = nested(map.numbers.weights, map.weights, row, column);
    map.left_text = map.left.slice(row.from, row.to);
    map.right_text = map.right.slice(column.from, column.to);
    for (const [name, part] of [["queries", row], ["keys", column]]) {
      const vectors = map.numbers[name];
      if (!vectors) continue;
      // The packed numbers stay under another name, because bertviz looks for the vectors under this one.
      const packed = (map.packed ??= { queries: map.queries, keys: map.keys })[name];
      map[name] = nested(vectors, packed, part, { from: 0, to: packed.shape[3] });
    }
  }

  /** The parts of one side that a view can carry: all of it, or pieces; and the two sentences of a pair. */
  function parts(map, side) {
    const whole = all(map, side);
    const out = [];
    if (whole.to <= params.most) out.push({ ...whole, name: "all tokens" });
    else {
      for (let from = 0; from < whole.to; from += params.most) {
        const to = Math.min(whole.to, from + params.most);
        out.push({ from, to, name: `tokens ${from + 1} to ${to}` });
      }
    }
    if (map.second > 0 && map.second < whole.to) {
      const halves = [{ from: 0, to: map.second, name: "first sentence" }];
      halves.push({ from: map.second, to: whole.to, name: "second sentence" });
      out.push(...halves.filter(({ from, to }) => to - from <= params.most));
    }
    return out;
  }

  /** Fill both choices for the map that is chosen; where there is one part only, nothing is asked. */
  function offer() {
    const map = params.attention[now];
    for (const side of ["rows", "columns"]) {
      if (!menus[side]) continue;
      const there = parts(map, side);
      menus[side].replaceChildren(...there.map(({ name }, index) => new Option(name, String(index))));
      menus[side].closest(".step").hidden = there.length < 2 || (side === "columns" && params.together);
    }
  }

  function show() {
    const map = params.attention[now];
    const chosen = (side) => {
      const menu = menus[params.together ? "rows" : side];
      return parts(map, side)[menu ? menu.selectedIndex : 0];
    };
    cut(map, chosen("rows"), chosen("columns"));
    params.from = chosen("rows").from; // the first token that is drawn
  }

  unpacked = Promise.all(params.attention.map(inflate)).then(() => {
    params.attention.forEach((map, index) => {
      now = index;
      offer();
      show();
    });
    now = 0;
    offer();
  });
  // This listener is the first on the menu, so the map is cut before bertviz draws it.
  filter?.addEventListener("change", () => {
    if (Number(filter.value) !== now) {
      now = Number(filter.value);
      offer();
    }
    show();
  });
  for (const [side, menu] of Object.entries(menus)) {
    menu?.addEventListener("change", () => {
      // Within one text both sides move together at first; the right one can then be moved by itself.
      if (side === "rows" && menus.rows.length === menus.columns.length) menus.columns.value = menu.value;
      filter.dispatchEvent(new Event("change"));
    });
  }

  // What bertviz leaves to be mended once it has drawn: require.js serves in turn, and bertviz has asked by then.
  const drawn = () => {
    if (!document.body.classList.contains("neuron")) return;
    const picture = document.getElementById("vis");
    const mend = () => {
      // The neuron view counts its layers and heads from 0, and keeps the height of its first map.
      const { left_text, right_text } = params.attention[now];
      const tall = Math.max(left_text.length, right_text.length) * 26 + 60;
      picture.querySelector("svg")?.setAttribute("height", `${tall}px`);
    };
    for (const [id, labels] of [["layer", params.include_layers], ["att_head", params.include_heads]]) {
      for (const option of document.getElementById(id)?.options ?? []) option.textContent = labels[option.value];
    }
    new MutationObserver(mend).observe(picture, { childList: true });
    mend();
  };
  document.addEventListener("DOMContentLoaded", () => requirejs(["d3"], drawn));
}
