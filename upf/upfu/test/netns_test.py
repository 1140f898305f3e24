#!/usr/bin/env python3
"""upf-u on real interfaces: a gNB and a data network in namespaces of their own, joined by veth.

Run as root: netns_test.py PATH_TO_UPF_U. It runs without and with hugepages, with the control thread
and the worker on one CPU, and with two workers. Every check names what it wants; the first that fails ends
the run with status 1. Nothing outside the three namespaces and a temporary directory is touched.
"""

import contextlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import upf_peer as p

NAMES = {"upf": f"upfu-{os.getpid()}-u", "gnb": f"upfu-{os.getpid()}-g",
         "dn": f"upfu-{os.getpid()}-d"}
UE, UE2 = "10.45.0.1", "10.45.0.2"
GNB, N3 = "172.30.3.100", "172.30.3.17"


def run(*command, **kwargs):
    return subprocess.run(command, check=True, capture_output=True, text=True, **kwargs).stdout


def ip(name, *command):
    return run("ip", "-n", NAMES[name], *command)


def inside(name, *command, **kwargs):
    return subprocess.run(["ip", "netns", "exec", NAMES[name], *command], capture_output=True,
                          text=True, check=False, **kwargs)


@contextlib.contextmanager
def namespaces():
    try:
        for name in NAMES.values():
            run("ip", "netns", "add", name)
        for link, other in (("n3", "gnb"), ("n6", "dn")):
            ip("upf", "link", "add", link, "type", "veth", "peer", "name", link, "netns",
               NAMES[other])
            ip("upf", "link", "set", link, "up")
            inside("upf", "sysctl", "-qw", f"net.ipv6.conf.{link}.disable_ipv6=1")
            inside(other, "sysctl", "-qw", f"net.ipv6.conf.{link}.disable_ipv6=1")
        ip("gnb", "addr", "add", f"{GNB}/24", "dev", "n3")
        ip("gnb", "link", "set", "n3", "up")
        ip("dn", "addr", "add", "172.30.6.1/24", "dev", "n6")
        ip("dn", "link", "set", "n6", "up")
        ip("dn", "route", "add", "10.45.0.0/16", "via", "172.30.6.2")
        yield
    finally:
        for name in NAMES.values():
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def open_in(name, make):
    """A socket that lives in the namespace."""
    import ctypes  # setns() is in os from Python 3.12 on

    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net", "rb") as home, \
            open(f"/run/netns/{NAMES[name]}", "rb") as there:
        if libc.setns(there.fileno(), 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return make()
        finally:
            libc.setns(home.fileno(), 0)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ipv4(source, destination, payload, protocol=1, ttl=64):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, ttl, protocol, 0,
                       socket.inet_aton(source), socket.inet_aton(destination))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def echo_request(source, destination, sequence, size=32, ttl=64):
    body = struct.pack("!BBHHH", 8, 0, 0, 7, sequence) + bytes(size)
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    return ipv4(source, destination, body, ttl=ttl)


def g_pdu(teid, inner, qfi=9):
    return struct.pack("!BBHI", 0x34, 255, len(inner) + 8, teid) + \
        struct.pack("!HBBBBBB", 0, 0, 0x85, 1, 0x10, qfi, 0) + inner


passed = 0


def check(what, got, want):
    global passed
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")
    passed += 1
    print(f"  ok {what}")


def wait_until(what, condition, seconds=p.PATIENCE):
    wait_for(what, lambda: bool(condition()), True, seconds)


def wait_for(what, look, want, seconds=p.PATIENCE):
    """Until what look() gives is what is wanted; else it ends with what it gave last."""
    deadline = time.monotonic() + seconds
    while (got := look()) != want and time.monotonic() < deadline:
        time.sleep(0.005)
    check(what, got, want)


def session(index, ue, teid, gnb_teid, action=p.FORW, **kwargs):
    return p.session_put(
        index,
        [p.pdr(1, p.ACCESS, 0, teid=teid, n3=N3, ue=ue, qer=[0], urr=[0]),
         p.pdr(2, p.CORE, 1, ue=ue, qer=[0], urr=[0])],
        [p.far(1, p.FORW, p.CORE),
         p.far(2, action, p.ACCESS, peer=GNB, local=N3, teid=gnb_teid)],
        [p.qer(1, index, qfi=9)], [p.urr(1, index)], **kwargs)


