// Attention of three tokens in two dimensions, as core/attention/byhand.py computes it; what each number came from.

const DECIMALS = { p: 0 };
const LIMITS = { p: [0, 999], g: [-360, 360], t: [0.01, 99] }; // of a cell; all others lie from -99 to 99
const LETTERS = "qkvpgtw"; // of the tensors that a visitor changes

const limits = (tensor) => LIMITS[tensor] || [-99, 99];
const decimals = (tensor) => DECIMALS[tensor] ?? 2;
const changeable = (tensor) => LETTERS.includes(tensor[0]);

/** The number of a cell's text; null where it is none that the cell takes. */
function readNumber(text, tensor) {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  if (!/^-?\d{1,3}(\.\d{1,2})?$/.test(plain)) return null;
  const [low, high] = limits(tensor);
  const value = Number(plain) + 0; // no -0
  if (value < low || value > high || (!decimals(tensor) && !Number.isInteger(value))) return null;
  return value === 0 ? 0 : value;
}

/** The cells that differ from the example, as a link holds them: q131_4~k112_-0.5. */
function writeCells(cells, example) {
  const changed = [];
  for (const tensor of Object.keys(example)) {
    cells[tensor].forEach((row, i) => row.forEach((value, j) => {
      if (value !== example[tensor][i][j]) changed.push(`${tensor}${i + 1}${j + 1}_${value}`);
    }));
  }
  return changed.join("~");
}

const dot = (first, second) => first.reduce((sum, x, i) => sum + x * second[i], 0);
const scaledBy = (rows, factor) => rows.map((row) => row.map((value) => value * factor));

function product(left, right) {
  const columns = right[0].map((_, j) => right.map((row) => row[j]));
  return left.map((row) => columns.map((column) => dot(row, column)));
}

function softmax(scores) {
  const most = Math.max(...scores);
  const shares = scores.map((score) => Math.exp(score - most));
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}

