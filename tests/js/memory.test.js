const assert = require("node:assert/strict");
const test = require("node:test");
const { element, load, storage } = require("./load.js");

const parts = (names) => {
  const found = Object.fromEntries(names.map((name) => [name, element()]));
  return { found, parentElement: { querySelector: (name) => found[name] } };
};

test("a copied link shows the page, whichever modes it was copied in", async () => {
  const copied = async (query) => {
    const { found, parentElement } = parts(["button", "[role=status]"]);
    const links = [];
    const navigator = { clipboard: { writeText: async (text) => links.push(text) } };
    const location = { href: `http://host/encoder${query}`, search: query, pathname: "/encoder" };
    const { begin } = load(["components/copy/copy.js"], ["begin"], {
      navigator, window: { location }, setTimeout() {}, clearTimeout() {},
    });
    begin({ parentElement });
    await found.button.onclick();
    return links[0].replace("http://host/encoder", "");
  };
  assert.equal(await copied("?model=a&text=b%20c"), "?model=a&text=b%20c");
  assert.equal(await copied("?present=1&model=a"), "?model=a");
  assert.equal(await copied("?model=a&embed=true&text=b"), "?model=a&text=b");
  assert.equal(await copied("?present=1&embed=true&model=a"), "?model=a");
  assert.equal(await copied("?present=1"), "");
  assert.equal(await copied(""), "");
});

test("an address is written over only where it is still the one that the server saw", () => {
  const replaced = (search, data) => {
    const history = { state: null, replaceState: (_, __, to) => { history.to = to; } };
    const window = { location: { search, pathname: "/encoder" }, history };
    const { begin } = load(["components/address/address.js"], ["begin"], { window });
    begin({ data });
    return history.to;
  };
  assert.equal(replaced("?text=a%20b", { old: ["text=a+b"], query: "text=c" }), "/encoder?text=c");
  assert.equal(replaced("?text=a", { old: ["text=a"], query: "" }), "/encoder");
  assert.equal(replaced("?text=newer", { old: ["text=a"], query: "text=c" }), undefined);
});

test("the last view is sent from Home alone, once it is another, and a broken one is left", () => {
  const sent = (stored, pathname, data = {}) => {
    const messages = [];
    const sessionStorage = storage(stored ? { "atlas.view": stored } : {});
    const { begin } = load(["components/last/last.js"], ["begin"], { sessionStorage, location: { pathname } });
    begin({ data: { base: "", ...data }, setTriggerValue: (_, message) => messages.push(message) });
    return [messages, sessionStorage.stored];
  };
  const view = { page: "encoder", tab: null, query: "" };
  assert.deepEqual(sent(JSON.stringify(view), "/")[0], [view]);
  assert.deepEqual(sent(JSON.stringify(view), "/app/home", { base: "/app" })[0], [view]);
  assert.deepEqual(sent(JSON.stringify(view), "/encoder")[0], []);
  assert.deepEqual(sent(JSON.stringify(view), "/", { view })[0], []);
  assert.deepEqual(sent("{", "/")[0], []);
  assert.deepEqual(sent(JSON.stringify(view), "/", { forget: true }), [[], {}]);
});

test("a lesson keeps its furthest step, and goes on where it was left", () => {
  const localStorage = storage();
  const { remember } = load(["components/lesson/lesson.js"], ["remember"], { localStorage });
  for (const step of [2, 5, 3]) remember({ lesson: "bert", step, steps: 6 });
  remember({ lesson: "t5", step: 1, steps: 2 });
  const stored = JSON.parse(localStorage.stored["atlas.lessons"]);
  assert.deepEqual(stored, { bert: { at: 3, far: 5, steps: 6 }, t5: { at: 1, far: 1, steps: 2 } });
  const shown = (lesson, steps) => {
    const { found, parentElement } = parts([".bar", ".text", "button"]);
    found[".bar"].firstElementChild = element();
    const messages = [];
    const { begin } = load(["components/progress/progress.js"], ["begin"], { localStorage });
    const data = { lesson, steps, count: 0, begin: "6 steps" };
    begin({ data, parentElement, setTriggerValue: (_, message) => messages.push(message.step) });
    found.button.onclick();
    return [found[".text"].textContent, found.button.textContent, found.button.hidden, messages[0]];
  };
  assert.deepEqual(shown("bert", 6), ["5 of 6 steps", "Continue at step 3", false, 3]);
  assert.deepEqual(shown("bert", 2), ["2 of 2 steps", "Again", false, 1], "the lesson has become shorter");
  assert.deepEqual(shown("gpt", 6), ["6 steps", "Continue at step 1", true, 1]);
});

