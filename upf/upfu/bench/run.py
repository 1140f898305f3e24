#!/usr/bin/env python3
"""Runs the benchmark: one line a case, and beside it another revision's.

    run.py --bin out/bin/bench-upf-u [--base REV] [--sessions N] [--rounds N] [--bursts N]

Cases take turns in rounds, and so do both revisions, so that what else the machine does meets all of
them alike. cycles_* are TSC cycles a packet: median and tenth percentile of full bursts (of a case
that mixes directions: of one round of its pattern). With --base, base_p50 and ratio are the other
revision's and new / old.

case=scaling: 1, 2, … workers, each on a CPU of its own beside the generator's; linear is the packets a
second of all of them / (workers * those of one). BENCH_OVERSUBSCRIBE=N (--oversubscribe N) runs up to N
workers on CPUs that do not suffice: it shows that every packet comes out at its session's worker, and
its figures, marked oversubscribed=yes, say nothing about speed.
"""
import argparse
import os
import re
import subprocess
import sys

HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB"


class Pages:
    """2 MiB hugepages for the time of the run; what we add we take away."""

    def __init__(self, *mib):
        self.added = 0
        want = sum((each + 1) // 2 for each in mib)  # of each program: two that need half a page need two
        if os.environ.get("BENCH_PAGES") == "4K":
            self.enough = False
            return
        free = self.read("free_hugepages")
        if free < want and os.access(HUGEPAGES + "/nr_hugepages", os.W_OK):
            before = self.read("nr_hugepages")
            self.write(before + want - free)
            self.added = self.read("nr_hugepages") - before
        self.enough = self.read("free_hugepages") >= want
        if not self.enough:
            print(f"note: {want} hugepages of 2 MiB are needed, {self.read('free_hugepages')} are free:"
                  " running on 4 KiB pages, cycles are higher", flush=True)
            self.give_back()

    def give_back(self):
        if self.added:
            self.write(self.read("nr_hugepages") - self.added)
            self.added = 0

    @staticmethod
    def read(name):
        try:
            with open(f"{HUGEPAGES}/{name}", encoding="ascii") as f:
                return int(f.read())
        except OSError:
            return 0

    @staticmethod
    def write(pages):
        try:
            with open(HUGEPAGES + "/nr_hugepages", "w", encoding="ascii") as f:
                f.write(str(pages))
        except OSError:
            pass


class Bench:
    """A running benchmark program of one revision."""

    def __init__(self, program, sessions, huge, more=()):
        args = [program] + ([] if huge else ["--no-huge"]) + [*more, str(sessions)]
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = self.read_until("cases ")
        if not self.about or not self.about[-1].startswith("cases "):
            sys.exit(f"bench: {program} did not start")
        self.cases = int(self.about.pop().split()[1])

    def read_until(self, end):
        lines = []
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith(end):
                break
        return lines

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        answer = self.read_until("ok")
        if not answer or answer.pop() != "ok":
            sys.exit(f"bench: the program ended at: {question}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def build(rev):
    """The benchmark program of another revision, in a worktree under out/."""
    root = subprocess.check_output(["git", "rev-parse", "--show-toplevel"], text=True).strip()
    commit = subprocess.check_output(["git", "rev-parse", "--verify", rev + "^{commit}"], text=True).strip()
    tree = f"{root}/out/bench/{commit[:12]}"
    if not os.path.isdir(tree):
        subprocess.check_call(["git", "worktree", "add", "--force", "--detach", tree, commit], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    done = subprocess.run(["make", "-s", "-j", str(os.cpu_count()), "-C", tree + "/upf", "OUT=" + tree + "/out",
                           "bench-upf-build"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: revision {rev} has no benchmark that can be built:\n{done.stderr[-2000:]}")
    return tree + "/out/bin/bench-upf-u"


def key(line):
    return tuple(re.findall(r"(?:case|dir|size|workers)=\S+", line))


def compare(line, base):
    """The line with the other revision's median beside it."""
    p50 = re.compile(r"cycles_p50=(\d+)")
    old = next((p50.search(other) for other in base if key(other) == key(line)), None)
    new = p50.search(line)
    if new is None or old is None or int(old.group(1)) == 0:
        return line
    return f"{line} base_p50={old.group(1)} ratio={int(new.group(1)) / int(old.group(1)):.3f}"


WORKERS_MAX = 16  # as many queues as a net_ring port has
TARGET_WORKERS = 4


def scaling(options, cpus):
    """The lines of case=scaling: what can run, and what cannot."""
    workers = min(max(cpus - 1, options.oversubscribe), WORKERS_MAX)
    more = ["--workers", str(workers)]
    pages = Pages(int(subprocess.check_output([options.bin, "--need", *more, str(options.sessions)])))
    try:
        bench = Bench(options.bin, options.sessions, pages.enough, more)
        try:
            for turn in range(options.rounds):
                for case in range(bench.cases) if turn % 2 == 0 else reversed(range(bench.cases)):
                    bench.ask(f"run {case} {options.bursts}")
            lines = bench.ask("report")
        finally:
            bench.close()
    finally:
        pages.give_back()
    for missing in range(workers + 1, TARGET_WORKERS + 1):
        lines.append(f"SKIP case=scaling workers={missing}: needs {missing + 1} CPUs, this machine has {cpus}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--base")
    parser.add_argument("--stages", action="store_true", help="what each stage took; --bin is stages-upf-u")
    parser.add_argument("--sessions", type=int, default=int(os.environ.get("BENCH_SESSIONS", "400000")))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--bursts", type=int, default=1500)
    parser.add_argument("--scaling", action="store_true", help="only case=scaling")
    parser.add_argument("--oversubscribe", type=int, default=int(os.environ.get("BENCH_OVERSUBSCRIBE", "0")),
                        help="case=scaling with up to so many workers, even without a CPU for each")
    options = parser.parse_args()
    programs = [options.bin] + ([build(options.base)] if options.base else [])
    cpus = len(os.sched_getaffinity(0))
    if cpus < 2:
        sys.exit("bench: the generator and the worker need a CPU each, and there is only one")
    if options.scaling:
        lines = scaling(options, cpus)
        print("\n".join(lines))
        return 1 if any(line.startswith("FAIL") for line in lines) else 0
    pages = Pages(*(int(subprocess.check_output([p, "--need", str(options.sessions)])) for p in programs))
    benches = []
    try:
        benches = [Bench(p, options.sessions, pages.enough) for p in programs]
        alike = {bench.about[-1] for bench in benches}
        if len(alike) > 1:  # else one is slower for that alone
            sys.exit(f"bench: the revisions do not have the same memory, and do not compare: {', '.join(sorted(alike))}")
        print(f"# sessions={options.sessions} {' '.join(benches[0].about)} cpus={cpus}", flush=True)
        if options.stages:
            for case in range(benches[0].cases):
                for line in benches[0].ask(f"stages {case} {options.rounds * options.bursts}"):
                    print(line, flush=True)
            return 0
        for turn in range(options.rounds):
            for case in range(max(b.cases for b in benches)):
                for bench in benches if turn % 2 == 0 else reversed(benches):
                    bench.ask(f"run {case} {options.bursts}")
        reports = [b.ask("report") for b in benches]
    finally:
        for bench in benches:
            bench.close()
        pages.give_back()
    reports[0] += scaling(options, cpus)
    for line in reports[0]:
        print(compare(line, reports[1]) if options.base else line)
    return 1 if any(line.startswith("FAIL") for line in reports[0]) else 0


if __name__ == "__main__":
    sys.exit(main())
