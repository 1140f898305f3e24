#!/usr/bin/env python3
"""TCP under a maximum bit rate: what one connection gets through upf-u of the MBR of its session.

    tcp.py --upf-u out/bin/upf-u --relay out/bin/relay-upf-u [--qer '{…}'] [--cc cubic,bbr]
           [--rtt 0.2,22,100] [--mbr 1000,10000,50000] [--dir dl,ul] [--seconds N] [--want PERCENT]
           [--shared]

As root. upf-u runs on veth interfaces in namespaces of its own; the gNB and its UE are relay.c, which
gives the path its delay in user space, the same wherever it runs. A line a case:

    case=tcp dir=dl cc=cubic rtt_ms=22 mbr_kbit=10000 goodput_percent=96.1 …

rtt_ms      what the path adds; seen_rtt_ms: the least that TCP measured, the hosts' own time with it
goodput_percent   octets that the receiver's application got, once the connection has run for a while, of
            what the MBR has room for. The MBR is one of user IP packets: of 1,500 octets 1,448 are the
            application's, so that 96.5 is all there is
second_percent    downlink: the most that came in any one second of the connection, of the MBR, in IP octets
dropped     packets above the MBR; waited: those that the shaper held; lost: by the path, which must be 0;
            what else upf-u dropped stands behind it by name

--qer is the `qer` of upf-u.yaml. --want: status 1 when a goodput is below. What the kernel lacks is skipped
by name. All of it runs before whatever else the machine does (SCHED_FIFO), for a upf-u or a UE that is kept from
its CPU for tens of milliseconds is what would be measured; --shared: as any other process.
"""
import argparse
import contextlib
import ctypes
import fcntl
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test"))
import netns_test as net  # noqa: E402
import upf_peer as p  # noqa: E402

UE, GNB, N3, DN = "10.45.0.1", "172.30.3.100", "172.30.3.17", "172.30.6.1"
TEID, GNB_TEID, QFI, PORT = 0x1001, 0x77, 9, 5201
TUNSETIFF, IFF_TUN_NO_PI = 0x400454ca, 0x1001
SIOCETHTOOL = 0x8946
OFFLOADS = {"transmit checksums": 0x17, "TSO": 0x1f, "GSO": 0x24}  # ETHTOOL_S*
MIN_RTT = 148  # of struct tcp_info, microseconds


def without_offloads(name, interface):
    """Frames as a wire would carry them: no longer than the MTU, with checksums."""
    with net.open_in(name, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as s:
        for command in OFFLOADS.values():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
            with contextlib.suppress(OSError):  # it has none
                fcntl.ioctl(s, SIOCETHTOOL, request)


def open_tun(name):
    def make():
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"ue", IFF_TUN_NO_PI))
        return fd
    return net.open_in(name, make)


@contextlib.contextmanager
def path():
    """The namespaces, with a UE beside the gNB."""
    net.NAMES["ue"] = f"upfu-{os.getpid()}-e"
    with net.namespaces():
        for name, interface in (("upf", "n3"), ("gnb", "n3"), ("upf", "n6"), ("dn", "n6")):
            without_offloads(name, interface)
        for name in ("upf", "gnb"):
            net.ip(name, "link", "set", "n3", "mtu", "1600")
        net.inside("ue", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        net.ip("ue", "link", "set", "lo", "up")
        for name in ("ue", "dn"):
            net.inside(name, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
        yield


class Upf:
    def __init__(self, binary, directory, qer):
        self.socket = f"{directory}/upf.sock"
        self.log = f"{directory}/upf-u.log"
        with open(f"{directory}/upf-u.yaml", "w", encoding="ascii") as file:
            file.write("memory: 128\nhugepages: false\n"
                       f"socket: {self.socket}\n{'qer: ' + qer if qer else ''}\n"
                       "limits: {sessions_max: 1024, mbufs: 16384}\n"
                       "interfaces:\n"
                       "  n3: {device: n3, addresses: 172.30.3.16/28, prefix_length: 24, mtu: 1600}\n"
                       "  n6: {device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1}\n")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", net.NAMES["upf"], binary, "-c", f"{directory}/upf-u.yaml"],
                stderr=log)
        began = time.monotonic()
        while "upf-u is ready" not in self.read_log():
            if self.process.poll() is not None or time.monotonic() - began > 60:
                sys.exit(f"tcp.py: upf-u does not start:\n{self.read_log()}")
            time.sleep(0.01)

    def read_log(self):
        return pathlib.Path(self.log).read_text(encoding="utf-8", errors="replace")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)


