// Runs scripts of the app outside a browser: a test gives what they find there, and takes what they define.

const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { deflateSync } = require("node:zlib");

const ASSETS = join(__dirname, "..", "..", "assets");

/** What `files`, joined, call `names`; their default export is `begin`. `page` holds the globals of a page. */
exports.load = (files, names, page = {}) => {
  const text = files.map((file) => readFileSync(join(ASSETS, file), "utf8")).join("\n");
  const script = text.replace("export default", "const begin =");
  return new Function(...Object.keys(page), `${script}\nreturn {${names.join()}};`)(...Object.values(page));
};

/** An element that keeps attributes and children, and draws nothing. */
exports.element = (values = {}) => {
  const style = { setProperty: (name, value) => { style[name] = value; } };
  const made = { attributes: {}, children: [], style, textContent: "", clientWidth: 0, offsetWidth: 0, ...values };
  made.setAttribute = (name, value) => { made.attributes[name] = String(value); };
  made.append = (...children) => made.children.push(...children);
  made.replaceChildren = (...children) => { made.children = children; };
  made.getBoundingClientRect = () => ({ width: made.offsetWidth });
  return made;
};

/** A store of a browser. */
exports.storage = (stored = {}) => ({
  stored,
  getItem: (name) => stored[name] ?? null,
  setItem: (name, text) => { stored[name] = text; },
  removeItem: (name) => { delete stored[name]; },
});

/** Whole numbers of an array as the server packs them for `unpack`. */
exports.packed = (numbers) => deflateSync(Buffer.from(numbers.buffer)).toString("base64");