class Upf:
    """upf-u in its namespace."""

    def __init__(self, binary, directory, settings, gateway="172.30.6.1"):
        self.socket = f"{directory}/upf.sock"
        self.log_path = f"{directory}/upf-u.log"
        config = f"{directory}/upf-u.yaml"
        with open(config, "w", encoding="ascii") as file:
            file.write(f"memory: 128\n{settings}"
                       f"socket: {self.socket}\n"
                       "limits: {sessions_max: 4096, buffer_packets_per_session: 16, icmp_errors: 0}\n"
                       "interfaces:\n"
                       "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
                       f"  n6: {{device: n6, address: 172.30.6.2/24, gateway: {gateway}}}\n")
        self.log = open(self.log_path, "wb")
        self.command = ["ip", "netns", "exec", NAMES["upf"], binary, "-c", config]
        began = time.monotonic()
        self.process = subprocess.Popen(self.command, stderr=self.log)
        while "upf-u is ready" not in self.read_log():
            if self.process.poll() is not None or time.monotonic() - began > p.PATIENCE:
                raise AssertionError(f"upf-u does not start:\n{self.read_log()}")
            time.sleep(0.01)
        print(f"  upf-u ready after {time.monotonic() - began:.2f} s")

    def read_log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(p.PATIENCE)


class Hugepages:
    """More 2 MiB pages for a while, where too few are free."""

    PATH = "/sys/kernel/mm/hugepages/hugepages-2048kB/"

    def __init__(self):
        self.borrowed = 0

    def _read(self, name):
        with open(self.PATH + name, encoding="ascii") as file:
            return int(file.read())

    def _change(self, pages):
        with open(self.PATH + "nr_hugepages", "w", encoding="ascii") as file:
            file.write(str(self._read("nr_hugepages") + pages))

    def free(self):
        return self._read("free_hugepages") if os.path.exists(self.PATH) else 0

    def borrow(self, pages):
        if not os.path.exists(self.PATH):
            return False
        if self._read("free_hugepages") < pages:
            before = self._read("nr_hugepages")
            self._change(pages)
            self.borrowed = self._read("nr_hugepages") - before
        return self._read("free_hugepages") >= pages

    def give_back(self):
        if self.borrowed:
            self._change(-self.borrowed)
            self.borrowed = 0


def drain(gnb):
    gnb.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            gnb.recv(2048)
    gnb.settimeout(p.PATIENCE)


