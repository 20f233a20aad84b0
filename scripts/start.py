"""Set up Transformer Atlas on a fresh machine and start it, or test it: ``make run`` and ``make test`` call this.

Standard library only, since it runs before anything is installed. What it cannot do it says in one sentence. The lines
down to the call of ``check_python`` must run on any Python 3, so that an old one ends with that sentence too.
"""

import sys


def check_python(version=sys.version_info):  # type: ignore[no-untyped-def]
    """End with a sentence below Python 3.11."""
    if version < (3, 11):
        import shutil

        elsewhere = "Install one from python.org or your system's packages and name it"
        newer = [name for name in ("python3.14", "python3.13", "python3.12", "python3.11") if shutil.which(name)]
        sys.exit(
            "\nThis is Python {}.{}; Transformer Atlas needs 3.11 or newer. {}: make run PYTHON={}".format(
                version[0],
                version[1],
                "This machine has one" if newer else elsewhere,
                newer[0] if newer else "python3.12",
            )
        )


check_python()

import argparse  # noqa: E402
import os  # noqa: E402
import shutil  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import subprocess  # noqa: E402
import threading  # noqa: E402
import urllib.error  # noqa: E402
import urllib.request  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import NoReturn  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = "requirements.lock"
APP = ("requirements.txt", LOCK)
DEV = (*APP, "requirements-lab.txt", "requirements-dev.txt")
NO_CUDA = "scripts/no-cuda.txt"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
QUICK = ("--retries", "1", "--timeout", "20")
DISK_GB = 3
TESTS = ("tests/unit", "tests/parity", "tests/app", "tests/browser")
"""What ``make test`` always runs."""
STREAMLIT = (
    "import signal, sys; signal.signal(signal.SIGINT, lambda *_: sys.exit()); "
    "from streamlit.web.cli import main; main(prog_name='streamlit')"
)
"""``python -m streamlit``, but Ctrl+C is no error: the server stops and raises the signal again, which would abort."""
SIZES = "about 0.5 GB of Python packages (2 GB on disk); the largest are torch (0.2 GB) and the MiniLM weights (0.1 GB)"
SIZES_DEV = f"{SIZES}, and 0.1 GB of test tools"


def stop(sentence: str) -> NoReturn:
    """End with a sentence that helps."""
    sys.exit(f"\n{sentence}")


def say(sentence: str) -> None:
    """Print before, not after, what a child process prints."""
    print(sentence, flush=True)


def python() -> Path:
    """The interpreter of the virtual environment."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def pip(*arguments: str) -> int:
    """Run pip of the virtual environment; its output is the visitor's to see."""
    command = [python(), "-m", "pip", *arguments, "--disable-pip-version-check", "--no-input"]
    return subprocess.run(command, cwd=ROOT).returncode


def install(files: tuple[str, ...]) -> None:
    """Install the pinned requirements of ``files`` unless ``.venv`` has them; say first what will be downloaded.

    A copy of each file in ``.venv`` records what was installed: as long as it is equal, nothing is asked of any host.
    """
    if python().exists() and all(same(ROOT / name, VENV / name) for name in files):
        return
    if shutil.disk_usage(ROOT).free < DISK_GB * 10**9:
        stop(f"Setting up needs {DISK_GB} GB of free disk space; there is less in {ROOT}.")
    say(f"Setting up in {VENV}: this downloads {SIZES_DEV if files == DEV else SIZES}. Later starts download nothing.")
    if has_nvidia():
        say("This machine has an NVIDIA card, so torch may bring CUDA packages: several GB more.")
    make_venv()
    # First everything but torch, each file checked by its hash; what torch needs is then there.
    locked = pip("install", "--require-hashes", "--no-deps", "-r", LOCK) == 0
    constraints = install_torch() if locked else ()
    if not locked or pip("install", *(word for name in files if name != LOCK for word in ("-r", name)), *constraints):
        stop(
            "Installing the packages failed; pip's own words stand above. Is there a network? Behind a proxy, set "
            "HTTPS_PROXY. Then run the same command again: what has been downloaded is kept."
        )
    for name in files:
        shutil.copyfile(ROOT / name, VENV / name)


def same(file: Path, copy: Path) -> bool:
    """True when ``copy`` exists and holds what ``file`` holds."""
    return copy.exists() and copy.read_bytes() == file.read_bytes()


