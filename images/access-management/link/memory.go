package link

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Memory joins a terminator and the workers that are in one program with it: a net.Listener for the one, and what the others dial.
type Memory struct {
	dialled chan net.Conn
	over    chan struct{}
	once    sync.Once
}

// NewMemory that nobody has dialled yet.
func NewMemory() *Memory { return &Memory{dialled: make(chan net.Conn), over: make(chan struct{})} }

// memory is the address of its only terminator.
const memory = "memory"

// ErrNoTerminator: the terminator of the program has ended.
var ErrNoTerminator = errors.New("there is no N2 terminator any more")

// Addresses of terminators: there is one.
func (*Memory) Addresses(context.Context) ([]string, error) { return []string{memory}, nil }

// Dial the terminator.
func (m *Memory) Dial(ctx context.Context, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	err := ErrNoTerminator
	select {
	case m.dialled <- there:
		return here, nil
	case <-m.over:
	case <-ctx.Done():
		err = ctx.Err()
	}
	_, _ = here.Close(), there.Close()
	return nil, err
}

// Accept implements net.Listener.
func (m *Memory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.dialled:
		return conn, nil
	case <-m.over:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections that there are go on.
func (m *Memory) Close() error {
	m.once.Do(func() { close(m.over) })
	return nil
}

// Addr implements net.Listener.
func (*Memory) Addr() net.Addr { return memoryAddr{} }

type memoryAddr struct{}

func (memoryAddr) Network() string { return memory }
func (memoryAddr) String() string  { return memory }