class Relay:
    """The gNB and the UE, each direction of their path late by half of the RTT."""

    def __init__(self, binary, tun, udp, rtt_ms):
        self.process = subprocess.Popen(
            [binary, str(tun), str(udp.fileno()), N3, str(TEID), str(QFI), str(int(rtt_ms * 500))],
            pass_fds=(tun, udp.fileno()), stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def told(self):
        """What came down since it was last asked."""
        self.process.send_signal(signal.SIGUSR1)
        return {k: int(v) for k, v in (f.split("=") for f in self.process.stdout.readline().split())}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)


def session(mbr_kbit):
    rate = mbr_kbit * 1000
    return p.session_put(
        1,
        [p.pdr(1, p.ACCESS, 0, teid=TEID, n3=N3, ue=UE, qer=[0], urr=[0]),
         p.pdr(2, p.CORE, 1, ue=UE, qer=[0], urr=[0])],
        [p.far(1, p.FORW, p.CORE),
         p.far(2, p.FORW, p.ACCESS, peer=GNB, local=N3, teid=GNB_TEID)],
        [p.qer(1, 1, qfi=QFI, mbr_ul=rate, mbr_dl=rate)], [p.urr(1, 1)])


def tcp_socket(name, cc):
    s = net.open_in(name, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    return s


class Transfer:
    """One connection that always has something to send."""

    def __init__(self, direction, cc):
        sender, receiver, address = ("dn", "ue", UE) if direction == "dl" else ("ue", "dn", DN)
        self.octets, self.failed = 0, None
        listener = tcp_socket(receiver, cc)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, PORT))
        listener.listen(1)
        self.out = tcp_socket(sender, cc)
        self.out.settimeout(20)
        self.out.connect((address, PORT))
        self.inward, _ = listener.accept()
        listener.close()
        self.threads = [threading.Thread(target=t, daemon=True) for t in (self._send, self._receive)]
        for thread in self.threads:
            thread.start()

    def _send(self):
        data = bytes(256 * 1024)
        with contextlib.suppress(OSError):
            self.out.settimeout(None)
            while True:
                self.out.sendall(data)

    def _receive(self):
        room = bytearray(256 * 1024)
        with contextlib.suppress(OSError):
            while n := self.inward.recv_into(room):
                self.octets += n

    def least_rtt_ms(self):
        info = self.out.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
        return struct.unpack_from("I", info, MIN_RTT)[0] / 1000

    def stop(self):
        for s in (self.out, self.inward):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(10)
        self.out.close()
        self.inward.close()


def silence(tun, gnb):
    """What the last connection left on the way is gone."""
    poll = select.poll()
    poll.register(tun, select.POLLIN)
    poll.register(gnb, select.POLLIN)
    while ready := poll.poll(300):
        for fd, _ in ready:
            os.read(fd, 2048)


