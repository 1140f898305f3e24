#!/usr/bin/env python3
"""Faults that the stress test must find: each is put into a copy of one source file, and the program with it must fail.

    mutants.py --sources UPFU --objects OBJ --out FOLDER --compile "CC ..." --link "CC ..." --libs "..." [NAME ...]

One line a fault, and exit status 1 where one is not found, or can no longer be put in: then the source has
changed, and the fault below has to follow it.
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
from typing import NamedTuple

SECONDS = 30  # that a fault may live
RACE = r"ThreadSanitizer: data race"
OLD_RULES = r"left by rules|counts, where nothing passes"
TORN = r"left by parts of several rule sets|left with TEID"


class Fault(NamedTuple):
    """What is written instead of what stands there once, and what the test says of it (a regular expression)."""

    name: str
    source: str
    edits: list
    seen: str


FAULTS = [
    Fault(
        "published_without_release",
        "rules/bucketmap.c",
        [
            ("__atomic_store_n(&b->value[i], value, __ATOMIC_RELEASE);\n\t// Release",
             "__atomic_store_n(&b->value[i], value, __ATOMIC_RELAXED);\n\t// Release"),
            ("__atomic_store_n(&b->key[i], key, __ATOMIC_RELEASE);", "__atomic_store_n(&b->key[i], key, __ATOMIC_RELAXED);"),
            ("__atomic_store_n(&b->value[i], value, __ATOMIC_RELEASE);\n\t\t\t\treturn",
             "__atomic_store_n(&b->value[i], value, __ATOMIC_RELAXED);\n\t\t\t\treturn"),
        ],
        RACE,
    ),
    Fault(
        "domains_published_without_release",
        "control/transaction.c",
        [("__atomic_store_n(&base->sessions->domains, op->domains, __ATOMIC_RELEASE);",
          "__atomic_store_n(&base->sessions->domains, op->domains, __ATOMIC_RELAXED);")],
        RACE,
    ),
    Fault(
        "domains_freed_while_read",
        "control/transaction.c",
        [("\t\tapply_domains(base, op);\n\t\treturn true;", "\t\tapply_domains(base, op);\n\t\treturn false;")],
        RACE + r"|heap-use-after-free",
    ),
    Fault(
        "published_before_it_is_filled",
        "rules/session.c",
        # The home is written when the keys lead to the part already.
        [("\t\tnote_ue(table, session_part(table, part[dir]), 1);\n"
          "\t\tpart_each_key(session_part(table, part[dir]), put_key, &p);\n",
          "\t\tstruct part *filled = arena_at(&table->arena, part[dir]);\n\t\tuint8_t home = filled->home;\n\n"
          "\t\tfilled->home = 0;\n\t\tnote_ue(table, filled, 1);\n"
          "\t\tpart_each_key(filled, put_key, &p);\n\t\tfilled->home = home;\n")],
        RACE,
    ),
    Fault(
        "key_visible_before_its_value",
        "rules/bucketmap.c",
        # And the control thread loses its CPU in between.
        [("\t__atomic_store_n(&b->value[i], value, __ATOMIC_RELEASE);\n\t// Release: pairs with the acquire-loads", "\t// Release: pairs with the acquire-loads"),
         ("\t__atomic_store_n(&b->key[i], key, __ATOMIC_RELEASE);\n}", "\t__atomic_store_n(&b->key[i], key, __ATOMIC_RELEASE);\n"
          "\tusleep(1000);\n\t__atomic_store_n(&b->value[i], value, __ATOMIC_RELEASE);\n}"),
         ("#include <stdlib.h>\n", "#include <stdlib.h>\n#include <unistd.h>\n")],
        f"{RACE}|{OLD_RULES}|{TORN}|SEGV",
    ),
    Fault(
        "freed_without_a_grace_period",
        "rules/session.c",
        [
            ("struct session_trash *trash = malloc(sizeof(*trash));", "struct session_trash *trash = NULL;"),
            ("\t\tsession_wait_for_workers(table);\n\t\tsession_discard(table, part);", "\t\tsession_discard(table, part);"),
        ],
        f"{RACE}|{TORN}|SEGV",
    ),
    Fault(
        "answered_before_workers_know",
        "control/transaction.c",
        [("\t\tif (wait)\n\t\t\tsession_wait_for_workers(base->sessions);\n", "\t\t(void)wait;\n")],
        f"{OLD_RULES}|{RACE}",
    ),
    Fault(
        "quiescent_while_rules_are_held",
        "packet/worker.c",
        [("\tlookup_burst(w, b);\n\thandoff_burst(w, b);\n",
          "\tlookup_burst(w, b);\n\trte_rcu_qsbr_quiescent(w->sessions->qsbr, w->index);\n\thandoff_burst(w, b);\n")],
        f"{RACE}|{OLD_RULES}|{TORN}",
    ),
    Fault(
        "key_taken_away_before_the_new_one",
        "rules/session.c",
        [
            ("if (part[dir] == ARENA_NONE)\n\t\t\tcontinue;\n\t\tnote_ue(table, session_part(table, part[dir]), 1);",
             "if (part[dir] == ARENA_NONE)\n\t\t\tcontinue;\n\t\tif (old[dir] != ARENA_NONE)\n"
             "\t\t\tpart_each_key(session_part(table, old[dir]), remove_key,\n"
             "\t\t\t\t&(struct publication){table, old[dir]});\n"
             "\t\tnote_ue(table, session_part(table, part[dir]), 1);"),
        ],
        "of no UE",
    ),
    Fault(
        "worked_away_from_home",
        "packet/handoff.c",
        [("\tif (home == w->index)\n", "\tif (home == w->index || (p->key & 1) != 0)\n")],
        RACE,
    ),
    Fault(
        "written_after_it_was_handed_over",
        "packet/handoff.c",
        [("\t*(struct pkt *)rte_mbuf_to_priv(p->m) = *p;\n\toutbox_put(w, home, p->m);\n",
          "\toutbox_put(w, home, p->m);\n\t*(struct pkt *)rte_mbuf_to_priv(p->m) = *p;\n")],
        RACE,
    ),
    Fault(
        "handed_over_without_a_ring",
        "packet/outbox.c",
        [("\t\tsleep_wake_fenced(&w->peers[__builtin_ctzll(told)]->sleeper);\n", "\t\t;\n")],
        "nobody rang",
    ),
    Fault(
        "asleep_without_a_last_poll",
        "packet/sleep.c",
        # And the worker loses its CPU before it says so.
        [("\t\t__atomic_store_n(&s->asleep, 1, __ATOMIC_RELAXED);\n\t\t// Seq",
          "\t\tusleep(1000);\n\t\t__atomic_store_n(&s->asleep, 1, __ATOMIC_RELAXED);\n\t\t// Seq"),
         ("\t\t__atomic_thread_fence(__ATOMIC_SEQ_CST);\n\t\treturn;\n", "\t\t__atomic_thread_fence(__ATOMIC_SEQ_CST);\n")],
        "nobody rang",
    ),
    Fault(
        "quotas_written_at_once",
        "control/meter.c",
        # Likewise.
        [("\t\tif (generation == 0 || next[i] < *quota[i]) // never armed: no limits yet\n"
          "\t\t\t__atomic_store_n(quota[i], next[i], __ATOMIC_RELAXED);\n",
          "\t\t__atomic_store_n(quota[i], next[i], __ATOMIC_RELAXED);\n\t\tusleep(1000);\n"),
         ("#include <stdlib.h>\n", "#include <stdlib.h>\n#include <unistd.h>\n")],
        "counts, where nothing passes|with a quota of",
    ),
    Fault(
        "armed_after_the_first_packet",
        "control/transaction.c",
        # And the control thread loses its CPU before the quota is there.
        [("\tsession_publish(sessions, put->session, op->part);\n",
          "\tsession_publish(sessions, put->session, op->part);\n\tusleep(1000);\n"),
         ("#include <time.h>\n", "#include <time.h>\n#include <unistd.h>\n"),
         ("\tarming->armed = true;\n\tmeter_write(base, (const void *)arming->record, 0);\n",
          "\tmeter_write(base, &unarmed, UINT64_MAX);\n")],
        "counts, where nothing passes|with a quota of",
    ),
    Fault(
        "token_bucket_read_plainly",
        "packet/qer.c",
        [("return __atomic_load_n(tat, __ATOMIC_RELAXED);", "return *tat;")],
        RACE,
    ),
]


def put_in(fault, sources):
    """The source with the fault in it; ValueError where what it replaces does not stand there once."""
    text = (sources / fault.source).read_text()
    for old, new in fault.edits:
        if text.count(old) != 1:
            raise ValueError(f"{fault.source} has {text.count(old)} of {old!r}")
        text = text.replace(old, new)
    return text


def build(fault, args):
    """The program with the fault, as a path."""
    folder = args.out / fault.name
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / pathlib.Path(fault.source).name
    source.write_text(put_in(fault, args.sources))
    faulty = folder / "faulty.o"
    sound = str(args.objects / fault.source).removesuffix(".c") + ".o"
    objects = args.object_files.split()
    subprocess.run([*shlex.split(args.compile), "-c", "-o", faulty, source], check=True)
    # The same path in any spelling.
    kept = [o for o in objects if os.path.abspath(o) != os.path.abspath(sound)]
    if len(kept) != len(objects) - 1:
        raise ValueError(f"{sound} is not among the objects")
    program = folder / "stress-upf-u"
    subprocess.run([*shlex.split(args.link), "-o", program, *kept, faulty, *shlex.split(args.libs)], check=True)
    return program


def is_found(fault, args):
    """Whether the program fails for what the fault does, and after how many seconds."""
    program = build(fault, args)
    began = time.monotonic()
    try:
        done = subprocess.run(
            [*shlex.split(args.run), program, str(SECONDS), args.seed],
            env=os.environ | {"TSAN_OPTIONS": "halt_on_error=1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=4 * SECONDS,
        )
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, status = (late.stdout or b"").decode(errors="replace"), 0
    (args.out / fault.name / "log").write_text(output)
    return status != 0 and re.search(fault.seen, output) is not None, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--objects", type=pathlib.Path, required=True)
    parser.add_argument("--object-files", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--compile", required=True)
    parser.add_argument("--link", required=True)
    parser.add_argument("--libs", required=True)
    parser.add_argument("--run", default="", help="what stands before the program")
    parser.add_argument("--seed", default="1")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    good = bad = 0
    for fault in FAULTS:
        if args.names and fault.name not in args.names:
            continue
        try:
            found, seconds = is_found(fault, args)
        except (ValueError, subprocess.CalledProcessError) as error:
            print(f"FAIL case=fault fault={fault.name}: {error}", flush=True)
            bad += 1
            continue
        good, bad = good + found, bad + (not found)
        print(f"{'PASS' if found else 'FAIL'} case=fault fault={fault.name} found={int(found)} seconds={seconds:.1f}", flush=True)
    print(f"faults: {good} found, {bad} not")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
