#!/usr/bin/env python3
"""upf-u against Scapy: every frame of the gNB, the other UPF and the data network is made and read by
another implementation than ours.

Run as root: scapy_test.py PATH_TO_UPF_U, with a Python that has Scapy (make -C upf test-u-netns sets
one up). The interfaces are veth pairs into namespaces of their own; the far ends have no addresses in
the kernel, so that nobody but this program answers. Ends with status 1 at the first thing that is not
as it should be.
"""

import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import netns_test
import upf_peer as p
from netns_test import check

import scapy.all as s
from scapy.contrib import gtp as g

NAMES = {name: f"upfs-{os.getpid()}-{name}" for name in ("upf", "n3", "n6", "n9")}
MAC = {"n3": "02:00:00:00:03:64", "n6": "02:00:00:00:06:01", "n9": "02:00:00:00:09:01"}
UE, UE6, PREFIX = "10.45.0.1", "2001:db8:1::99", "2001:db8:1::/64"
REMOTE, REMOTE6 = "8.8.8.8", "2600::53"
GNB, GNB6, N3, N36 = "172.30.3.100", "fd00:3::100", "172.30.3.17", "fd00:3::11"
N6, N66, GATEWAY, GATEWAY6 = "172.30.6.2", "fd00:6::2", "172.30.6.1", "fd00:6::1"
PSA, N9 = "172.30.9.1", "172.30.9.17"
TEID, TEID6, GNB_TEID, N9_TEID, PSA_TEID = 0x1001, 0x1006, 0x77, 0x2001, 0x2077
ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING, TP_STATUS_VLAN_VALID = 263, 8, 4, 0x10

CONFIG = """memory: 128
hugepages: false
socket: {directory}/upf.sock
limits: {{sessions_max: 1024, icmp_errors: 1000, error_indications: 1000}}
mss_clamp: true
router_advertisement: {{other: true, mtu: 1400}}
reassembly: {{timeout_ms: 300}}
fragmentation: {fragmentation}
interfaces:
  n3: {{device: n3, addresses: 172.30.3.16/28, prefix_length: 24, addresses6: 'fd00:3::10/124',
       prefix_length6: 64{vlan}}}
  n6: {{device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1, address6: 'fd00:6::2/64',
       gateway6: 'fd00:6::1', mtu: 1400{vlan}}}
  n9: {{device: n9, addresses: 172.30.9.16/28, prefix_length: 24}}
"""

# Network instances on one device: the same addresses in two VLANs and without a tag.
NETWORKS = """memory: 128
hugepages: false
socket: {directory}/upf.sock
limits: {{sessions_max: 1024, icmp_errors: 1000}}
interfaces:
  n3: {{device: n3, addresses: 172.30.3.16/28, prefix_length: 24}}
  n6:
  - {{device: n6, vlan: 100, network_instance: internet, address: 172.30.6.2/24,
      gateway: 172.30.6.1, address6: 'fd00:6::2/64', gateway6: 'fd00:6::1'}}
  - {{vlan: 200, network_instance: ims, address: 172.30.6.2/24, gateway: 172.30.6.1,
      address6: 'fd00:6::2/64', gateway6: 'fd00:6::1'}}
  - {{address: 172.30.6.2/24, gateway: 172.30.6.1, address6: 'fd00:6::2/64',
      gateway6: 'fd00:6::1'}}
"""


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


