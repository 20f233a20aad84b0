"""How soon the app is there: server start to Home in a browser, and the script of each page that opens
without a model.

Goals on two cores: 5 s from the start of the server until Home's picture stands in Chromium, 150 ms for a page's script
once the process is warm (the first run, which also imports, is shown beside it), and no torch imported by any of them.
The browser is running before the clock starts, as it is for a visitor. Seconds on the processor stand beside seconds on
the clock: on a machine that does other work at the same time, they tell what the app itself needs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

from _app import ROOT, app, chromium
from _harness import goal

READING: list[tuple[str, dict[str, str]]] = [
    *((page, {}) for page in ("catalogue", "glossary")),
    *(
        (branch, {"tab": tab})
        for branch in ("encoder", "decoder", "encoder-decoder", "efficient")
        for tab in ("tree", "facts")
    ),
    ("catalogue", {"tab": "table"}),
    ("catalogue", {"tab": "table", "pins": "bert,gpt-2,t5"}),
    ("catalogue", {"tab": "sizes"}),
    ("catalogue", {"tab": "trees", "left": "bert", "right": "t5"}),
    ("catalogue", {"tab": "questions"}),
    ("glossary", {"q": "rotary"}),
    ("catalogue", {"axis": "size"}),
    *(("catalogue", {"tab": tab}) for tab in ("parameters", "memory", "cache")),
    ("catalogue", {"tab": "curves"}),
    ("home", {}),
]
STARTS = 3

# Runs in a process of its own: the pages as Streamlit runs them, without a browser.
PROBE = """
import json, logging, sys, time
logging.disable(logging.WARNING)
from streamlit.testing.v1 import AppTest
out = []
for page, query in json.loads(sys.argv[1]):
    test = AppTest.from_file(sys.argv[2], default_timeout=600)
    test.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        test.query_params[name] = value
    clock, processor = [], []
    for _ in range(6):
        start, busy = time.perf_counter(), time.process_time()
        test.run()
        clock.append(time.perf_counter() - start)
        processor.append(time.process_time() - busy)
    assert not test.exception, (page, query, test.exception)
    out.append({"page": page, "query": query, "clock": clock, "processor": processor, "torch": "torch" in sys.modules})
print("\\n" + json.dumps(out))
"""


def page_scripts() -> bool:
    """Time the script of every page that opens without a model."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(READING), str(ROOT / "app.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    if done.returncode != 0:
        print(done.stderr[-2000:])
        return False
    good = True
    for row in json.loads(done.stdout.splitlines()[-1]):
        name = "/" + row["page"] + ("?" + "&".join(f"{k}={v}" for k, v in row["query"].items()) if row["query"] else "")
        warm, busy = (statistics.median(row[kind][1:]) * 1e3 for kind in ("clock", "processor"))
        about = f"{busy:.0f} ms on the processor, first run {row['processor'][0] * 1e3:.0f} ms"
        good &= goal(f"{name} script ({about})", warm, 150, "ms")
        if row["torch"]:
            print(f"{name} imported torch MISSED")
            good = False
    return good


def server_to_home() -> bool:
    """Time the server's start until Home's heading and picture are visible in a browser."""
    times = []
    with chromium() as browser:
        if browser is None:
            return True
        for _ in range(STARTS):
            page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
            page.set_default_timeout(300_000)
            with app() as server:
                server.wait()
                up = time.perf_counter() - server.begun
                page.goto(server.address)
                page.get_by_role("heading", level=1).first.wait_for()
                heading = time.perf_counter() - server.begun
                page.locator("[data-testid=stPlotlyChart] svg.main-svg, iframe, svg[role]").first.wait_for()
                times.append(time.perf_counter() - server.begun)
                steps = f"server up {up:.2f} s, heading {heading:.2f} s, picture {times[-1]:.2f} s"
                print(f"  {steps}; server on the processor {server.processor_seconds():.2f} s", flush=True)
                page.context.close()
    return goal("server start to Home in a browser", statistics.median(times), 5, "s")


if __name__ == "__main__":
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores{load}")
    results = [server_to_home(), page_scripts()]
    sys.exit(0 if all(results) else 1)