def measure(args, peer, tun, gnb, case):
    """One case: its line's figures."""
    direction, cc, rtt_ms, mbr_kbit = case
    peer.transaction(p.session_del(1))  # buckets begin anew
    silence(tun, gnb)
    assert peer.transaction(session(mbr_kbit)) == (0, 0)
    before, waited = peer.drops(), peer.local().get("shaped", 0)
    relay = Relay(args.relay, tun, gnb, rtt_ms)
    try:
        transfer = Transfer(direction, cc)
        try:
            time.sleep(args.warm + args.warm_rtts * rtt_ms / 1000)
            octets, began = transfer.octets, time.monotonic()
            time.sleep(args.seconds)
            octets, took = transfer.octets - octets, time.monotonic() - began
            rtt = transfer.least_rtt_ms()
        finally:
            transfer.stop()
        told, after = relay.told(), peer.drops()
    finally:
        relay.stop()
    dropped = {k: after[k] - before[k] for k in after if after[k] != before[k]}
    figures = {"goodput_percent": f"{octets * 8 / took / mbr_kbit / 10:.1f}"}
    if direction == "dl":
        figures["second_percent"] = f"{told['most'] * 8 / mbr_kbit / 10:.1f}"
    figures |= {"seen_rtt_ms": f"{rtt:.2f}", "dropped": dropped.pop("mbr_exceeded", 0),
                "waited": peer.local().get("shaped", 0) - waited,
                "lost": told["lost"]}
    return figures | {f"dropped_{k}": v for k, v in dropped.items()}


def listed(text, kind=str):
    return [kind(word) for word in text.split(",") if word]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--upf-u", required=True)
    parser.add_argument("--relay", required=True)
    parser.add_argument("--qer", default="", help="of upf-u.yaml, for example {burst_ms: 20}")
    parser.add_argument("--cc", type=listed, default=["cubic", "bbr"])
    parser.add_argument("--rtt", type=lambda t: listed(t, float), default=[0.2, 22, 100])
    parser.add_argument("--mbr", type=lambda t: listed(t, int), default=[1000, 10000, 50000])
    parser.add_argument("--dir", type=listed, default=["dl"], help="dl,ul")
    parser.add_argument("--seconds", type=float, default=20)  # bbr has a cycle of ten
    parser.add_argument("--warm", type=float, default=3, help="seconds before it is measured")
    parser.add_argument("--warm-rtts", type=int, default=100, help="and so many round-trip times")
    parser.add_argument("--want", type=float, default=0)
    parser.add_argument("--shared", action="store_true")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("tcp.py: needs root, for network namespaces")
    if not args.shared:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
        had = file.read().split()
    for cc in [cc for cc in args.cc if cc not in had]:
        print(f"SKIP: case=tcp cc={cc}: the kernel has {' '.join(had)}")
    directory, below = tempfile.mkdtemp(prefix="upfu-tcp-"), 0
    try:
        with path():
            gnb = net.open_in("gnb", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            gnb.bind((GNB, 2152))
            gnb.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            tun = open_tun("ue")
            net.ip("ue", "addr", "add", f"{UE}/32", "dev", "ue")
            net.ip("ue", "link", "set", "ue", "up", "mtu", "1500", "txqueuelen", "4000")
            net.ip("ue", "route", "add", "default", "dev", "ue")
            upf = Upf(os.path.abspath(args.upf_u), directory, args.qer)
            try:
                peer = p.Peer(upf.socket)
                peer.hello()
                for case in [(d, cc, rtt, mbr) for d in args.dir for cc in args.cc if cc in had
                             for rtt in args.rtt for mbr in args.mbr]:
                    figures = measure(args, peer, tun, gnb, case)
                    below += float(figures["goodput_percent"]) < args.want
                    direction, cc, rtt, mbr = case
                    print(f"case=tcp dir={direction} cc={cc} rtt_ms={rtt:g} mbr_kbit={mbr}",
                          *(f"{k}={v}" for k, v in figures.items()), flush=True)
            except BaseException:
                print(upf.read_log(), file=sys.stderr)
                raise
            finally:
                upf.stop()
    finally:
        shutil.rmtree(directory)
    if below:
        sys.exit(f"tcp.py: {below} below {args.want:g} %")


if __name__ == "__main__":
    main()