class Link:
    """The far end of an interface of upf-u: a station that answers ARP and Neighbour Discovery."""

    def __init__(self, name, addresses, vlan=None):
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/self/ns/net", "rb") as home, \
                open(f"/run/netns/{NAMES[name]}", "rb") as there:
            if libc.setns(there.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            try:
                self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                            socket.htons(ETH_P_ALL))
                self.socket.bind((name, 0))
            finally:
                libc.setns(home.fileno(), 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.name, self.mac, self.addresses, self.vlan = name, MAC[name], addresses, vlan
        self.heard, self.upf_mac = [], None

    def send(self, packet, *, tag=None):
        """An IP packet, or a frame."""
        if not packet.haslayer(s.Ether):
            packet = s.Ether(src=self.mac, dst=self.upf_mac) / packet
        data = bytes(packet)
        if tag or self.vlan:
            data = data[:12] + struct.pack("!HH", 0x8100, tag or self.vlan) + data[12:]
        self.socket.send(data)

    def _receive(self, deadline):
        self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
        data, ancillary, _, address = self.socket.recvmsg(65536, 256)
        if address[2] == PACKET_OUTGOING:
            return None
        for _, kind, body in ancillary:
            # The kernel takes tags off: put it back.
            status, _, _, _, _, tci, tpid = struct.unpack_from("=IIIHHHH", body)
            if kind == PACKET_AUXDATA and status & TP_STATUS_VLAN_VALID:
                data = data[:12] + struct.pack("!HH", tpid or 0x8100, tci) + data[12:]
        tagged = data[12:14] == b"\x81\x00"
        return s.Ether(self._untag(data, tagged))

    def _untag(self, data, tagged):
        if tagged != (self.vlan is not None) or \
                (tagged and struct.unpack("!H", data[14:16])[0] & 0xfff != self.vlan):
            raise AssertionError(f"{self.name}: a frame with another tag: {data[:20].hex()}")
        return data[:12] + data[16:] if tagged else data

    def _serve(self, frame):
        """True: it was for the station itself."""
        self.upf_mac = frame.src
        if frame.haslayer(s.ARP):
            self.heard.append(frame)
            arp = frame[s.ARP]
            if arp.op == 1 and arp.pdst in self.addresses and arp.psrc != arp.pdst:
                self.send(s.Ether(src=self.mac, dst=frame.src) / s.ARP(
                    op=2, hwsrc=self.mac, psrc=arp.pdst, hwdst=arp.hwsrc, pdst=arp.psrc))
            return True
        outer = frame.payload
        if isinstance(outer, s.IPv6) and isinstance(outer.payload, (s.ICMPv6ND_NS, s.ICMPv6ND_NA)):
            self.heard.append(frame)
            if isinstance(outer.payload, s.ICMPv6ND_NS) and outer.payload.tgt in self.addresses:
                self.send(s.Ether(src=self.mac, dst=frame.src) /
                          s.IPv6(src=outer.payload.tgt, dst=outer.src, hlim=255) /
                          s.ICMPv6ND_NA(tgt=outer.payload.tgt, R=0, S=1, O=1) /
                          s.ICMPv6NDOptDstLLAddr(lladdr=self.mac))
            return True
        return False

    def take(self, what, seconds=p.PATIENCE):
        """The next packet that is not for the station itself."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                frame = self._receive(deadline)
            except (TimeoutError, BlockingIOError):
                raise AssertionError(f"{what}: nothing comes on {self.name}") from None
            if frame is not None and not self._serve(frame):
                return frame.payload

    def serve(self, seconds):
        """Answers for the station; nothing else may come."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                frame = self._receive(deadline)
            except (TimeoutError, BlockingIOError):
                return
            if frame is not None and not self._serve(frame):
                raise AssertionError(f"{self.name}: unexpected {frame.summary()}")


class Trunk(Link):
    """The same of all VLANs: it answers in the one that it was asked in, and vlan is that of the last frame."""

    def _untag(self, data, tagged):
        self.vlan = struct.unpack("!H", data[14:16])[0] & 0xfff if tagged else None
        return data[:12] + data[16:] if tagged else data


class Upf:
    def __init__(self, binary, directory, text=CONFIG, **settings):
        config = f"{directory}/upf-u.yaml"
        with open(config, "w", encoding="ascii") as file:
            file.write(text.format(directory=directory, **settings))
        self.log_path = f"{directory}/upf-u.log"
        self.log = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", NAMES["upf"], binary, "-c", config], stderr=self.log)
        began = time.monotonic()
        while "upf-u is ready" not in self.read_log():
            if self.process.poll() is not None or time.monotonic() - began > p.PATIENCE:
                raise AssertionError(f"upf-u does not start:\n{self.read_log()}")
            time.sleep(0.01)
        self.peer = p.Peer(f"{directory}/upf.sock")
        self.peer.hello()
        self.peer.transaction(p.meta(b"all sessions are here"))  # else no Error Indications

    def read_log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(5)


def session(index, teid, n3, gnb, ue, ue6, sdfs=()):
    sdf = (0, len(sdfs)) if sdfs else None
    return p.session_put(
        index,
        [p.pdr(1, p.ACCESS, 0, teid=teid, n3=n3, ue=ue, ue6=ue6, qer=[0], urr=[0], sdf=sdf),
         p.pdr(2, p.CORE, 1, ue=ue, ue6=ue6, qer=[0], urr=[0], sdf=sdf)],
        [p.far(1, p.FORW, p.CORE),
         p.far(2, p.FORW, p.ACCESS, peer=gnb, local=n3, teid=GNB_TEID)],
        [p.qer(1, index, qfi=9)], [p.urr(1, index)], sdfs=sdfs)


def g_pdu(inner, teid=TEID, qfi=9, **header):
    container = g.GTPPDUSessionContainer(type=1, QFI=qfi) if qfi else None
    head = g.GTP_U_Header(teid=teid, **header)
    return head / container / inner if container else head / inner


def up(inner, teid=TEID, **kwargs):
    """The user's packet in a G-PDU from the gNB."""
    if teid == TEID6:
        return s.IPv6(src=GNB6, dst=N36) / s.UDP(sport=2152, dport=2152) / \
            g_pdu(inner, teid, **kwargs)
    return s.IP(src=GNB, dst=N3) / s.UDP(sport=2152, dport=2152) / g_pdu(inner, teid, **kwargs)


def user(packet):
    """The user's packet in a G-PDU, by its octets: Scapy guesses the inner protocol."""
    gtpu = packet[s.UDP].payload
    data = bytes(gtpu)
    at = 8
    if data[0] & 7:
        at, following = 12, data[11]
        while following:
            length = data[at] * 4
            following = data[at + length - 1]
            at += length
    inner = data[at:8 + struct.unpack("!H", data[2:4])[0]]
    return s.IP(inner) if inner[0] >> 4 == 4 else s.IPv6(inner)


def right_checksum(packet):
    """Do all checksums, up to the first upper layer's, stay when Scapy computes them?"""
    again = packet.copy()
    layer = again
    while layer:
        for field in ("chksum", "cksum"):
            if field in layer.fields and not (isinstance(layer, s.UDP) and layer.chksum == 0):
                del layer.fields[field]
        layer.raw_packet_cache = None
        if isinstance(layer, (s.ICMP, s.UDP, s.TCP)) or layer.name.startswith("ICMPv6"):
            break
        layer = layer.payload
    return bytes(again) == bytes(packet)


def test_announcements(links):
    for link in links.values():
        link.serve(0.2)
    heard = [f[s.ARP].psrc for f in links["n3"].heard if f.haslayer(s.ARP)]
    check("gratuitous ARP for all addresses of N3", heard,
          [f"172.30.3.{i}" for i in range(16, 32)])
    heard = [f[s.ICMPv6ND_NA].tgt for f in links["n3"].heard if f.haslayer(s.ICMPv6ND_NA)]
    check("unsolicited Neighbour Advertisements", heard, [f"fd00:3::{i:x}" for i in range(16, 32)])


def test_own_addresses(n3, n6):
    n6.send(s.Ether(src=n6.mac, dst="33:33:ff:00:00:02") /
            s.IPv6(src=GATEWAY6, dst="ff02::1:ff00:2", hlim=255) / s.ICMPv6ND_NS(tgt=N66) /
            s.ICMPv6NDOptSrcLLAddr(lladdr=n6.mac))
    n6.heard.clear()
    n6.serve(0.1)
    answers = [f for f in n6.heard if f.haslayer(s.ICMPv6ND_NA)]
    check("Neighbour Solicitation is answered",
          [(f[s.ICMPv6ND_NA].tgt, f[s.ICMPv6ND_NA].S, f[s.ICMPv6NDOptDstLLAddr].lladdr,
            right_checksum(f.payload)) for f in answers], [(N66, 1, n6.upf_mac, True)])
    for link, us, them in ((n3, N36, GNB6), (n6, N66, GATEWAY6)):
        link.send(s.IPv6(src=them, dst=us) / s.ICMPv6EchoRequest(id=7, seq=1, data=b"x" * 40))
        answer = link.take("ICMPv6 echo")
        check(f"ICMPv6 echo to {us}", (answer.src, answer[s.ICMPv6EchoReply].data,
                                       right_checksum(answer)), (us, b"x" * 40, True))
    n6.send(s.IP(src=GATEWAY, dst=N6) / s.ICMP(id=7) / (b"y" * 40))
    answer = n6.take("ICMP echo")
    check("ICMP echo", (answer.src, answer[s.ICMP].type, right_checksum(answer)), (N6, 0, True))


def test_forwarding(n3, n6):
    ways = ((TEID, UE, REMOTE, s.IP, "IPv4 over IPv4"), (TEID, UE6, REMOTE6, s.IPv6, "IPv6 over IPv4"),
            (TEID6, "10.45.0.6", REMOTE, s.IP, "IPv4 over IPv6"),
            (TEID6, "2001:db8:6::99", REMOTE6, s.IPv6, "IPv6 over IPv6"))
    for teid, ue, remote, ip, what in ways:
        n3.send(up(ip(src=ue, dst=remote) / s.UDP(sport=1, dport=2) / b"hello", teid))
        got = n6.take(f"uplink {what}")
        check(f"uplink {what}", (got.src, got.dst, got.ttl if ip is s.IP else got.hlim,
                                 bytes(got[s.UDP].payload)[:5], right_checksum(got)),
              (ue, remote, 63, b"hello", True))
        n6.send(ip(src=remote, dst=ue) / s.UDP(sport=2, dport=1) / b"world")
        got = n3.take(f"downlink {what}")
        inner = user(got)
        check(f"downlink {what}: tunnel",
              (got.dst, got[s.UDP].dport, got[g.GTP_U_Header].teid,
               got[g.GTPPDUSessionContainer].QFI, got[g.GTPPDUSessionContainer].type),
              (GNB6 if teid == TEID6 else GNB, 2152, GNB_TEID, 9, 0))
        check(f"downlink {what}: packet",
              (inner.src, inner.dst, bytes(inner[s.UDP].payload), right_checksum(inner)),
              (remote, ue, b"world", True))


def test_router_advertisement(n3):
    n3.send(up(s.IPv6(src="fe80::99", dst="ff02::2", hlim=255) / s.ICMPv6ND_RS()))
    ra = user(n3.take("Router Advertisement"))
    check("Router Advertisement",
          (ra.dst, ra.hlim, ra[s.ICMPv6ND_RA].M, ra[s.ICMPv6ND_RA].O,
           ra[s.ICMPv6ND_RA].routerlifetime, ra[s.ICMPv6NDOptPrefixInfo].prefix,
           ra[s.ICMPv6NDOptPrefixInfo].prefixlen, ra[s.ICMPv6NDOptPrefixInfo].L,
           ra[s.ICMPv6NDOptPrefixInfo].A, ra[s.ICMPv6NDOptMTU].mtu, right_checksum(ra)),
          ("fe80::99", 255, 0, 1, 65535, "2001:db8:1::", 64, 0, 1, 1400, True))
    router = ra.src
    n3.send(up(s.IPv6(src="fe80::99", dst=router, hlim=255) / s.ICMPv6ND_NS(tgt=router)))
    na = user(n3.take("Neighbour Advertisement"))
    check("the UE's router is there", (na[s.ICMPv6ND_NA].tgt, na[s.ICMPv6ND_NA].R), (router, 1))


def test_icmp_errors(n3, n6):
    """What a sender on either side is told."""
    def ue_hears(what, packet, layer, want):
        n3.send(up(packet))
        error = user(n3.take(what))
        check(f"the UE hears: {what}",
              (error.src, error.dst, *(error[layer].fields[k] for k in want), right_checksum(error)),
              (N66 if layer is not s.ICMP else N6, packet.src, *want.values(), True))

    def n6_hears(what, packet, layer, want):
        n6.send(packet)
        error = n6.take(what)
        check(f"N6 hears: {what}",
              (error.src, error.dst, *(error[layer].fields[k] for k in want), right_checksum(error)),
              (N66 if layer is not s.ICMP else N6, packet.src, *want.values(), True))

    big = s.Raw(b"z" * 1393)
    ue_hears("fragmentation needed", s.IP(src=UE, dst=REMOTE, flags="DF") / s.UDP() / big, s.ICMP,
             {"type": 3, "code": 4, "nexthopmtu": 1400})
    ue_hears("packet too big", s.IPv6(src=UE6, dst=REMOTE6) / s.UDP() / big, s.ICMPv6PacketTooBig,
             {"mtu": 1400})
    big = s.Raw(b"z" * 1440)
    n6_hears("fragmentation needed", s.IP(src=REMOTE, dst=UE, flags="DF") / s.UDP() / big, s.ICMP,
             {"type": 3, "code": 4, "nexthopmtu": 1456})
    n6_hears("packet too big", s.IPv6(src=REMOTE6, dst=UE6) / s.UDP() / big, s.ICMPv6PacketTooBig,
             {"mtu": 1456})
    ue_hears("time exceeded", s.IP(src=UE, dst=REMOTE, ttl=1) / s.UDP(), s.ICMP,
             {"type": 11, "code": 0})
    ue_hears("hop limit exceeded", s.IPv6(src=UE6, dst=REMOTE6, hlim=1) / s.UDP(),
             s.ICMPv6TimeExceeded, {"code": 0})
    n6_hears("time exceeded", s.IP(src=REMOTE, dst=UE, ttl=1) / s.UDP(), s.ICMP,
             {"type": 11, "code": 0})
    n6_hears("hop limit exceeded", s.IPv6(src=REMOTE6, dst=UE6, hlim=1) / s.UDP(),
             s.ICMPv6TimeExceeded, {"code": 0})
    # On the link of N6, and silent: the UPF asks five times, then gives up.
    n3.send(up(s.IP(src=UE, dst="172.30.6.77") / s.UDP()))
    n3.send(up(s.IPv6(src=UE6, dst="fd00:6::77") / s.UDP()))
    errors = [user(n3.take("unreachable")) for _ in range(2)]
    check("the UE hears: host and address unreachable",
          sorted((e.version, bytes(e.payload)[0], bytes(e.payload)[1]) for e in errors),
          [(4, 3, 1), (6, 1, 3)])
    n6.serve(0.01)


def test_fragments(n3, n6, peer, outer):
    payload = bytes(i * 7 & 255 for i in range(1460))
    n6.send(s.IP(src=REMOTE, dst=UE, id=5) / s.UDP(sport=2, dport=1) / payload)
    pieces = [n3.take("fragments into the tunnel") for _ in range(2)]
    if outer:
        check("outer packet in fragments", [x.frag == 0 for x in pieces], [True, False])
        inner = user(s.IP(bytes(s.defragment(s.PacketList(pieces))[0])))
    else:
        check("each fragment has its tunnel", [x[s.UDP].dport for x in pieces], [2152, 2152])
        inner = s.IP(bytes(s.defragment(s.PacketList([user(x) for x in pieces]))[0]))
    check("downlink without DF arrives in fragments",
          (inner.dst, bytes(inner[s.UDP].payload), right_checksum(inner)), (UE, payload, True))
    # The gNB's outer packets in fragments, last one first. (IPv4's the kernel of an af_packet
    # interface puts together; test_link.c has those.)
    whole = up(s.IP(src=UE, dst=REMOTE) / s.UDP(sport=1, dport=2) / (b"q" * 900))
    for piece in reversed(s.fragment(whole, fragsize=400)):
        n3.send(piece)
    check("outer IPv4 fragments are put together",
          bytes(n6.take("reassembled")[s.UDP].payload), b"q" * 900)
    whole = s.IPv6(src=GNB6, dst=N36) / s.IPv6ExtHdrFragment(id=9) / \
        s.UDP(sport=2152, dport=2152) / \
        g_pdu(s.IP(src="10.45.0.6", dst=REMOTE) / s.UDP(sport=1, dport=2) / (b"r" * 900), TEID6)
    for piece in s.fragment6(whole, 600):
        n3.send(piece)
    check("outer IPv6 fragments are put together",
          bytes(n6.take("reassembled")[s.UDP].payload), b"r" * 900)
    # A user's fragments, where the rules look at ports.
    user_packet = s.IP(src="10.45.0.7", dst=REMOTE, id=6) / s.UDP(sport=1, dport=53) / (b"t" * 900)
    for piece in s.fragment(user_packet, fragsize=400):
        n3.send(up(piece, 0x1007))
    check("a user's fragments are put together for rules with ports",
          bytes(n6.take("reassembled")[s.UDP].payload), b"t" * 900)
    drops = peer.drops()["reassembly_timeout"]
    whole[s.IPv6ExtHdrFragment].id = 10
    n3.send(s.fragment6(whole, 600)[0])
    deadline = time.monotonic() + p.PATIENCE
    while peer.drops()["reassembly_timeout"] != drops + 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    check("fragments that never become whole are counted", peer.drops()["reassembly_timeout"], drops + 1)


def test_mss(n3, n6):
    for ip, ue, remote, most in ((s.IP, UE, REMOTE, 1360), (s.IPv6, UE6, REMOTE6, 1340)):
        n3.send(up(ip(src=ue, dst=remote) / s.TCP(flags="S", options=[("MSS", 1460)])))
        got = n6.take("SYN")
        check(f"MSS of a UE's SYN, {ip.__name__}",
              (dict(got[s.TCP].options)["MSS"], right_checksum(got)), (most, True))
        n6.send(ip(src=remote, dst=ue) / s.TCP(
            flags="SA", options=[("NOP", None), ("MSS", 1460), ("WScale", 7)]))
        got = user(n3.take("SYN"))
        check(f"MSS of the answer, {ip.__name__}",
              (dict(got[s.TCP].options)["MSS"], right_checksum(got)), (most, True))


def test_gtpu(n3, n6, peer):
    packet = s.IP(src=UE, dst=REMOTE) / s.UDP(sport=1, dport=2) / b"hello"
    container, ran, unknown = bytes([1, 0x10, 9]), bytes([1, 0, 0]), bytes([1, 0, 0])
    body = {"the container first": [(0x85, container), (0x84, ran)],
            "the container last": [(0x84, ran), (0x20, unknown), (0x85, container)],
            "sequence and N-PDU numbers": []}
    for what, chain in body.items():
        types = [kind for kind, _ in chain] + [0]
        octets = b"\x12\x34\x56" + bytes([types[0]])
        for following, (_, header) in zip(types[1:], chain):
            octets += header + bytes([following])
        octets += bytes(packet)
        flags = 0x37 if chain else 0x33
        n3.send(s.IP(src=GNB, dst=N3) / s.UDP(sport=2152, dport=2152) /
                (struct.pack("!BBHI", flags, 255, len(octets), TEID) + octets))
        check(f"extension headers: {what}",
              bytes(n6.take(what)[s.UDP].payload)[:5], b"hello")
    octets = b"\0\0\0\xc7\1\0\0\0" + bytes(packet)
    n3.send(s.IP(src=GNB, dst=N3) / s.UDP(sport=2152, dport=2152) /
            (struct.pack("!BBHI", 0x34, 255, len(octets), TEID) + octets))
    answer = n3.take("Supported Extension Headers Notification")
    data = bytes(answer[s.UDP].payload)
    check("Supported Extension Headers Notification",
          (data[1], data[4:8], data[12], data[14:14 + data[13]]),
          (31, bytes(4), 141, b"\x85\x40\xc0\x82\x81\x83\x84"))
    drops = peer.drops()
    n3.send(s.IP(src=GNB, dst=N3) / s.UDP(sport=2152, dport=2152) /
            (struct.pack("!BBHI", 0x20, 255, len(packet), TEID) + bytes(packet)))
    for us, them, ip in ((N3, GNB, s.IP), (N36, GNB6, s.IPv6)):
        n3.send(ip(src=them, dst=us) / s.UDP(sport=3333, dport=2152) /
                g.GTP_U_Header(gtp_type=1, S=1, seq=0x55aa) / g.GTPEchoRequest())
        answer = n3.take("Echo Response")
        check(f"Echo Response over {ip.__name__}",
              (answer.src, answer[s.UDP].dport, answer[g.GTP_U_Header].gtp_type,
               answer[g.GTP_U_Header].seq, right_checksum(answer)), (us, 3333, 2, 0x55aa, True))
        peer.transaction(p.echo(them, us, 0x1234))
        asked = n3.take("Echo Request")
        check(f"Echo Request over {ip.__name__}",
              (asked.dst, asked[s.UDP].dport, asked[g.GTP_U_Header].gtp_type,
               asked[g.GTP_U_Header].seq), (them, 2152, 1, 0x1234))
        n3.send(ip(src=them, dst=us) / s.UDP(sport=2152, dport=2152) /
                g.GTP_U_Header(gtp_type=2, S=1, seq=0x1234) / g.GTPEchoResponse())
        event = peer.wait_event(p.EV_ECHO)
        check(f"its answer is an event, {ip.__name__}",
              (event[:len(p.octets(them))], event[32:35]),
              (p.octets(them), struct.pack("=HB", 0x1234, 2 if ip is s.IPv6 else 1)))
        n3.send(ip(src=them, dst=us) / s.UDP(sport=3333, dport=2152) / g_pdu(packet, 0xdead))
        data = bytes(n3.take("Error Indication")[s.UDP].payload)
        check(f"Error Indication over {ip.__name__}", (data[1], data[12:]),
              (26, b"\x01" + struct.pack("!H", 3333) + b"\0\x10" + struct.pack("!I", 0xdead) +
               b"\x85" + struct.pack("!H", len(p.octets(us))) + p.octets(us)))
        n3.send(ip(src=them, dst=us) / s.UDP(sport=2152, dport=2152) /
                (struct.pack("!BBHI", 0x32, 26, 9 + 3 + len(p.octets(them)), 0) + bytes(4) +
                 b"\x10" + struct.pack("!I", GNB_TEID) + b"\x85" +
                 struct.pack("!H", len(p.octets(them))) + p.octets(them)))
        event = peer.wait_event(p.EV_ERROR_IND)
        check(f"an Error Indication is an event, {ip.__name__}",
              (event[:len(p.octets(them))], struct.unpack("=I", event[16:20])[0]),
              (p.octets(them), GNB_TEID))
        peer.transaction(p.end_marker(them, us, GNB_TEID, qfi=9))
        marker = n3.take("End Marker")
        check(f"End Marker of a flow over {ip.__name__}", bytes(marker[s.UDP].payload),
              struct.pack("!BBHI", 0x34, 254, 8, GNB_TEID) + b"\0\0\0\x85\1\0\x09\0")
    n3.send(ip(src=GNB6, dst=N36) / s.UDP(sport=2152, dport=2152, chksum=0x1111) /
            g.GTP_U_Header(gtp_type=1, S=1, seq=1))
    n3.serve(0.1)
    after = peer.drops()
    check("drops by name", {k: after[k] - drops[k] for k in after if after[k] != drops[k]},
          {"malformed_gtpu": 1, "unknown_teid": 2, "malformed_ip": 1})


def test_n9(n3, n9, peer):
    check("a session by N9", peer.transaction(p.session_put(
        9,
        [p.pdr(1, p.ACCESS, 0, teid=0x1009, n3=N3, ue="10.45.0.9"),
         p.pdr(2, p.CORE, 1, teid=N9_TEID, n3=N9)],
        [p.far(1, p.FORW, p.CORE, peer=PSA, local=N9, teid=PSA_TEID),
         p.far(2, p.FORW, p.ACCESS, peer=GNB, local=N3, teid=GNB_TEID)])), (0, 0))
    n3.send(up(s.IP(src="10.45.0.9", dst=REMOTE) / s.UDP() / b"up", 0x1009))
    got = n9.take("N9")
    check("uplink by N9 with its container",
          (got.dst, got[g.GTP_U_Header].teid, got[g.GTPPDUSessionContainer].QFI,
           bytes(user(got)[s.UDP].payload)), (PSA, PSA_TEID, 9, b"up"))
    n9.send(s.IP(src=PSA, dst=N9) / s.UDP(sport=2152, dport=2152) /
            g_pdu(s.IP(src=REMOTE, dst="10.45.0.9") / s.UDP() / b"down", N9_TEID, qfi=0))
    got = n3.take("N3")
    check("downlink from N9 without a container",
          (got[g.GTP_U_Header].teid, got[g.GTP_U_Header].E, bytes(user(got)[s.UDP].payload)),
          (GNB_TEID, 0, b"down"))


def test_vlan(n3, peer):
    drops = peer.drops()["other_vlan"]
    n3.send(up(s.IP(src=UE, dst=REMOTE) / s.UDP()), tag=31)
    deadline = time.monotonic() + p.PATIENCE
    while peer.drops()["other_vlan"] == drops and time.monotonic() < deadline:
        time.sleep(0.01)
    check("a frame of another VLAN", peer.drops()["other_vlan"], drops + 1)


def test_networks(n3, n6, peer):
    vlans = (100, 200, None)
    for network in range(3):
        check(f"a session in network {network}", peer.transaction(p.session_put(
            network,
            [p.pdr(1, p.ACCESS, 0, teid=0x1100 + network, n3=N3, ue=UE, ue6=PREFIX),
             p.pdr(2, p.CORE, 1, ue=UE, ue6=PREFIX)],
            [p.far(1, p.FORW, p.CORE, network=network),
             p.far(2, p.FORW, p.ACCESS, peer=GNB, local=N3, teid=GNB_TEID + network)],
            network=network)), (0, 0))
    for ip, ue, remote in ((s.IP, UE, REMOTE), (s.IPv6, UE6, REMOTE6)):
        for network, vlan in enumerate(vlans):
            n3.send(up(ip(src=ue, dst=remote) / s.UDP(sport=7, dport=7) / b"up", 0x1100 + network))
            got = n6.take("uplink")
            check(f"uplink of network {network} over {ip.__name__}",
                  (n6.vlan, got.src, bytes(got[s.UDP].payload)), (vlan, ue, b"up"))
            n6.send(ip(src=remote, dst=ue) / s.UDP(sport=7, dport=7) / b"down")
            got = n3.take("downlink")
            check(f"downlink of network {network} over {ip.__name__}",
                  (got[g.GTP_U_Header].teid, user(got).dst), (GNB_TEID + network, ue))
            n6.vlan = vlan
            n6.send(ip(src=GATEWAY if ip is s.IP else GATEWAY6, dst=N6 if ip is s.IP else N66) /
                    (s.ICMP(id=3, seq=network) if ip is s.IP else
                     s.ICMPv6EchoRequest(id=3, seq=network)))
            got = n6.take("echo reply")
            check(f"its own address answers in network {network} over {ip.__name__}",
                  (n6.vlan, got.src), (vlan, N6 if ip is s.IP else N66))
    check("a session ends", peer.transaction(p.session_del(1)), (0, 0))
    n6.vlan = 200
    n6.send(s.IP(src=REMOTE, dst=UE) / s.UDP() / b"nobody's")
    n6.vlan = 300
    n6.send(s.IP(src=REMOTE, dst=UE) / s.UDP() / b"of no network")
    n3.serve(0.1)
    drops = peer.drops()
    check("drops by name", {k: v for k, v in drops.items() if v},
          {"unknown_ue": 1, "other_vlan": 1})
    check("devices", [peer.links()[p.constant("PORT_N6") + i] for i in range(3)],
          [p.constant("LINK_UP")] * 3)


def test_run(binary, directory, vlan):
    for name in NAMES.values():
        run("ip", "netns", "add", name)
    for name in ("n3", "n6", "n9"):
        run("ip", "-n", NAMES["upf"], "link", "add", name, "type", "veth", "peer", "name", name,
            "netns", NAMES[name])
        for where in ("upf", name):
            run("ip", "netns", "exec", NAMES[where], "sysctl", "-qw",
                f"net.ipv6.conf.{name}.disable_ipv6=1")
            run("ip", "-n", NAMES[where], "link", "set", name, "up")
    if vlan == "networks":
        links = {"n3": Link("n3", {GNB}), "n6": Trunk("n6", {GATEWAY, GATEWAY6})}
        upf = Upf(binary, directory, NETWORKS)
        try:
            links["n3"].serve(0.3)
            links["n6"].serve(0.3)
            test_networks(links["n3"], links["n6"], upf.peer)
            check("exit status after SIGTERM", upf.stop(), 0)
        except BaseException:
            print(upf.read_log())
            raise
        finally:
            upf.stop()
        return
    links = {"n3": Link("n3", {GNB, GNB6}, vlan), "n6": Link("n6", {GATEWAY, GATEWAY6}, vlan),
             "n9": Link("n9", {PSA})}
    upf = Upf(binary, directory, fragmentation="outer" if vlan else "inner",
              vlan=f", vlan: {vlan}" if vlan else "")
    try:
        n3, n6, peer = links["n3"], links["n6"], upf.peer
        test_announcements(links)
        check("sessions", peer.transaction(
            session(1, TEID, N3, GNB, UE, PREFIX),
            session(2, TEID6, N36, GNB6, "10.45.0.6", "2001:db8:6::/64"),
            session(3, 0x1007, N3, GNB, "10.45.0.7", None, [p.sdf(17, remote_ports=(53, 53))])),
            (0, 0))
        test_own_addresses(n3, n6)
        test_forwarding(n3, n6)
        if vlan:
            test_vlan(n3, peer)
        else:
            test_router_advertisement(n3)
            test_icmp_errors(n3, n6)
            test_mss(n3, n6)
            test_gtpu(n3, n6, peer)
            test_n9(n3, links["n9"], peer)
        test_fragments(n3, n6, peer, outer=vlan is not None)
        check("exit status after SIGTERM", upf.stop(), 0)
    except BaseException:
        print(upf.read_log())
        for counters in (upf.peer.drops(), upf.peer.local()):
            print({k: v for k, v in counters.items() if v})
        raise
    finally:
        upf.stop()


def main():
    binary = os.path.abspath(sys.argv[1])
    if os.geteuid() != 0:
        sys.exit("scapy_test.py: needs root, for network namespaces")
    for vlan in (None, 30, "networks"):
        print({None: "untagged", 30: "tagged"}.get(vlan, vlan))
        directory = tempfile.mkdtemp(prefix="upfs-")
        try:
            test_run(binary, directory, vlan)
        finally:
            shutil.rmtree(directory)
            for name in NAMES.values():
                subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    print(f"{netns_test.passed} passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    main()
