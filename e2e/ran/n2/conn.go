package n2

import (
	"context"
	"io"
	"sync"
)

// Conn is one association of N2 that keeps message boundaries. Send may be called from several
// goroutines; Recv from one. Recv returns io.EOF when the peer has ended the association.
type Conn interface {
	Send(stream uint16, msg []byte) error
	Recv() ([]byte, error)
	Close() error
}

// Dialer sets up an association with an AMF at "host:port".
type Dialer func(ctx context.Context, address string) (Conn, error)

// pipeEnd is one end of an association in memory.
type pipeEnd struct {
	out  chan<- []byte
	in   <-chan []byte
	done chan struct{} // closed by either end
	once *sync.Once
}

// Pipe joins two ends in memory: what one sends, the other receives, in order.
func Pipe() (Conn, Conn) {
	ab, ba := make(chan []byte, 64), make(chan []byte, 64)
	done, once := make(chan struct{}), &sync.Once{}
	return &pipeEnd{out: ab, in: ba, done: done, once: once}, &pipeEnd{out: ba, in: ab, done: done, once: once}
}

func (p *pipeEnd) Send(_ uint16, msg []byte) error {
	select {
	case <-p.done:
		return io.ErrClosedPipe
	case p.out <- append([]byte(nil), msg...):
		return nil
	}
}

func (p *pipeEnd) Recv() ([]byte, error) {
	select {
	case msg := <-p.in:
		return msg, nil
	case <-p.done:
		return nil, io.EOF
	}
}

func (p *pipeEnd) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}
