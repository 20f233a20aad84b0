"""How soon the app is there: server start to Home in a browser, and the script of each page that only reads.

Goals on two cores: 4 s from the start of the server until Home's picture stands in Chromium, 150 ms for a page's script
once the process is warm (the first run, which also imports, is shown beside it), and no torch imported by any of them.
The browser is running before the clock starts, as it is for a visitor. Seconds on the processor stand beside seconds on
the clock: on a machine that does other work at the same time, they tell what the app itself needs.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from _harness import goal

ROOT = Path(__file__).resolve().parent.parent
READING = [("home", {}), ("about", {})] + [
    (branch, {"tab": tab})
    for branch in ("encoder", "decoder", "encoder-decoder", "efficient")
    for tab in ("tree", "facts")
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
    """Time the script of every page that only reads."""
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
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("The start in a browser is not measured: that needs the test tools, which make test sets up.")
        return True

    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    times = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next((path for path in found if path), None),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for _ in range(STARTS):
            page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
            page.set_default_timeout(300_000)
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
            start = time.perf_counter()
            server = subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=subprocess.DEVNULL)
            try:
                while not serves(port):
                    time.sleep(0.02)
                up = time.perf_counter() - start
                page.goto(f"http://127.0.0.1:{port}/")
                page.get_by_role("heading", level=1).first.wait_for()
                heading = time.perf_counter() - start
                page.locator("[data-testid=stPlotlyChart] svg.main-svg, iframe, svg[role]").first.wait_for()
                times.append(time.perf_counter() - start)
                busy = processor_seconds(server.pid)
                steps = f"server up {up:.2f} s, heading {heading:.2f} s, picture {times[-1]:.2f} s"
                print(f"  {steps}; server on the processor {busy:.2f} s", flush=True)
            finally:
                page.context.close()
                server.terminate()
                server.wait()
    return goal("server start to Home in a browser", statistics.median(times), 4, "s")


def processor_seconds(pid: int) -> float:
    """What a process has used of the processors so far; not a number where the system does not say."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return float("nan")
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serves(port: int) -> bool:
    """True as soon as the server answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


if __name__ == "__main__":
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores{load}")
    results = [server_to_home(), page_scripts()]
    sys.exit(0 if all(results) else 1)