def test_upf(upf, peer, gnb):
    check("ping to the N6 address, first packet included",
          "3 received" in inside("dn", "ping", "-c", "3", "-i", "0.1", "172.30.6.2").stdout, True)
    check("ping to an address of the N3 block",
          "2 received" in inside("gnb", "ping", "-c", "2", "-i", "0.1", "172.30.3.30").stdout, True)
    _, _, sessions = peer.hello()
    check("sessions after a start", sessions, 0)

    check("establish", peer.transaction(session(5, UE, 0x1001, 0x77, blob=b"five")), (0, 0))
    check("another session's F-TEID is refused",
          peer.transaction(p.meta(b"x"), session(6, UE2, 0x1001, 0x78))[0], 17)
    check("a slot out of range is refused",
          peer.transaction(session(1 << 20, UE2, 0x1002, 0x78)), (22, 0))

    # UL and DL through: the data network's kernel answers the UE's ping.
    for sequence in range(3):
        gnb.sendto(g_pdu(0x1001, echo_request(UE, "172.30.6.1", sequence)), (N3, 2152))
        data = gnb.recv(2048)
        check(f"echo {sequence}: tunnel and QFI",
              (data[:2], data[4:8], data[11:16]),
              (b"\x34\xff", struct.pack("!I", 0x77), b"\x85\x01\x00\x09\x00"))
        inner = data[16:]
        check(f"echo {sequence}: answer to the UE, TTL one less, header checksum right",
              (inner[12:20], inner[8], checksum(inner[:20]), inner[20]),
              (socket.inet_aton("172.30.6.1") + socket.inet_aton(UE), 63, 0, 0))
    check("URR octets and packets", peer.urr(5), (180, 3, 180, 3))

    # Before upf-c has said that all sessions are here, an unknown F-TEID says nothing.
    gnb.sendto(g_pdu(0xdead, echo_request(UE, "172.30.6.1", 1)), (N3, 2152))
    wait_until("unknown F-TEID before the first META", lambda: peer.drops()["unknown_teid"] == 1)
    check("META", peer.transaction(p.meta(b"all are here")), (0, 0))
    drops = peer.drops()
    gnb.sendto(g_pdu(0x1001, echo_request("10.45.0.9", "172.30.6.1", 1)), (N3, 2152))
    gnb.sendto(g_pdu(0x1001, echo_request(UE, UE, 1)), (N3, 2152))
    gnb.sendto(g_pdu(0x1001, echo_request(UE, "172.30.6.1", 1, ttl=1)), (N3, 2152))
    gnb.sendto(g_pdu(0xdead, echo_request(UE, "172.30.6.1", 1)), (N3, 2152))
    data = gnb.recv(2048)
    check("Error Indication names TEID and address", data,
          struct.pack("!BBHIHBBBHBBIBH", 0x36, 26, 20, 0, 0, 0, 0x40, 1, 2152, 0, 16, 0xdead,
                      133, 4) + socket.inet_aton(N3))
    gnb.sendto(struct.pack("!BBHIHBB", 0x32, 1, 4, 0, 0x55aa, 0, 0), (N3, 2152))
    check("Echo Response with the sequence number", gnb.recv(2048),
          struct.pack("!BBHIHBBBB", 0x32, 2, 6, 0, 0x55aa, 0, 0, 14, 0))
    # With two workers the session's drops its packets when it comes to them.
    wait_until("all four are dropped",
               lambda: sum(peer.drops().values()) - sum(drops.values()) >= 4)
    after = peer.drops()
    check("drops by name",
          {k: after[k] - drops[k] for k in after if after[k] != drops[k]},
          {"spoofed_source": 1, "ue_to_ue": 1, "ttl_exceeded": 1, "unknown_teid": 1})

    gnb.sendto(struct.pack("!BBHIHBBBIBH", 0x32, 26, 16, 0, 0, 0, 0, 16, 0x77, 133, 4) +
               socket.inet_aton(GNB), (N3, 2152))
    check("Error Indication received becomes an event", peer.wait_event(p.EV_ERROR_IND),
          struct.pack("=16sIB3x", p.octets(GNB), 0x77, p.OHC_GTPU4))

    # Idle: the downlink waits, one event, then everything in order.
    check("buffer", peer.transaction(session(5, UE, 0x1001, 0x77, action=p.BUFF | p.NOCP,
                                             blob=b"five")), (0, 0))
    sender = open_in("dn", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    drain(gnb)
    for i in range(20):
        sender.sendto(struct.pack("!I", i), (UE, 9999))
    check("Downlink Data event", peer.wait_event(p.EV_DL_DATA)[:6], struct.pack("=IH", 5, 2))
    wait_until("20 packets arrive",
               lambda: peer.drops()["buffer_full"] + peer.local()["buffered"] >= 20)
    check("buffered, and full at the limit",
          (peer.local()["buffered"], peer.drops()["buffer_full"]), (16, 4))
    check("no second event", [e for e in peer.events if e[0] == p.EV_DL_DATA], [])
    check("path switch", peer.transaction(session(5, UE, 0x1001, 0x99, blob=b"five"),
                                          p.end_marker(GNB, N3, 0x77, session=5)), (0, 0))
    got, end_markers = [], 0
    while len(got) < 16 or end_markers == 0:
        data = gnb.recv(2048)
        if data[1] == 254:
            check("End Marker on the old tunnel", data, struct.pack("!BBHI", 0x30, 254, 0, 0x77))
            end_markers += 1
            continue
        check("released to the new tunnel", data[4:8], struct.pack("!I", 0x99))
        got.append(struct.unpack("!I", data[16 + 28:16 + 32])[0])
    check("released in order", got, list(range(16)))

    check("arm", peer.transaction(p.urr_arm(5, 5, dl=peer.urr(5)[2] + 1)), (0, 0))
    sender.sendto(b"x", (UE, 9999))
    check("threshold event", peer.wait_event(p.EV_URR), struct.pack("=II", 5, 5))
    gnb.recv(2048)

    # upf-c dies: forwarding goes on, state can be read back; a second one is refused meanwhile.
    check("meta", peer.transaction(p.meta(b"associations")), (0, 0))
    second = p.Peer(upf.socket)
    check("second upf-c is refused", second.receive()[1], 16)
    second.close()
    peer.close()
    gnb.sendto(g_pdu(0x1001, echo_request(UE, "172.30.6.1", 9)), (N3, 2152))
    check("forwards without upf-c", gnb.recv(2048)[4:8], struct.pack("!I", 0x99))
    peer = p.Peer(upf.socket)
    check("sessions for the next upf-c", peer.hello()[2], 1)
    accepted = 0
    for _ in range(50):
        peer.close()
        peer = p.Peer(upf.socket)
        accepted += peer.hello()[2]
    check("a successor is let in however soon it comes", accepted, 50)
    check("dump", peer.dump(), [(p.META, 0, b"associations"), (p.SESSION_STATE, 5, b"five")])
    check("delete", peer.transaction(p.session_del(5)), (0, 0))
    drops = peer.drops()["unknown_ue"]
    sender.sendto(b"x", (UE, 9999))
    wait_until("packet for a deleted session is counted",
               lambda: peer.drops()["unknown_ue"] == drops + 1)
    check("nothing was dropped for a group", sum(peer.group_drops(1).values()), 0)

    test_losses(upf, peer, gnb)
    test_second_upf(upf)

    up, down = p.constant("LINK_UP"), p.constant("LINK_DOWN")
    n3, n6 = p.constant("PORT_N3"), p.constant("PORT_N6")
    links = lambda: [peer.links()[n3], peer.links()[n6]]
    check("both links are up", links(), [up, up])
    ip("gnb", "link", "set", "n3", "down")
    wait_until("the link of N3 is down", lambda: links() == [down, up])
    ip("gnb", "link", "set", "n3", "up")
    wait_until("and up again", lambda: links() == [up, up])


def test_losses(upf, peer, gnb):
    """What the kernel's ring cannot take while upf-u does not run is counted, of its interface."""
    before = peer.missed()
    check("nothing was lost so far", before[:2], [0, 0])
    upf.process.send_signal(signal.SIGSTOP)
    try:
        for i in range(3000):
            gnb.sendto(g_pdu(0xdead, echo_request(UE, "172.30.6.1", i & 0xffff)), (N3, 2152))
    finally:
        upf.process.send_signal(signal.SIGCONT)
    wait_until("frames that found no room are counted", lambda: peer.missed()[p.constant("PORT_N3")] > 500)
    check("those of N3 alone", peer.missed()[p.constant("PORT_N6")], 0)


def test_second_upf(upf):
    """One started by mistake says so, and leaves the running one alone."""
    second = subprocess.run(upf.command, capture_output=True, text=True, timeout=20, check=False)
    check("a second upf-u ends", second.returncode, 1)
    check("and says why", f"another upf-u is running with the socket {upf.socket}" in second.stderr, True)
    check("the first one's socket is still there", os.path.exists(upf.socket), True)
    probe = p.Peer(upf.socket)
    check("and still serves", probe.receive()[1], 16)
    probe.close()
    check("and it still answers",
          "1 received" in inside("dn", "ping", "-c", "1", "172.30.6.2").stdout, True)


def test_gateways(binary, directory, settings):
    """Two routers on N6, of which one goes and comes back."""
    answers, silent = p.constant("GATEWAY_ANSWERS"), p.constant("GATEWAY_SILENT")
    routers, ues, n6 = ("172.30.6.1", "172.30.6.9"), 16, p.constant("PORT_N6")
    # The second router is an interface with a MAC address of its own on the first one's.
    ip("dn", "link", "add", "second", "link", "n6", "type", "macvlan", "mode", "bridge")
    inside("dn", "sysctl", "-qw", "net.ipv6.conf.second.disable_ipv6=1", "net.ipv4.conf.all.arp_ignore=1")
    ip("dn", "addr", "add", f"{routers[1]}/24", "dev", "second")
    ip("dn", "link", "set", "second", "up")
    macs = [bytes.fromhex(ip("dn", "-br", "link", "show", name).split()[2].replace(":", ""))
            for name in ("n6", "second")]
    everything = 3  # ETH_P_ALL
    wire = open_in("dn", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
    open_in("dn", lambda: wire.bind(("n6", everything)))
    wire.setblocking(False)
    gnb = open_in("gnb", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    upf = Upf(binary, directory, settings, "[" + ", ".join(routers) + "]")
    try:
        peer = p.Peer(upf.socket)
        peer.hello()
        for i in range(ues):
            check(f"UE {i}", peer.transaction(session(i, f"10.45.0.{1 + i}", 0x2000 + i, 0x77)), (0, 0))
        states = lambda: [state for state, _ in peer.gateways(n6)[:2]]

        def took(patience=p.PATIENCE):
            """By which router each UE's next packet goes, of those that come out within so many seconds."""
            with contextlib.suppress(BlockingIOError):
                while True:
                    wire.recv(2048)
            for i in range(ues):
                gnb.sendto(g_pdu(0x2000 + i, echo_request(f"10.45.0.{1 + i}", "198.51.100.1", i)), (N3, 2152))
            way, deadline = {}, time.monotonic() + patience
            while len(way) < ues and time.monotonic() < deadline:
                with contextlib.suppress(BlockingIOError):
                    frame = wire.recv(2048)
                    if frame[12:14] == b"\x08\x00" and frame[26:29] == b"\x0a\x2d\x00":
                        way[frame[29] - 1] = macs.index(frame[:6])
                    continue
                time.sleep(0.001)
            return way

        # By a hash of the UE's address (compile.c), once each worker knows who answers: ten times a second it looks.
        way = {i: (int.from_bytes(socket.inet_aton(f"10.45.0.{1 + i}"), "big") * 0x9e3779b1 >> 31) & 1 for i in range(ues)}
        check("UEs are spread over both", set(way.values()), {0, 1})
        wait_for("both gateways answer", states, [answers, answers])
        wait_for("every UE's packets arrive, by its own gateway", lambda: took(1), way)
        check("and keep their way", took(), way)
        ip("dn", "link", "set", "second", "down")
        began = time.monotonic()
        wait_for("the second one is seen to be gone", states, [answers, silent])
        print(f"  gone after {time.monotonic() - began:.2f} s")
        wait_for("then all go by the first, and none is lost", lambda: took(1), dict.fromkeys(range(ues), 0))
        wait_until("it is logged", lambda: 'msg="gateway does not answer" interface=n6 network_instance="" '
                   f"gateway={routers[1]}" in upf.read_log())
        ip("dn", "link", "set", "second", "up")
        wait_for("the second one answers again", states, [answers, answers])
        wait_for("and its UEs go by it as before", lambda: took(1), way)
        check("its loss is counted", [losses for _, losses in peer.gateways(n6)[:2]], [0, 1])
        peer.close()
    except BaseException:
        print(upf.read_log())
        raise
    finally:
        upf.stop()
        wire.close()
        gnb.close()


def test_refusals(binary, directory):
    """What would not work is refused with what to write instead."""
    def start(interfaces, settings="memory: 128\nhugepages: false"):
        with open(f"{directory}/bad.yaml", "w", encoding="ascii") as file:
            file.write(f"{settings}\nsocket: {directory}/bad.sock\ninterfaces:\n{interfaces}")
        return subprocess.run(
            ["ip", "netns", "exec", NAMES["upf"], binary, "-c", f"{directory}/bad.yaml"],
            capture_output=True, text=True, timeout=60, check=False)

    n3 = "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24}\n"
    n6 = "  n6: {device: n6, address: 172.30.6.2/24, mtu: 1600}\n"
    done = start(n3 + n6)
    check("an mtu above the device's", (done.returncode, "n6: mtu 1600 is above that of the device "
          "n6, 1500, which would drop what is longer; write mtu: 1500, or raise the device's: "
          "ip link set n6 mtu 1600" in done.stderr), (1, True))
    free = Hugepages().free()
    done = start(n3 + n6.replace(", mtu: 1600", ""), f"memory: {2 * free + 64}\nhugepages: true")
    check("no hugepages", (done.returncode, f"it needs {free + 32} hugepages of 2 MiB" in done.stderr,
          "nr_hugepages; or write hugepages: false" in done.stderr), (1, True, True))


def main():
    binary = os.path.abspath(sys.argv[1])
    if os.geteuid() != 0:
        sys.exit("netns_test.py: needs root, for network namespaces")
    hugepages, skipped = Hugepages(), 0
    cpus = sorted(os.sched_getaffinity(0))
    for settings in ("hugepages: false\n", "hugepages: true\n",
                     f"hugepages: false\nlcores: {{control: {cpus[0]}, workers: [{cpus[0]}]}}\n",
                     f"hugepages: false\n"
                     f"lcores: {{control: {cpus[0]}, workers: [{cpus[0]}, {cpus[-1]}]}}\n"):
        print(settings.strip())
        if "hugepages: true" in settings and not hugepages.borrow(128 // 2):
            skipped += 1
            print("SKIP: hugepages: this machine gives no 64 hugepages of 2 MiB")
            continue
        directory = tempfile.mkdtemp(prefix="upfu-")
        try:
            with namespaces():
                test_gateways(binary, directory, settings)
            with namespaces():
                gnb = open_in("gnb", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                gnb.bind((GNB, 2152))
                gnb.settimeout(p.PATIENCE)
                test_refusals(binary, directory)
                upf = Upf(binary, directory, settings)
                try:
                    peer = p.Peer(upf.socket)
                    test_upf(upf, peer, gnb)
                    check("exit status after SIGTERM", upf.stop(), 0)
                except BaseException:
                    print(upf.read_log())
                    raise
                finally:
                    upf.stop()
        finally:
            shutil.rmtree(directory)
            hugepages.give_back()
    print(f"{passed} passed, 0 failed, {skipped} skipped")


if __name__ == "__main__":
    main()
