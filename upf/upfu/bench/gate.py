#!/usr/bin/env python3
"""Counts instructions a packet under callgrind, and compares them with a file in the repository.

    gate.py --bin instructions-upf-u --file instructions.txt [--update | --stages CASE]

The file holds a line a case. More than 2 % more or fewer is a failure: --update accepts what is
counted now, on purpose. --stages prints which functions the instructions of a case are in.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

TOLERANCE = 0.02


def read_dump(path):
    """The case's description, and instructions by function, of one dump of callgrind."""
    case, function, names, own = "", None, {}, {}
    called = False
    with open(path, encoding="utf-8", errors="replace") as dump:
        for line in dump:
            if line.startswith("desc: Trigger: Client Request: "):
                case = line.split(": ", 3)[3].strip()
            elif line.startswith("fn="):
                match = re.match(r"fn=\((\d+)\)(?: (.*))?", line)
                if match.group(2):
                    names[match.group(1)] = match.group(2)
                function = match.group(1)
            elif line.startswith("cfn="):
                match = re.match(r"cfn=\((\d+)\)(?: (.*))?", line)
                if match.group(2):
                    names[match.group(1)] = match.group(2)
            elif line.startswith("calls="):
                called = True  # the next line is what the callee spent
            elif re.match(r"[+\-*\d]", line):
                if not called:
                    own[function] = own.get(function, 0) + int(line.split()[-1])
                called = False
    return case, {names[f]: n for f, n in own.items()}


def count(program):
    """Per case: instructions a packet, by function."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no", "--dump-line=no",
             f"--callgrind-out-file={folder}/dump", program],
            env={**os.environ, "CMOCKA_TEST_ABORT": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"gate: {program} failed under valgrind:\n{done.stdout[-3000:]}")
        cases = {}
        for path in sorted(glob.glob(folder + "/dump.*"), key=lambda p: int(p.rsplit(".", 1)[1])):
            case, functions = read_dump(path)
            packets = re.search(r"packets=(\d+)", case)
            if packets:
                name = case[:packets.start()].strip()
                cases[name] = {f: n / int(packets.group(1)) for f, n in functions.items()}
        return cases


def compiler():
    return subprocess.check_output(["gcc", "-dumpfullversion"], text=True).strip()


def write(path, cases):
    with open(path, "w", encoding="ascii") as out:
        out.write("# Instructions a packet: `make -C upf instructions-update` writes this file, test-upf checks it.\n")
        out.write(f"# gcc {compiler()}, -march=x86-64-v3\n")
        for name, functions in cases.items():
            out.write(f"{name} instructions={sum(functions.values()):.1f}\n")


def check(path, cases):
    """Prints what differs; returns how many."""
    known = {}
    with open(path, encoding="ascii") as lines:
        text = lines.read()
    for match in re.finditer(r"^(case=.*) instructions=([\d.]+)$", text, re.M):
        known[match.group(1)] = float(match.group(2))
    wanted = re.search(r"^# gcc (\S+),", text, re.M)
    if wanted and wanted.group(1) != compiler():
        print(f"SKIP: instructions a packet: the file is of gcc {wanted.group(1)}, this is {compiler()}")
        print(f"instructions: 0 passed, 0 failed, {len(known)} skipped")
        return 0
    bad = 0
    for name in sorted(known.keys() | cases.keys()):
        now = sum(cases[name].values()) if name in cases else None
        if name not in known or now is None or abs(now / known[name] - 1) > TOLERANCE:
            before = f"{known[name]:.1f}" if name in known else "not known"
            print(f"instructions a packet: {name}: {before} → {'not counted' if now is None else f'{now:.1f}'}")
            bad += 1
    if bad != 0:
        print("more or fewer by over 2 %; accept them on purpose: make -C upf instructions-update")
    print(f"instructions: {len(known.keys() | cases.keys()) - bad} passed, {bad} failed, 0 skipped")
    return bad


def stages(cases, wanted):
    for name, functions in cases.items():
        if wanted not in name:
            continue
        print(f"{name}: {sum(functions.values()):.1f}")
        for function, n in sorted(functions.items(), key=lambda item: -item[1]):
            if n >= 0.5:
                print(f"  {n:7.1f}  {function}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--stages")
    options = parser.parse_args()
    cases = count(options.bin)
    if not cases:
        sys.exit("gate: nothing was counted")
    if options.stages:
        stages(cases, options.stages)
        return 0
    if options.update:
        write(options.file, cases)
        return 0
    return 1 if check(options.file, cases) else 0


if __name__ == "__main__":
    sys.exit(main())
