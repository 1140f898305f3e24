"""A upf-c in miniature: the datagrams of upf_abi.h, for tests of upf-u."""

import array
import ipaddress
import mmap
import pathlib
import re
import socket
import struct

MAGIC, VERSION = 0x35475543, 2
HELLO, TRANSACTION, ANSWER, DUMP, DUMP_END, EVENT = range(1, 7)
SESSION_PUT, SESSION_DEL, SESSION_STATE, META, URR_ARM, END_MARKER, _, ECHO = range(1, 9)
EV_URR, EV_DL_DATA, EV_ERROR_IND, EV_ECHO = range(32, 36)
ACCESS, CORE = 0, 1
PDR_TEID, PDR_N3_IPV6, PDR_UE_IPV4, PDR_UE_IPV6, PDR_QFI, PDR_REMOVE, PDR_SDF = (
    1 << i for i in range(7))
DROP, FORW, BUFF, NOCP = 1, 2, 4, 8
OHC_GTPU4, OHC_GTPU6, OHC_UDP4, OHC_UDP6, OHC_IP4, OHC_IP6 = range(1, 7)
SDF_PROTO, SDF_PORTS = 0x01, 0x08
NONE = 0xffff
NEVER = 2**64 - 1


def addr(text):
    """An IPv4 address as a 32-bit field in network order."""
    return struct.unpack("=I", ipaddress.IPv4Address(text).packed)[0] if text else 0


def octets(text):
    """An address as a upf_addr: IPv4 in the first four octets."""
    return ipaddress.ip_address(text).packed if text else b""


def is_ipv6(text):
    return text is not None and ":" in text


def pdr(pdr_id, source, far, teid=None, n3=None, ue=None, ue6=None, qer=(), urr=(),
        precedence=255, qfi=0, removal=None, sdf=None, sdf6=None):
    """ue6: a prefix such as 2001:db8:1::/64. sdf, sdf6: (first, count) of the session's filters."""
    flags = (PDR_TEID | PDR_REMOVE if teid is not None else 0) | (PDR_UE_IPV4 if ue else 0)
    flags |= (PDR_QFI if qfi else 0) | (PDR_N3_IPV6 if is_ipv6(n3) else 0)
    flags |= (PDR_UE_IPV6 if ue6 else 0) | (PDR_SDF if sdf or sdf6 else 0)
    flags |= PDR_REMOVE if removal is not None else 0
    prefix, _, length = (ue6 or "::/0").partition("/")
    if removal is None:
        removal = 1 if is_ipv6(n3) else 0
    return struct.pack(
        "=IHBB16sII16sBBBBBxHHHHH4H8H", precedence, pdr_id, source, flags, octets(n3), teid or 0,
        addr(ue), octets(prefix), int(length), removal, qfi, len(qer), len(urr), far,
        *(sdf or (0, 0)), *(sdf6 or (0, 0)),
        *(list(qer) + [0] * (4 - len(qer))), *(list(urr) + [0] * (8 - len(urr))))


def far(far_id, action, destination, peer=None, local=None, teid=0, ohc=None, port=2152):
    if ohc is None:
        ohc = 0 if peer is None else OHC_GTPU6 if is_ipv6(peer) else OHC_GTPU4
    return struct.pack(
        "=IBBBBBBHI16s16sHHHHH6x", far_id, action, destination, 0, ohc, 0, 0,
        port if peer else 0, teid, octets(peer), octets(local), NONE, 0, 0, 0, 0)


def sdf(proto, remote_ports=(0, 65535), local_ports=(0, 65535)):
    """Any addresses, this protocol, these ports."""
    return struct.pack("=IIIIHHHHIBBBB", 0, 0, 0, 0, *remote_ports, *local_ports, 0,
                       SDF_PROTO | SDF_PORTS, proto, 0, 0)


def sdf6(proto, remote_ports=(0, 65535), local_ports=(0, 65535)):
    return struct.pack("=16s16sBB2xIHHHHIBBBB", b"", b"", 0, 0, 0, *remote_ports, *local_ports, 0,
                       SDF_PROTO | SDF_PORTS, proto, 0, 0)


def qer(qer_id, slot, qfi=0, mbr_ul=None, mbr_dl=None, closed=0):
    flags = closed | (4 if mbr_ul is not None else 0)
    return struct.pack("=IIQQQQIBBBB", qer_id, slot, mbr_ul or 0, mbr_dl or 0, 0, 0, 0, flags, qfi,
                       0, 0)


def urr(urr_id, slot):
    return struct.pack("=IIHB5x", urr_id, slot, NONE, 0)


def record(kind, body):
    body += bytes(-len(body) % 8)
    return struct.pack("=HHI", kind, 0, 8 + len(body)) + body


def session_put(session, pdrs, fars, qers=(), urrs=(), blob=b"", sdfs=(), sdf6s=()):
    head = struct.pack("=IIHHHHHHHH", session, len(blob), len(pdrs), len(fars), len(qers),
                       len(urrs), len(sdfs), len(sdf6s), 0, 0)
    return record(SESSION_PUT,
                  head + b"".join([*pdrs, *fars, *qers, *urrs, *sdfs, *sdf6s]) + blob)