/** The page around draft.js: an address, boxes with keys, and what happens. */
function drafts() {
  const listeners = {}, sent = [];
  const page = { location: { pathname: "/encoder", search: "" }, boxes: [], running: false };
  class HTMLInputElement {
    isConnected = true;
    typed = "";
    get value() { return this.typed; }
    set value(text) { this.typed = text; }
    constructor(key) { this.key = key; }
    matches() { return true; }
    closest() { return { classList: ["element", `st-key-${this.key}`] }; }
    dispatchEvent({ type }) { sent.push([this.key, type, this.typed]); }
  }
  let looks;
  load(["scripts/draft.js"], [], {
    location: page.location,
    document: { body: {}, querySelectorAll: () => page.boxes, querySelector: () => (page.running ? null : {}) },
    addEventListener: (name, hear) => { listeners[name] = hear; },
    MutationObserver: class { constructor(look) { looks = look; } observe() {} },
    Event: class { constructor(type) { this.type = type; } },
  });
  return {
    page, sent,
    show(search, key) {
      page.location.search = search;
      page.boxes = [new HTMLInputElement(key)];
    },
    type(text) {
      page.boxes[0].value = text;
      listeners.input({ target: page.boxes[0] });
    },
    leaves: () => listeners.focusout({ target: page.boxes[0] }),
    goes(search) { // Back or Forward: the address is another before the boxes are
      page.location.search = search;
      listeners.popstate();
    },
    draws: () => looks(),
  };
}

test("a text that was not sent is typed again, and sent, where its address shows the box again", () => {
  const { page, sent, show, type, goes, draws } = drafts();
  show("?a", "encoder-3-text");
  type("half a sen");
  goes("?b");
  draws();
  show("?b", "encoder-4-text");
  draws();
  assert.deepEqual(sent, [], "the box of another view");
  goes("?a");
  draws();
  assert.deepEqual(sent, [], "the boxes of the view that was left still stand");
  show("?a", "encoder-5-other");
  draws();
  assert.deepEqual(sent, [], "another box");
  show("?a", "encoder-5-text");
  page.running = true;
  draws();
  assert.deepEqual(sent, [], "the run is not over");
  page.running = false;
  draws();
  assert.deepEqual(sent, [["encoder-5-text", "input", "half a sen"], ["encoder-5-text", "focusout", "half a sen"]]);
});

test("a text that was sent is no draft, and of many the newest are kept", () => {
  const { sent, show, type, leaves, goes, draws } = drafts();
  show("?a", "encoder-3-text");
  type("sent");
  leaves();
  for (let i = 0; i <= 20; i += 1) {
    goes(`?${i}`);
    show(`?${i}`, `encoder-${i + 4}-text`);
    type(`draft ${i}`);
  }
  for (const view of ["?a", "?0", "?1"]) {
    goes(view);
    show(view, "encoder-40-text");
    draws();
  }
  const texts = sent.filter(([, type]) => type === "input").map(([, , text]) => text);
  assert.deepEqual(texts, ["draft 1"]);
});

test("what a page that is saved says is text", () => {
  const { wholePage, table } = load(["components/export/export.js"], ["wholePage", "table"]);
  const evil = "<script>alert(1)</script>\"&";
  const data = { title: evil, alt: evil, name: evil, csv: evil, table: { columns: [evil], rows: [[evil]], more: 3 } };
  const page = wholePage({ text: "<svg/>" }, data, "#000", "#fff");
  assert.ok(!page.includes("<script") && page.includes("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;"));
  assert.match(page, /href="data:text\/csv;charset=utf-8,%3Cscript[^"<>]*"/);
  assert.equal(table({ columns: [], rows: [] }), "");
  assert.match(table({ columns: ["a"], rows: [["b"]], more: 0 }), /<td>b<\/td><\/tr><\/tbody>\n<\/table>$/);
});
