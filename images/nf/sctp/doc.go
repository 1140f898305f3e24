// Package sctp carries N2 (NGAP over SCTP, TS 38.412) for the AMF and for the simulated gNB with the
// Go API of github.com/free5gc/sctp, over one of two transports chosen when the program starts:
//
//   - kernel: one-to-one style SCTP sockets of the Linux kernel (RFC 6458);
//   - udp: SCTP in UDP datagrams (RFC 6951) for kernels without SCTP. The UDP port is the SCTP port of
//     the listener, so N2 stays at port 38412.
//
// SCTP_TRANSPORT=kernel|udp chooses; unset, the kernel's SCTP is used where a socket of it can be made.
//
// Behind both stand the same three types: SCTPListener, SCTPConn and SCTPAddr. Errors of SCTPRead and
// AcceptSCTP are bare values (io.EOF, syscall.EAGAIN, syscall.EBADF …), because callers compare them
// with ==. PPIDs are passed in network byte order, as the kernel's sndrcvinfo does: NGAP is 0x3c000000
// on a little-endian machine.
package sctp