def session_del(session):
    return record(SESSION_DEL, struct.pack("=II", session, 0))


def meta(blob):
    return record(META, struct.pack("=II", 0, len(blob)) + blob)


def urr_arm(slot, session, total=NEVER, ul=NEVER, dl=NEVER):
    return record(URR_ARM, struct.pack("=IIQQQQQQII", slot, session, total, ul, dl, NEVER, NEVER,
                                       NEVER, 0, 0))


def end_marker(peer, local, teid, qfi=0):
    return record(END_MARKER, struct.pack("=16s16sIHBB", octets(peer), octets(local), teid, 2152,
                                          OHC_GTPU6 if is_ipv6(peer) else OHC_GTPU4, qfi))


def echo(peer, local, sequence):
    return record(ECHO, struct.pack("=16s16sHB5x", octets(peer), octets(local), sequence,
                                    OHC_GTPU6 if is_ipv6(peer) else OHC_GTPU4))


with open(pathlib.Path(__file__).parents[2] / "abi" / "upf_abi.h", encoding="ascii") as header:
    ABI = header.read()
# What the header names is named here as there.
DROPS = re.findall(r'X\(\w+,[\s\\]*"(\w+)"', ABI)
LOCAL = re.findall(r"\w+(?=[,;])", re.sub(r"//.*|uint64_t reserved.*", "", re.search(
    r"struct upf_local_stats {(.*?)};", ABI, re.DOTALL).group(1)))


class Peer:
    """One connection to upf-u."""

    def __init__(self, path, timeout=5):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.seq = 0
        self.events = []

    def close(self):
        self.socket.close()

    def send(self, op, records=()):
        self.seq += 1
        body = b"".join(records)
        self.socket.send(struct.pack("=IHHIIiIII", MAGIC, VERSION, op, self.seq, 32 + len(body),
                                     0, 0, len(records), 0) + body)

    def receive(self):
        """op, status, refused record, body of the next datagram that is not an event."""
        while True:
            data = self.socket.recv(256 * 1024)
            if not data:
                raise EOFError("upf-u closed the connection")
            _, _, op, seq, length, status, refused, records, _ = struct.unpack_from("=IHHIIiIII",
                                                                                 data)
            assert length == len(data), (length, len(data))
            if op == EVENT:
                self._keep(data[32:], records)
                continue
            assert seq in (self.seq, 0)
            return op, status, refused, data[32:]

    def _keep(self, body, records):
        for _ in range(records):
            kind, _, length = struct.unpack_from("=HHI", body)
            self.events.append((kind, body[8:length]))
            body = body[length:]

    def wait_event(self, kind):
        """The body of the next event of this kind."""
        while True:
            for i, (found, body) in enumerate(self.events):
                if found == kind:
                    del self.events[i]
                    return body
            data = self.socket.recv(256 * 1024)
            if not data:
                raise EOFError("upf-u closed the connection")
            _, _, op, _, _, _, _, records, _ = struct.unpack_from("=IHHIIiIII", data)
            assert op == EVENT, op
            self._keep(data[32:], records)

    def transaction(self, *records):
        """(errno, index of the refused record)"""
        self.send(TRANSACTION, records)
        op, status, refused, _ = self.receive()
        assert op == ANSWER, op
        return status, refused

    def dump(self):
        """List of (record type, session, blob)."""
        self.send(DUMP)
        found = []
        while True:
            op, _, _, body = self.receive()
            if op == DUMP_END:
                return found
            while body:
                kind, _, length, session, blob_len = struct.unpack_from("=HHIII", body)
                found.append((kind, session, body[16:16 + blob_len]))
                body = body[length:]

    def hello(self):
        """Maps the segment; returns boot_id, sessions_max, sessions."""
        self.send(HELLO)
        descriptors = array.array("i")
        data, ancillary, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(4))
        for _, _, payload in ancillary:
            descriptors.frombytes(payload[:4])
        boot_id, size, sessions_max, _, _, sessions = struct.unpack_from("=QQIIII", data, 32)
        self.shm = mmap.mmap(descriptors[0], size, prot=mmap.PROT_READ)
        return boot_id, sessions_max, sessions

    def _u64(self, offset):
        return struct.unpack_from("=Q", self.shm, offset)[0]

    def _sums(self, offset, names):
        """64-bit counters of all workers, added up."""
        at, workers = self._u64(24), struct.unpack_from("=I", self.shm, 40)[0]
        return {name: sum(self._u64(at + worker * 1024 + offset + 8 * i) for worker in range(workers))
                for i, name in enumerate(names)}

    def worker(self, index):
        """What one worker says of itself."""
        names = ("lcore", "cycles_busy", "cycles_idle", "polls", "polls_empty")
        at = self._u64(24) + index * 1024
        return {name: self._u64(at + 8 * i) for i, name in enumerate(names)}

    def drops(self):
        return self._sums(512, DROPS)

    def local(self):
        return self._sums(160, LOCAL)

    def urr(self, slot):
        """(UL octets, UL packets, DL octets, DL packets)"""
        at = self._u64(32) + slot // 2 * 128 + 16 + slot % 2 * 24
        return tuple(self._u64(at + o) for o in (0, 8, 64, 72))
