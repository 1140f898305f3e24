package measure

// The throughput protocol, over TCP. The client sends one line,
//
//	core5g-throughput 1 up|down <milliseconds>\n
//
// Up: the client sends for that time and shuts its side down; the server answers one line of JSON,
// {"octets": …, "seconds": …}, of what it received. Down: the server sends for that time and closes;
// the client counts. Whoever receives measures, from the first octet to the last.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ThroughputPort is where the data network's server listens.
const ThroughputPort = 5201

const (
	throughputMagic = "core5g-throughput 1"
	maxThroughput   = 10 * time.Minute
	chunk           = 128 << 10
)

// ThroughputResult is what the receiver saw.
type ThroughputResult struct {
	To        string  `json:"to"`
	From      string  `json:"from,omitempty"`
	Via       string  `json:"via"`
	Direction string  `json:"direction"`
	Octets    int64   `json:"octets"`
	Seconds   float64 `json:"seconds"`
	Mbps      float64 `json:"throughput_mbps"`
}

type count struct {
	Octets  int64   `json:"octets"`
	Seconds float64 `json:"seconds"`
}

func (r *ThroughputResult) set(c count) error {
	if c.Octets == 0 || c.Seconds <= 0 {
		return errors.New("nothing was received")
	}
	r.Octets, r.Seconds = c.Octets, round(c.Seconds)
	r.Mbps = round(float64(c.Octets) * 8 / c.Seconds / 1e6)
	return nil
}

// receive counts until the other side has ended.
func receive(r io.Reader) (count, error) {
	var c count
	b := make([]byte, chunk)
	var first, last time.Time
	for {
		n, err := r.Read(b)
		if n > 0 {
			last = time.Now()
			if c.Octets == 0 {
				first = last
			}
			c.Octets += int64(n)
		}
		if err != nil {
			c.Seconds = last.Sub(first).Seconds()
			if errors.Is(err, io.EOF) {
				return c, nil
			}
			return c, err
		}
	}
}

// send writes for a time.
func send(w net.Conn, d time.Duration) error {
	b := make([]byte, chunk)
	end := time.Now().Add(d)
	// What is on its way at the end has to drain; a path that stands still does not hold us for ever.
	if err := w.SetWriteDeadline(end.Add(10 * time.Second)); err != nil {
		return err
	}
	for time.Now().Before(end) {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// Dialer connects TCP from a UE: bound to its device, with its address as the source.
func Dialer(from netip.Addr, device string) *net.Dialer {
	d := &net.Dialer{Timeout: 5 * time.Second}
	if from.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: from.AsSlice()}
	}
	if device != "" {
		d.Control = func(_, _ string, c syscall.RawConn) error {
			var bindErr error
			if err := c.Control(func(fd uintptr) { bindErr = unix.BindToDevice(int(fd), device) }); err != nil {
				return err
			}
			return bindErr
		}
	}
	return d
}

// DialFunc is net.Dialer's DialContext.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Throughput measures one direction against a server.
func Throughput(ctx context.Context, dial DialFunc, to netip.AddrPort, direction string, length time.Duration) (ThroughputResult, error) {
	res := ThroughputResult{To: to.String(), Direction: direction}
	if direction != "up" && direction != "down" {
		return res, fmt.Errorf("direction %q is not up or down", direction)
	}
	if length <= 0 || length > maxThroughput {
		return res, fmt.Errorf("%s is not a length; at most %s", length, maxThroughput)
	}
	conn, err := dial(ctx, "tcp", to.String())
	if err != nil {
		return res, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := fmt.Fprintf(conn, "%s %s %d\n", throughputMagic, direction, length.Milliseconds()); err != nil {
		return res, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(length + 15*time.Second)); err != nil {
		return res, err
	}
	if direction == "down" {
		c, err := receive(conn)
		if err != nil {
			return res, err
		}
		return res, res.set(c)
	}
	if err := send(conn, length); err != nil {
		return res, err
	}
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return res, errors.New("the connection cannot be closed on one side")
	}
	if err := half.CloseWrite(); err != nil {
		return res, err
	}
	var c count
	if err := json.NewDecoder(io.LimitReader(conn, 4096)).Decode(&c); err != nil {
		return res, fmt.Errorf("the server's count: %w", err)
	}
	return res, res.set(c)
}

// ServeThroughput answers clients until the listener is closed.
func ServeThroughput(l net.Listener, log *slog.Logger) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		go func() {
			defer conn.Close()
			if err := serveThroughput(conn); err != nil {
				log.Warn("throughput client", "from", conn.RemoteAddr(), "err", err)
			}
		}()
	}
}

func serveThroughput(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	r := bufio.NewReaderSize(conn, chunk)
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), throughputMagic+" ")
	var direction string
	var ms int64
	if n, _ := fmt.Sscanf(rest, "%s %d", &direction, &ms); !ok || n != 2 {
		return errors.New("not a throughput client")
	}
	length := time.Duration(ms) * time.Millisecond
	if length <= 0 || length > maxThroughput {
		return fmt.Errorf("a length of %s", length)
	}
	switch direction {
	case "down":
		return send(conn, length)
	case "up":
		if err := conn.SetReadDeadline(time.Now().Add(length + 15*time.Second)); err != nil {
			return err
		}
		c, err := receive(r)
		if err != nil {
			return err
		}
		return json.NewEncoder(conn).Encode(c)
	}
	return fmt.Errorf("direction %q", direction)
}
