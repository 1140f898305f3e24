"""A upf-c in miniature: the datagrams of upf_abi.h, for tests of upf-u."""

import array
import ipaddress
import mmap
import pathlib
import re
import socket
import struct

with open(pathlib.Path(__file__).parents[2] / "abi" / "upf_abi.h", encoding="ascii") as header:
    ABI = header.read()
CODE = re.sub(r"//.*", "", ABI)  # what the header names is named here as there

# The header's constants: #defines and enumerators with values.
CONSTANTS = {name: int(value, 0) for name, value in re.findall(
    r"(?:#define\s+)?\b(UPF_\w+)\s+(?:=\s*)?\\?\s*(0x[0-9a-fA-F]+|\d+)u?\b", CODE)}


def constant(name):
    return CONSTANTS["UPF_" + name]


class Struct:
    """A struct of the header, as the compiler lays it out."""

    SCALARS = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "uint64_t": 8}
    named = {}

    def __init__(self, name, body):
        self.fields, self.size, self.align = {}, 0, 1  # name: (offset, size of one, how many)
        for statement in body.split(";"):
            match = re.match(r"\s*(?:struct\s+)?(\w+)\s+(.*)", statement, re.DOTALL)
            if not match:
                continue
            if match[1] == "upf_addr":
                size, align = 16, 1
            elif match[1] in self.SCALARS:
                size = align = self.SCALARS[match[1]]
            else:
                size, align = self.named[match[1]].size, self.named[match[1]].align
            for field in match[2].split(","):
                field, _, count = field.strip().rstrip("]").partition("[")
                count = 1 if not count else CONSTANTS.get(count) or int(count)
                at = -(-self.size // align) * align
                self.fields[field] = (at, size, count)
                self.size = at + size * count
                self.align = max(self.align, align)
        self.size = -(-self.size // self.align) * self.align
        self.named[name] = self

    def pack(self, **values):
        """Numbers, octets, or a list of numbers; what is not given is 0."""
        out = bytearray(self.size)
        for name, value in values.items():
            at, size, count = self.fields[name]
            value = [value] if isinstance(value, (int, bytes)) else list(value)
            assert len(value) <= count, name
            for i, v in enumerate(value):
                if isinstance(v, int):
                    v = v.to_bytes(size, "little", signed=v < 0)
                assert len(v) <= size, name
                out[at + i * size:at + i * size + len(v)] = v
        return bytes(out)

    def read(self, octets, name, at=0, index=0):
        """A number, of a struct that begins at `at`."""
        offset, size, _ = self.fields[name]
        begin = at + offset + index * size
        return int.from_bytes(octets[begin:begin + size], "little")


for _name, _body in re.findall(r"^struct (\w+) {(.*?)^};", CODE, re.DOTALL | re.MULTILINE):
    Struct(_name, _body)
for _name, _size in re.findall(r"static_assert\(sizeof\(struct (\w+)\) == (\d+)", CODE):
    assert Struct.named[_name].size == int(_size), _name
MSG, RECORD, SHM = (Struct.named["upf_" + n] for n in ("msg", "record", "shm"))
WORKER, DROP_STATS = Struct.named["upf_worker_stats"], Struct.named["upf_drop_stats"]

MAGIC, VERSION = constant("ABI_MAGIC"), constant("ABI_VERSION")
HELLO, TRANSACTION, ANSWER, DUMP, DUMP_END, EVENT = (
    constant("OP_" + n) for n in ("HELLO", "TRANSACTION", "ANSWER", "DUMP", "DUMP_END", "EVENT"))
SESSION_PUT, SESSION_DEL, SESSION_STATE, META, URR_ARM, END_MARKER, ECHO = (
    constant("REC_" + n) for n in (
        "SESSION_PUT", "SESSION_DEL", "SESSION_STATE", "META", "URR_ARM", "END_MARKER", "ECHO"))
EV_URR, EV_DL_DATA, EV_ERROR_IND, EV_ECHO = (
    constant("REC_EV_" + n) for n in ("URR", "DL_DATA", "ERROR_IND", "ECHO"))
ACCESS, CORE = constant("IF_ACCESS"), constant("IF_CORE")
PDR_TEID, PDR_N3_IPV6, PDR_UE_IPV4, PDR_UE_IPV6, PDR_QFI, PDR_REMOVE, PDR_SDF = (
    constant("PDR_" + n) for n in (
        "TEID", "N3_IPV6", "UE_IPV4", "UE_IPV6", "QFI", "REMOVE", "SDF"))
DROP, FORW, BUFF, NOCP = (constant("FAR_" + n) for n in ("DROP", "FORW", "BUFF", "NOCP"))
OHC_GTPU4, OHC_GTPU6, OHC_UDP4, OHC_UDP6, OHC_IP4, OHC_IP6 = (
    constant("OHC_" + n) for n in ("GTPU4", "GTPU6", "UDP4", "UDP6", "IP4", "IP6"))
PATIENCE = 20  # seconds that what must come is waited for: the machine may be busy
NONE = constant("NONE16")
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
    (sdf_first, sdf_count), (sdf6_first, sdf6_count) = sdf or (0, 0), sdf6 or (0, 0)
    return Struct.named["upf_pdr"].pack(
        precedence=precedence, pdr_id=pdr_id, source_interface=source, flags=flags,
        n3_addr=octets(n3), teid=teid or 0, ue_addr_be=addr(ue), ue_prefix=octets(prefix),
        ue_prefix_len=int(length), removal=removal, qfi=qfi, n_qer=len(qer), n_urr=len(urr),
        far=far, sdf_first=sdf_first, sdf_count=sdf_count, sdf6_first=sdf6_first,
        sdf6_count=sdf6_count, qer=qer, urr=urr)


def far(far_id, action, destination, peer=None, local=None, teid=0, ohc=None, port=2152,
        network=0):
    if ohc is None:
        ohc = 0 if peer is None else OHC_GTPU6 if is_ipv6(peer) else OHC_GTPU4
    return Struct.named["upf_far"].pack(
        far_id=far_id, action=action, destination_interface=destination, ohc=ohc,
        peer_port=port if peer else 0, teid=teid, peer_addr=octets(peer),
        local_addr=octets(local), bar=NONE, network=network)


def _sdf(name, proto, remote_ports, local_ports):
    return Struct.named[name].pack(
        remote_port_lo=remote_ports[0], remote_port_hi=remote_ports[1],
        local_port_lo=local_ports[0], local_port_hi=local_ports[1],
        flags=constant("SDF_PROTO") | constant("SDF_PORTS"), proto=proto)


def sdf(proto, remote_ports=(0, 65535), local_ports=(0, 65535)):
    """Any addresses, this protocol, these ports."""
    return _sdf("upf_sdf", proto, remote_ports, local_ports)


def sdf6(proto, remote_ports=(0, 65535), local_ports=(0, 65535)):
    return _sdf("upf_sdf6", proto, remote_ports, local_ports)


def qer(qer_id, slot, qfi=0, mbr_ul=None, mbr_dl=None, closed=0):
    flags = closed | (constant("QER_MBR") if mbr_ul is not None else 0)
    return Struct.named["upf_qer"].pack(qer_id=qer_id, slot=slot, mbr_ul=mbr_ul or 0,
                                        mbr_dl=mbr_dl or 0, flags=flags, qfi=qfi)


def urr(urr_id, slot):
    return Struct.named["upf_urr"].pack(urr_id=urr_id, slot=slot, quota_far=NONE)


def record(kind, name, body=b"", **values):
    """A record that begins with a struct of the header, padded."""
    octets_ = Struct.named[name].pack(**values)[RECORD.size:] + body
    octets_ += bytes(-len(octets_) % 8)
    return RECORD.pack(type=kind, length=RECORD.size + len(octets_)) + octets_


def session_put(session, pdrs, fars, qers=(), urrs=(), blob=b"", sdfs=(), sdf6s=(), group=0,
                network=0):
    return record(SESSION_PUT, "upf_session_put",
                  b"".join([*pdrs, *fars, *qers, *urrs, *sdfs, *sdf6s]) + blob,
                  session=session, blob_len=len(blob), n_pdr=len(pdrs), n_far=len(fars),
                  n_qer=len(qers), n_urr=len(urrs), n_sdf=len(sdfs), n_sdf6=len(sdf6s),
                  group=group, network=network)


def session_del(session):
    return record(SESSION_DEL, "upf_session_ref", session=session)


def meta(blob):
    return record(META, "upf_session_ref", blob, blob_len=len(blob))


def urr_arm(slot, session, total=NEVER, ul=NEVER, dl=NEVER):
    return record(URR_ARM, "upf_urr_arm", slot=slot, session=session, total=total, ul=ul, dl=dl,
                  quota_total=NEVER, quota_ul=NEVER, quota_dl=NEVER)


def _gtpu(peer):
    return OHC_GTPU6 if is_ipv6(peer) else OHC_GTPU4


def end_marker(peer, local, teid, qfi=0, session=0):
    return record(END_MARKER, "upf_end_marker", peer_addr=octets(peer), local_addr=octets(local),
                  session=session, teid=teid, peer_port=2152, ohc=_gtpu(peer), qfi=qfi)


def echo(peer, local, sequence):
    return record(ECHO, "upf_echo", peer_addr=octets(peer), local_addr=octets(local),
                  sequence=sequence, ohc=_gtpu(peer))


DROPS = re.findall(r'X\(\w+,[\s\\]*"(\w+)"', ABI)
LOCAL = [name for name in Struct.named["upf_local_stats"].fields if name != "reserved"]


class Peer:
    """One connection to upf-u."""

    def __init__(self, path, timeout=PATIENCE):
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
        self.socket.send(MSG.pack(magic=MAGIC, version=VERSION, op=op, seq=self.seq,
                                  length=MSG.size + len(body), records=len(records)) + body)

    def receive(self):
        """op, status, refused record, body of the next datagram that is not an event."""
        while True:
            data = self.socket.recv(256 * 1024)
            if not data:
                raise EOFError("upf-u closed the connection")
            op = MSG.read(data, "op")
            assert MSG.read(data, "length") == len(data), len(data)
            if op == EVENT:
                self._keep(data)
                continue
            assert MSG.read(data, "seq") in (self.seq, 0)
            return op, MSG.read(data, "status"), MSG.read(data, "record"), data[MSG.size:]

    def _keep(self, data):
        body = data[MSG.size:]
        for _ in range(MSG.read(data, "records")):
            length = RECORD.read(body, "length")
            self.events.append((RECORD.read(body, "type"), body[RECORD.size:length]))
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
            assert MSG.read(data, "op") == EVENT, MSG.read(data, "op")
            self._keep(data)

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
                ref = Struct.named["upf_session_ref"]
                blob = body[ref.size:ref.size + ref.read(body, "blob_len")]
                found.append((RECORD.read(body, "type"), ref.read(body, "session"), blob))
                body = body[RECORD.read(body, "length"):]

    def hello(self):
        """Maps the segment; returns boot_id, sessions_max, sessions."""
        self.send(HELLO)
        descriptors = array.array("i")
        data, ancillary, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(4))
        for _, _, payload in ancillary:
            descriptors.frombytes(payload[:4])
        said = Struct.named["upf_hello"]
        self.shm = mmap.mmap(descriptors[0], said.read(data, "shm_size", MSG.size),
                             prot=mmap.PROT_READ)
        return tuple(said.read(data, name, MSG.size)
                     for name in ("boot_id", "sessions_max", "sessions"))

    def _workers(self):
        """Where each worker's statistics begin."""
        at = SHM.read(self.shm, "workers_offset")
        return [at + i * WORKER.size for i in range(SHM.read(self.shm, "workers"))]

    def worker(self, index):
        """What one worker says of itself."""
        names = ("lcore", "cycles_busy", "cycles_idle", "polls", "polls_empty")
        return {name: WORKER.read(self.shm, name, self._workers()[index]) for name in names}

    def _drops(self, tables):
        return {name: sum(DROP_STATS.read(self.shm, "reason", at, i) for at in tables)
                for i, name in enumerate(DROPS)}

    def drops(self):
        """By reason, of all workers and interfaces."""
        at, size, ports = WORKER.fields["drops"]
        return self._drops([w + at + i * size for w in self._workers() for i in range(ports)])

    def group_drops(self, group):
        at, groups = SHM.read(self.shm, "groups_offset"), constant("GROUPS")
        return self._drops([at + (w * groups + group) * DROP_STATS.size
                            for w in range(len(self._workers()))])

    def local(self):
        at = WORKER.fields["local"][0]
        return {name: sum(Struct.named["upf_local_stats"].read(self.shm, name, w + at)
                          for w in self._workers()) for name in LOCAL}

    def missed(self):
        """Frames lost before a worker could take them, by enum upf_port."""
        at, link = SHM.read(self.shm, "links_offset"), Struct.named["upf_link_state"]
        return [link.read(self.shm, "missed", at + i * link.size)
                for i in range(constant("PORTS"))]

    def links(self):
        """enum upf_link by enum upf_port."""
        at, link = SHM.read(self.shm, "links_offset"), Struct.named["upf_link_state"]
        return [link.read(self.shm, "state", at + i * link.size)
                for i in range(constant("PORTS"))]

    def gateways(self, port):
        """(enum upf_gateway, losses) of an interface's gateways: two of IPv4, two of IPv6."""
        gateway, n = Struct.named["upf_gateway_state"], constant("GATEWAYS")
        at = SHM.read(self.shm, "gateways_offset") + port * n * gateway.size
        return [tuple(gateway.read(self.shm, name, at + i * gateway.size)
                      for name in ("state", "losses")) for i in range(n)]

    def urr(self, slot):
        """(UL octets, UL packets, DL octets, DL packets)"""
        pair, line = Struct.named["upf_slot_pair"], Struct.named["upf_slot_line"]
        slots, counter = constant("LINE_SLOTS"), Struct.named["upf_urr_counter"]
        at = SHM.read(self.shm, "pairs_offset") + slot // slots * pair.size + \
            line.fields["urr"][0] + slot % slots * counter.size
        return tuple(counter.read(self.shm, name, at + direction * line.size)
                     for direction in range(2) for name in ("bytes", "packets"))
