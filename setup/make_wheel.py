"""make_wheel.py --build FOLDER --out FOLDER [--abi3]: packs what was built as wheels, which it leaves in --out instead of older ones.

A wheel holds the package `ripeline`: the module, bin/ with the programs, lib/ with Z3, licenses/. auditwheel adds the other libraries that
a machine may lack, and makes sure that the rest is what all machines have: glibc 2.34 and GCC 11's libstdc++, as on RHEL 9, Ubuntu 22.04 and
Debian 12. With --abi3 there is a second wheel, for Python 3.12 and later. The target `wheel` (cmake/RipelineWheel.cmake) calls this.
"""

import argparse
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MACHINE = platform.machine()
OLDEST = f"manylinux_2_34_{MACHINE}"
LIMIT_BYTES = 20_000_000


def install(arguments, component, stage):
    subprocess.run([arguments.cmake, "--install", arguments.build, "--prefix", stage, "--component", component, "--strip"],
                   check=True, stdout=subprocess.DEVNULL)


def pack(stage, tags):
    """Makes a wheel of the folder `ripeline` in `stage`, with the metadata of pyproject.toml. Without tags it is for this Python."""
    from scikit_build_core.build import build_wheel

    settings = {"wheel.cmake": "false", "wheel.platlib": "true", "wheel.packages": str(stage / "ripeline")}
    if tags:
        settings["wheel.tags"] = tags
    os.chdir(ROOT)
    return stage / build_wheel(str(stage), settings)


def repair(arguments, wheel):
    environment = dict(os.environ, PYTHONPATH=str(arguments.tools), PATH=f"{arguments.tools / 'bin'}:{os.environ['PATH']}")
    subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--plat", OLDEST, "-w", arguments.out, wheel],
                   check=True, env=environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build folder, where the target ripeline_wheel_parts was made")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--abi3", action="store_true", help="the build folder has the module of the stable ABI, too (RIPELINE_PYTHON_ABI3)")
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="the packages of setup/python_tools.txt")
    parser.add_argument("--cmake", default="cmake")
    arguments = parser.parse_args()
    arguments.build, arguments.out = arguments.build.resolve(), arguments.out.resolve()
    sys.path.insert(0, str(arguments.tools))
    arguments.out.mkdir(parents=True, exist_ok=True)
    for old in arguments.out.glob("ripeline-*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        install(arguments, "python", stage)
        # CMake strips what it built, and Z3's wheel is not stripped.
        subprocess.run(["strip", "--strip-all", *(stage / "ripeline" / "lib").iterdir()], check=True)
        repair(arguments, pack(stage, None))
        if arguments.abi3:
            for module in (stage / "ripeline").glob("_ripeline.*.so"):
                module.unlink()
            install(arguments, "python_abi3", stage)
            repair(arguments, pack(stage, f"cp312-abi3-linux_{MACHINE}"))
    for wheel in sorted(arguments.out.glob("ripeline-*.whl")):
        size = wheel.stat().st_size
        if size > LIMIT_BYTES:
            sys.exit(f"make_wheel.py: {wheel} has {size / 1e6:.1f} MB; at most {LIMIT_BYTES / 1e6:.0f} are allowed")
        print(f"{wheel}: {size / 1e6:.1f} MB")


main()
