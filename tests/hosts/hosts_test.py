"""hosts_test.py CASE GPT: eight ranks of gpt on two hosts, which are namespaces of this machine.

Each host has a network, a name, a clock and an /etc/hosts of its own; between them is a router, whose links are the wire. All of it is
made in namespaces that nobody else sees and that end with this process, whatever ends it. Where they may not be made, or the tools for
it are missing, the exit code is 77. Each case is a function below.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
RANKS, OF_HOST = 8, 4
CLOCK_AHEAD = 100_000  # seconds, of the second host
LIMIT = 100  # seconds, for whatever is awaited; it takes a few of them
SMALL = ["--layers", "8", "--width", "16", "--heads", "2", "--context", "16", "--batch", "2"]
# Each also as c10d asks for it: a lookup in vain takes the resolver seconds, and c10d logs it.
ADDRESSES = {"127.0.0.1": "localhost", "10.77.1.1": "node01", "10.77.2.1": "node02"}
NAMES = "".join(f"{address} {name}\n::ffff:{address} {name}\n" for address, name in ADDRESSES.items())


def fail(what):
    print(f"FAILED: {what}")
    sys.exit(1)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(*command):
    subprocess.run(command, check=True)


def in_own_namespaces():
    """Starts this again where it may do as it likes: its exit code."""
    tools = [tool for tool in ("unshare", "nsenter", "ip", "mount", "hostname") if shutil.which(tool) is None]
    if tools:
        skip(f"there is no {', '.join(tools)}")
    own = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        own[1:1] = ["--user", "--map-root-user"]
    probe = subprocess.run([*own, "ip", "link", "add", "name", "probe0", "type", "veth"], capture_output=True, text=True)
    if probe.returncode != 0:
        skip(f"no network can be made here: {probe.stderr.strip()}")
    return subprocess.run([*own, sys.executable, __file__, *sys.argv[1:], "--inside"]).returncode


class Host:
    """One of the two; its commands run by `command`."""

    def __init__(self, number, folder):
        self.number, self.name, self.wire = number, f"node0{number}", f"wire{number}"
        names = folder / "hosts"
        names.write_text(NAMES)
        inside = f"mount --bind {names} /etc/hosts && hostname {self.name} && ip link set lo up && echo $$ && exec sleep infinity"
        own = ["unshare", "--net", "--uts", "--mount"]
        clock = ["--time", "--monotonic", str(CLOCK_AHEAD)] if number == 2 else []
        if clock and subprocess.run([*own, *clock, "--fork", "true"], capture_output=True).returncode != 0:
            print("the clock of the second host is that of the first: it cannot be set here")
            clock = []
        # The clock is that of the children of whoever asks for another one.
        self.holder = subprocess.Popen([*own, *clock, "--fork", "--kill-child", "bash", "-c", inside], stdout=subprocess.PIPE, text=True)
        process = self.holder.stdout.readline().strip()
        if not process:
            fail(f"host {self.name} was not made")
        self.enter = ["nsenter", "--target", process, "--net", "--uts", "--mount", *(["--time"] if clock else []), "--"]
        net = f"10.77.{number}"
        run("ip", "link", "add", "name", self.wire, "type", "veth", "peer", "name", "eth0", "netns", process)
        run("ip", "address", "add", f"{net}.254/24", "dev", self.wire)
        run("ip", "link", "set", self.wire, "up")
        run(*self.enter, "ip", "address", "add", f"{net}.1/24", "dev", "eth0")
        run(*self.enter, "ip", "link", "set", "eth0", "up")
        run(*self.enter, "ip", "route", "add", "default", "via", f"{net}.254")

    def command(self, *words):
        return [*self.enter, *words]


class Ranks:
    """The processes of a run. `variables(rank, host, local)` are those of whatever starts them."""

    def __init__(self, hosts, folder, variables, arguments):
        self.folder = folder
        inherited = {name: value for name, value in os.environ.items() if not re.match("(RANK|WORLD|LOCAL|MASTER|SLURM|OMPI|PMI|RIPELINE)", name)}
        self.processes = []
        for rank in range(RANKS):
            host, local = hosts[rank // OF_HOST], rank % OF_HOST
            environment = {**inherited, "OMP_NUM_THREADS": "1", **variables(rank, host, local)}
            with open(self.out(rank), "w") as out, open(self.err(rank), "w") as err:
                self.processes.append(subprocess.Popen(host.command(*arguments), stdout=out, stderr=err, env=environment, cwd=folder))

    def out(self, rank):
        return self.folder / f"out-{rank}"

    def err(self, rank):
        return self.folder / f"err-{rank}"

    def wait(self):
        """The exit codes, and after how many seconds each rank ended."""
        begin, ended = time.monotonic(), {}
        while len(ended) < RANKS:
            now = time.monotonic() - begin
            for rank, process in enumerate(self.processes):
                if rank not in ended and process.poll() is not None:
                    ended[rank] = now
            if now > LIMIT:
                self.show()
                fail(f"after {LIMIT} s some ranks still run; these have ended: {ended}")
            time.sleep(0.02)
        return [process.returncode for process in self.processes], [ended[rank] for rank in range(RANKS)]

    def show(self):
        for rank in range(RANKS):
            for file in (self.out(rank), self.err(rank)):
                if file.read_text():
                    print(f"--- {file.name}\n{file.read_text()}", end="")


def torchrun(rank, host, local):
    return {"RANK": f"{rank}", "WORLD_SIZE": f"{RANKS}", "LOCAL_RANK": f"{local}", "LOCAL_WORLD_SIZE": f"{OF_HOST}",
            "MASTER_ADDR": "10.77.1.1", "MASTER_PORT": "29500"}


def slurm(rank, host, local):
    return {"SLURM_PROCID": f"{rank}", "SLURM_NTASKS": f"{RANKS}", "SLURM_LOCALID": f"{local}", "SLURM_NODEID": f"{host.number - 1}",
            "SLURM_STEP_TASKS_PER_NODE": f"{OF_HOST}(x2)", "SLURM_STEP_NODELIST": "node[01-02]", "SLURM_JOB_ID": "4711",
            "SLURM_STEP_ID": "0"}


def trains(hosts, folder, gpt, variables):
    ranks = Ranks(hosts, folder, variables, [gpt, *SMALL, "--schedule", "bf_sequential", "--steps", "3", "--check", "3"])
    codes, _ = ranks.wait()
    ranks.show()
    if codes != [0] * RANKS:
        fail(f"exit codes {codes}")
    if "check, 3 steps: equal; largest gradient difference 0 " not in ranks.out(0).read_text():
        fail("it is not the unpipelined model's gradient")


def trains_by_torchruns_variables(hosts, folder, gpt):
    trains(hosts, folder, gpt, torchrun)


def trains_by_slurms_variables(hosts, folder, gpt):
    trains(hosts, folder, gpt, slurm)


def ends_when_the_wire_is_cut(hosts, folder, gpt):
    """Every rank ends, and says first which ranks of the other host it has lost."""
    silence = 5
    ranks = Ranks(hosts, folder, torchrun, [gpt, *SMALL, "--steps", "1000000", "--silence", f"{silence}"])
    end = time.monotonic() + LIMIT
    while "step    3 " not in ranks.out(0).read_text():
        if time.monotonic() > end or any(process.poll() is not None for process in ranks.processes):
            ranks.show()
            fail("it does not train")
        time.sleep(0.05)
    run("ip", "link", "set", hosts[1].wire, "down")
    codes, times = ranks.wait()
    ranks.show()
    print(f"exit codes {codes}, {[round(t, 1) for t in times]} s after the cut")
    for rank in range(RANKS):
        first = ranks.err(rank).read_text().partition("\n")[0]
        others = "[4-7]" if rank < OF_HOST else "[0-3]"
        if codes[rank] not in (12, 13) or not re.match(f"gpt: rank {rank}: ranks? {others}\\b", first):
            fail(f"rank {rank} ends with {codes[rank]} and says first: {first}")
    # Reports come within 2 s, and whoever serves the store waits for 2 s; the rest is for a busy machine.
    if max(times) > silence + 4 + 20:
        fail("it took too long")


def main():
    case, gpt = globals()[sys.argv[1]], sys.argv[2]
    if "--inside" not in sys.argv:
        sys.exit(in_own_namespaces())
    with tempfile.TemporaryDirectory() as name:
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        hosts = [Host(number, pathlib.Path(name)) for number in (1, 2)]
        case(hosts, pathlib.Path(name), gpt)


main()