def make_venv() -> None:
    """Create ``.venv`` unless it is there and works."""
    if python().exists() and subprocess.run([python(), "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], capture_output=True, text=True)
    if made.returncode != 0:
        stop(
            "Python could not make a virtual environment. On Debian and Ubuntu the module is a package of its own: "
            f"sudo apt install python{sys.version_info[0]}.{sys.version_info[1]}-venv, then run the same command again."
            f"\n\n{made.stdout}{made.stderr}"
        )


def install_torch() -> tuple[str, ...]:
    """Install the pinned torch, on Linux without an NVIDIA card the one without CUDA packages.

    Returns the arguments that keep CUDA packages out of every later call of pip.
    """
    if not sys.platform.startswith("linux") or has_nvidia():
        return ()  # the ordinary index has the right build
    constraints = ("-c", NO_CUDA)
    torch = next(line for line in (ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch=="))
    ask = "import importlib.metadata as m; print('torch==' + m.version('torch').split('+')[0])"
    if subprocess.run([python(), "-c", ask], capture_output=True, text=True).stdout.strip() == torch:
        return constraints
    if reachable(CPU_INDEX) and pip("install", torch, *constraints, "--index-url", CPU_INDEX, *QUICK) == 0:
        return constraints
    say("PyTorch's CPU index is out of reach; asking the configured package index instead.")
    # An older pip cannot read a package's metadata without downloading the package.
    if pip("install", "--quiet", "pip>=23.2", *QUICK) != 0 or pip("install", torch, *constraints, *QUICK) != 0:
        stop(
            "torch could not be installed; pip's own words stand above. If they speak of no connection: is there a "
            "network? Behind a proxy, set HTTPS_PROXY. If they speak of a conflict with a constraint: the configured "
            "index has only a torch that brings several GB of CUDA packages, which this machine cannot use, since it "
            f"has no NVIDIA card; make {CPU_INDEX} reachable. Then run the same command again."
        )
    return constraints


def has_nvidia() -> bool:
    """True where an NVIDIA driver is loaded."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def reachable(url: str, seconds: float = 5.0) -> bool:
    """True when the host of ``url`` answers within ``seconds``, whatever it says."""
    answers: list[bool] = []

    def ask() -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(url + "/", method="HEAD"), timeout=seconds).close()
            answers.append(True)
        except urllib.error.HTTPError:
            answers.append(True)
        except (OSError, ValueError):
            answers.append(False)

    # A thread, because looking up a host's name knows no time limit.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answers == [True]


def chromium() -> None:
    """Have a Chromium: on the PATH, or one of Debian's packages, or Playwright's own."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    if any(map(shutil.which, names)):
        return
    say("The browser tests need Chromium; installing it downloads about 0.2 GB.")
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"])
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for package in names[:2]:  # an older Debian has the second alone
            if subprocess.run(["apt-get", "install", "-y", "-qq", package], env=environment).returncode == 0:
                return
    if subprocess.run([python(), "-m", "playwright", "install", "--only-shell", "chromium"]).returncode != 0:
        stop("No Chromium could be installed. Install one (Debian: apt install chromium), then run make test again.")


def check_port(port: int) -> None:
    """Stop with a sentence when the port is taken."""
    with socket.socket() as probe:
        if os.name != "nt":  # there the option would let two programs share a port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OverflowError:
            stop(f"{port} is no port; a port is a number from 1024 to 65535: make run PORT=8502")
        except OSError as error:
            stop(
                f"Port {port} cannot be used ({error.strerror}). Perhaps the Atlas is already running at "
                f"http://localhost:{port}; another port: make run PORT={port + 1}"
            )


def run(port: int) -> None:
    """Start the app, bound to this machine alone by ``.streamlit/config.toml``."""
    say(f"Transformer Atlas: http://localhost:{port}   (Ctrl+C ends it)")
    os.chdir(ROOT)
    command = [str(python()), "-c", STREAMLIT, "run", "app.py", "--server.port", str(port)]
    if os.name == "nt":
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


def laboratory() -> list[str]:
    """The tests of the laboratory, where it or what it makes has changed: since the main branch, or, on that branch or
    without one, in the last commit or since."""
    git = ["git", "diff", "--name-only"]
    base = subprocess.run(["git", "merge-base", "HEAD", "origin/main"], cwd=ROOT, capture_output=True, text=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    since = "HEAD~1" if base.returncode or base.stdout == head.stdout else base.stdout.strip()
    paths = ["lab", "assets", "tests/lab"]
    changed = subprocess.run([*git, since, "--", *paths], cwd=ROOT, capture_output=True, text=True)
    # where there is no history, as in a shallow clone or an archive, nothing is left out
    return ["tests/lab"] if changed.returncode or changed.stdout.strip() else []


def test(arguments: list[str]) -> None:
    """Checks, then the tests. The long check, of types, runs beside both, and stops them when it finds something.

    Tests that drive a browser go to two workers and often wait; so there is one worker more.
    """
    folder = python().parent
    types = subprocess.Popen([str(folder / "mypy")], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    for name, command in (
        ("ruff", ["ruff", "check", "."]),
        ("ruff format", ["ruff", "format", "--check", "."]),
        ("codespell", ["codespell"]),
        ("import-linter", ["lint-imports"]),
        ("rules of ours", ["python", "scripts/lint.py"]),
    ):
        say(f"== {name}")
        code = subprocess.run([str(folder / command[0]), *command[1:]], cwd=ROOT).returncode
        if code != 0:
            types.terminate()
            types.wait()
            sys.exit(code)
    workers = ["-n", "3", "--dist", "loadscope"] if (os.cpu_count() or 1) > 1 else []
    # A job in the background of a script ignores this signal, and so would pytest, which inherits that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    say("== pytest, and mypy beside it")
    # Tests start a hundred processes, and workers share files of tests: each is compiled once, whatever is usual here.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if not any(word.startswith("tests") for word in arguments):
        arguments = [*TESTS, *laboratory(), *arguments]
    command = [str(python()), "-m", "pytest", *workers, *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=environment) as tests:
        words, _ = types.communicate()
        say(f"\n== mypy\n{words}")
        if types.returncode != 0:
            tests.terminate() if os.name == "nt" else tests.send_signal(signal.SIGINT)
        tests.wait()
    sys.exit(types.returncode or tests.returncode)


def main() -> None:
    """``start.py run [--port N]``, ``start.py test [pytest arguments]`` or ``start.py install``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["run", "test", "install"])
    parser.add_argument("--port", type=int, default=8501)
    options, rest = parser.parse_known_args()
    if options.what == "run":
        check_port(options.port)
    install(DEV if options.what == "test" else APP)
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