/** Cosine and sine, exact for multiples of 90 degrees. */
function turn(degrees) {
  const within = ((degrees % 360) + 360) % 360;
  if (within % 90 === 0) return [[1, 0], [0, 1], [-1, 0], [0, -1]][within / 90];
  return [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
}

function rotate([x, y], degrees) {
  const [cos, sin] = turn(degrees);
  return [x * cos - y * sin, x * sin + y * cos];
}

/** Every tensor of a mode by its name; a masked score is -Infinity. */
function compute(cells, mode, causal) {
  const tensors = { ...cells };
  for (const head of mode === "heads" ? "12" : "1") {
    let [queries, keys] = [cells[`q${head}`], cells[`k${head}`]];
    if (mode === "rotation") {
      const angles = cells.p.map(([position]) => position * cells.g[0][0]);
      queries = tensors[`r${head}`] = queries.map((row, i) => rotate(row, angles[i]));
      keys = tensors[`u${head}`] = keys.map((row, i) => rotate(row, angles[i]));
    }
    const scores = queries.map((query) => keys.map((key) => dot(query, key)));
    const divided = scaledBy(scores, 1 / Math.SQRT2);
    const masked = divided.map((row, i) => row.map((score, j) => (causal && j > i ? -Infinity : score)));
    const logits = mode === "temperature" ? scaledBy(masked, 1 / cells.t[0][0]) : masked;
    if (mode === "temperature") tensors[`x${head}`] = logits;
    const weights = logits.map(softmax);
    Object.assign(tensors, {
      [`s${head}`]: scores, [`d${head}`]: divided, [`m${head}`]: masked, [`a${head}`]: weights,
      [`o${head}`]: product(weights, cells[`v${head}`]),
    });
  }
  if (mode === "heads") {
    tensors.c = tensors.o1.map((row, i) => [...row, ...tensors.o2[i]]);
    tensors.y = product(tensors.c, cells.w);
  }
  return tensors;
}

const whole = (value) => Math.abs(value - Math.round(value)) < 1e-9;

/** A number as a cell shows it: whole, or with so many decimals. */
function shown(value, digits = 2) {
  if (value === -Infinity) return "−∞";
  const text = whole(value) ? String(Math.abs(Math.round(value))) : Math.abs(value).toFixed(digits);
  return value < 0 && text !== "0" ? `−${text}` : text;
}

/** A number inside a computation: exact enough to compute with. */
const exact = (value) => shown(value, 4).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
const factor = (value) => (value < 0 ? `(${exact(value)})` : exact(value));
const sum = (first, second) => first.map((x, i) => `${exact(x)}·${factor(second[i])}`).join(" + ").replaceAll("+ −", "− ");

/** A mode's blocks in rows, as they are drawn, up to a step. */
function layout(mode, until) {
  const steps = ["inputs", "scores", "scaled", "mask", "weights", "output"];
  const of = { s: 1, d: 2, m: 3, t: 4, x: 4, a: 4, o: 5, c: 5, w: 5, y: 5 };
  const rows = {
    head: [["q1", "k1", "v1"], ["s1", "d1", "m1"], ["a1", "o1"]],
    rotation: [["q1", "k1", "v1"], ["p", "r1", "u1", "g"], ["s1", "d1", "m1"], ["a1", "o1"]],
    temperature: [["q1", "k1", "v1"], ["s1", "d1", "m1"], ["x1", "t"], ["a1", "o1"]],
    heads: [["q1", "k1", "v1"], ["m1", "a1", "o1"], ["q2", "k2", "v2"], ["m2", "a2", "o2"], ["c", "y"], ["w"]],
  }[mode];
  const last = steps.indexOf(until);
  return rows.map((row) => row.filter((tensor) => (of[tensor[0]] || 0) <= last)).filter((row) => row.length);
}

/** Where an arrow key leads from a cell, as in a spreadsheet; past the end of a block lies the next one. */
function neighbor(rows, size, [tensor, row, column], key) {
  const line = rows.findIndex((blocks) => blocks.includes(tensor));
  const blocks = rows[line];
  const at = blocks.indexOf(tensor);
  const clamp = (name, i, j) => [name, Math.min(i, size(name)[0] - 1), Math.min(j, size(name)[1] - 1)];
  if (key === "ArrowRight") {
    if (column + 1 < size(tensor)[1]) return [tensor, row, column + 1];
    return at + 1 < blocks.length ? clamp(blocks[at + 1], row, 0) : null;
  }
  if (key === "ArrowLeft") {
    if (column) return [tensor, row, column - 1];
    return at ? clamp(blocks[at - 1], row, size(blocks[at - 1])[1] - 1) : null;
  }
  const step = key === "ArrowDown" ? 1 : -1;
  if (row + step >= 0 && row + step < size(tensor)[0]) return [tensor, row + step, column];
  const next = rows[line + step];
  if (!next) return null;
  const name = next[Math.min(at, next.length - 1)];
  return clamp(name, step > 0 ? 0 : size(name)[0] - 1, column);
}

const rowOf = (tensor, row, width) => Array.from({ length: width }, (_, j) => [tensor, row, j]);
const columnOf = (tensor, column, height) => Array.from({ length: height }, (_, i) => [tensor, i, column]);

function weight(scores, at) {
  const most = Math.max(...scores);
  const shift = Math.abs(most) > 12 ? most : 0;
  const power = (score) => (score === -Infinity ? "0" : `e^${exact(score - shift)}`);
  const shares = scores.map((score) => Math.exp(score - shift));
  const total = shares.reduce((all, share) => all + share, 0);
  const before = shift ? `s − ${exact(shift)}: ` : "";
  const powers = `${power(scores[at])} / (${scores.map(power).join(" + ")})`;
  return `${before}${powers} = ${exact(shares[at])} / ${exact(total)} = ${shown(shares[at] / total)}`;
}

/** How a number is computed, and the cells that it came from; `words` has what is said of a mask. */
function origin(tensors, mode, [tensor, row, column], words) {
  const [letter, head] = [tensor[0], tensor[1] || ""];
  const value = tensors[tensor]?.[row]?.[column];
  const [query, key] = mode === "rotation" ? ["r1", "u1"] : [`q${head}`, `k${head}`];
  const ends = (text) => `${text} = ${shown(value)}`;
  switch (letter) {
    case "r": case "u": {
      const from = letter === "r" ? "q1" : "k1";
      const angle = tensors.p[row][0] * tensors.g[0][0];
      const [[x, y], [cos, sin]] = [tensors[from][row], turn(angle)];
      const [functions, parts] = column
        ? [["sin", "+", "cos"], [sin, cos]] : [["cos", "−", "sin"], [cos, sin]];
      const named = `${exact(x)}·${functions[0]} ${exact(angle)}° ${functions[1]} ${factor(y)}·${functions[2]} ${exact(angle)}°`;
      const numbers = `${exact(x)}·${factor(parts[0])} ${functions[1]} ${factor(y)}·${factor(parts[1])}`;
      return {
        text: ends(`${exact(tensors.p[row][0])}·${exact(tensors.g[0][0])}° = ${exact(angle)}°; ${named} = ${numbers}`),
        sources: [...rowOf(from, row, 2), ["p", row, 0], ["g", 0, 0]],
      };
    }
    case "s":
      return {
        text: ends(sum(tensors[query][row], tensors[key][column])),
        sources: [...rowOf(query, row, 2), ...rowOf(key, column, 2)],
      };
    case "d": {
      const score = tensors[`s${head}`][row][column];
      return { text: ends(`${exact(score)} / √2 = ${exact(score)} / 1.4142`), sources: [[`s${head}`, row, column]] };
    }
    case "m": {
      const masked = value === -Infinity ? words.masked : words.allowed;
      if (mode !== "heads") {
        return { text: `${masked}: ${shown(value)}`, sources: [[`d${head}`, row, column]] };
      }
      const sources = [...rowOf(query, row, 2), ...rowOf(key, column, 2)];
      if (value === -Infinity) return { text: `${masked}: −∞`, sources };
      return { text: ends(`(${sum(tensors[query][row], tensors[key][column])}) / √2`), sources };
    }
    case "x": {
      const logit = tensors[`m${head}`][row][column];
      return {
        text: ends(`${exact(logit)} / ${exact(tensors.t[0][0])}`),
        sources: [[`m${head}`, row, column], ["t", 0, 0]],
      };
    }
    case "a": {
      const from = mode === "temperature" ? `x${head}` : `m${head}`;
      const width = tensors[tensor][row].length;
      if (column === width) {
        return { text: `${tensors[tensor][row].map(exact).join(" + ")} = 1`, sources: rowOf(tensor, row, width) };
      }
      return { text: weight(tensors[from][row], column), sources: rowOf(from, row, width) };
    }
    case "o": {
      const values = tensors[`v${head}`].map((vector) => vector[column]);
      return {
        text: ends(sum(tensors[`a${head}`][row], values)),
        sources: [...rowOf(`a${head}`, row, 3), ...columnOf(`v${head}`, column, 3)],
      };
    }
    case "c": {
      const from = `o${column < 2 ? 1 : 2}`;
      return { text: `${words.head} ${from[1]}: ${shown(value)}`, sources: [[from, row, column % 2]] };
    }
    case "y":
      return {
        text: ends(sum(tensors.c[row], tensors.w.map((weights) => weights[column]))),
        sources: [...rowOf("c", row, 4), ...columnOf("w", column, 4)],
      };
    default:
      return { text: "", sources: [] };
  }
}
