package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/e2e/ran/tun"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "trunk:", err)
		os.Exit(1)
	}
}

func run() error {
	tap := flag.String("tap", "", "TAP `interface` that exists, on the bridge of the untagged side")
	vlan := flag.Uint("vlan", 0, "`id` of the VLAN, 1 to 4094")
	local := flag.String("local", "", "`path` of the Unix socket that the server sends to")
	server := flag.String("server", "", "`path` of the server's")
	pid := flag.String("pid", "", "`file` for the number of this process, written when it is ready")
	flag.Parse()
	if *tap == "" || *local == "" || *server == "" || *vlan < 1 || *vlan > 4094 {
		flag.Usage()
		return errors.New("give -tap, -vlan 1 to 4094, -local and -server")
	}
	bridge, err := tun.Interface(*tap, unix.IFF_TAP)
	if err != nil {
		return err
	}
	defer bridge.Close()
	if err := os.Remove(*local); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: *local, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer socket.Close()
	if *pid != "" {
		if err := os.WriteFile(*pid, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return err
		}
	}
	end := make(chan error, 2)
	go func() {
		end <- forward(toServer{socket, &net.UnixAddr{Name: *server, Net: "unixgram"}}, bridge, uint16(*vlan), tagged)
	}()
	go func() { end <- forward(bridge, socket, uint16(*vlan), untagged) }()
	return <-end
}

// toServer finds QEMU by its path with each frame: it makes the socket anew when it starts again.
type toServer struct {
	socket *net.UnixConn
	server *net.UnixAddr
}

func (s toServer) Write(frame []byte) (int, error) { return s.socket.WriteToUnix(frame, s.server) }
