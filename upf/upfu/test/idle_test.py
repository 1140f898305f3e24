#!/usr/bin/env python3
"""An idle upf-u waits instead of polling, and is there for the first packet after that.

Run as root: idle_test.py PATH_TO_UPF_U. Idle is told by how often a worker polls, which it counts
itself; awake by packets that are answered long before the worker's own timer would have ended its
wait. Everything happens in the namespaces of netns_test.
"""

import contextlib
import os
import shutil
import socket
import sys
import tempfile
import time

import netns_test as n
import upf_peer as p

TICK = 0.1  # seconds: a worker that listens looks after its timers that often
IDLE_POLLS = 200  # a second and a worker; a polling one makes hundreds of thousands, a sleeping one 5000


def idle_polls(peer, workers):
    """Polls a second of the laziest second of several: others may send a frame at any time."""
    least = None
    for _ in range(5):
        before = sum(peer.worker(i)["polls"] for i in range(workers))
        time.sleep(1)
        polls = sum(peer.worker(i)["polls"] for i in range(workers)) - before
        least = polls if least is None else min(least, polls)
        if least < IDLE_POLLS * workers:
            break
    return least


def echo_times(sock, address, count):
    """Seconds from each request to its answer, each sent to a worker that has gone to sleep."""
    times = []
    for sequence in range(count):
        time.sleep(TICK / 4)
        began = time.monotonic()
        sock.sendto(n.echo_request(n.GNB, address, sequence), (address, 0))
        while True:
            answer = sock.recv(2048)
            if answer[20] == 0 and answer[26:28] == sequence.to_bytes(2, "big"):
                break
        times.append(time.monotonic() - began)
    return times


def raw_icmp():
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
    sock.settimeout(p.PATIENCE)
    return sock


def test_listening(peer, workers):
    n.check("an idle worker waits", idle_polls(peer, workers) < IDLE_POLLS * workers, True)
    sock = n.open_in("gnb", raw_icmp)
    echo_times(sock, n.N3, 1)  # neighbours
    times = sorted(echo_times(sock, n.N3, 21))
    n.check("a packet wakes it", times[len(times) // 2] < TICK / 4, True)
    before = peer.local()["icmp_echo"]
    time.sleep(TICK / 2)
    for sequence in range(500):
        sock.sendto(n.echo_request(n.GNB, n.N3, sequence, size=8), (n.N3, 0))
    n.wait_until("a burst to an idle worker is answered whole",
                 lambda: peer.local()["icmp_echo"] - before == 500)
    times = []
    for _ in range(9):
        before = peer.local()["end_markers_sent"]
        time.sleep(TICK / 4)
        began = time.monotonic()
        if peer.transaction(p.end_marker(n.GNB, n.N3, 1)) != (0, 0):
            raise AssertionError("End Marker refused")
        while peer.local()["end_markers_sent"] == before:
            if time.monotonic() - began > p.PATIENCE:
                raise AssertionError("the command is not carried out")
        times.append(time.monotonic() - began)
    n.check("a command wakes it", sorted(times)[len(times) // 2] < TICK / 4, True)


def test_handoff(peer):
    """With two workers packets for UEs of either arrive at either, and the other one sleeps."""
    for i in range(8):
        if peer.transaction(n.session(i, f"10.45.0.{i + 1}", 100 + i, 200 + i)) != (0, 0):
            raise AssertionError("session refused")
    sock = n.open_in("dn", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    gnb = n.open_in("gnb", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    gnb.bind((n.GNB, 2152))
    gnb.settimeout(p.PATIENCE)
    times = []
    for turn in range(33):
        i = turn % 8
        time.sleep(TICK / 4)
        began = time.monotonic()
        sock.sendto(turn.to_bytes(2, "big"), (f"10.45.0.{i + 1}", 4000 + turn))
        while not gnb.recv(2048).endswith(turn.to_bytes(2, "big")):
            pass
        if turn > 0:  # the first waits for ARP
            times.append(time.monotonic() - began)
    n.check("a packet handed over wakes its worker", sorted(times)[len(times) // 2] < TICK / 4, True)


@contextlib.contextmanager
def running(binary, settings):
    directory = tempfile.mkdtemp(prefix="upfu-")
    try:
        with n.namespaces():
            upf = n.Upf(binary, directory, settings)
            try:
                peer = p.Peer(upf.socket)
                peer.hello()
                yield peer
            except BaseException:
                print(upf.read_log())
                raise
            finally:
                upf.stop()
    finally:
        shutil.rmtree(directory)


def main():
    binary = os.path.abspath(sys.argv[1])
    if os.geteuid() != 0:
        sys.exit("idle_test.py: needs root, for network namespaces")
    cpus = sorted(os.sched_getaffinity(0))
    lcores = "hugepages: false\nlcores: {{control: {0}, workers: [{1}]}}\n"
    print("one worker")
    with running(binary, lcores.format(cpus[0], cpus[-1])) as peer:
        test_listening(peer, 1)
    print("two workers")
    with running(binary, lcores.format(cpus[0], f"{cpus[0]}, {cpus[-1]}")) as peer:
        test_listening(peer, 2)
        test_handoff(peer)
    print("sleep: {max_us: 0}")
    with running(binary, lcores.format(cpus[0], cpus[-1]) + "sleep: {max_us: 0}\n") as peer:
        n.check("a worker told not to sleep polls", idle_polls(peer, 1) > 10 * IDLE_POLLS, True)
    print(f"{n.passed} passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    main()
