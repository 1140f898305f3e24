package cluster

import (
	"os"
	"syscall"
)

// N2Transport is SCTP where the kernel has it: the nodes of the embedded and the kind provider run
// on this kernel. CORE5G_N2_TRANSPORT decides where they do not.
func N2Transport() string {
	if set := os.Getenv("CORE5G_N2_TRANSPORT"); set != "" {
		return set
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, syscall.IPPROTO_SCTP)
	if err != nil {
		return "SCTPOverUDP"
	}
	syscall.Close(fd)
	return "SCTP"
}
