package store

// What upf-c knows survives it in a file (state.file, in Kubernetes on the pod's emptyDir in memory), for
// the case that upf-u, which keeps the same, dies with it. Nothing is written twice: the cells in which the
// sessions' blobs lie (slab.go) are the file's pages.
//
//	header | a word for each session | a word for each deletion of late | chunks of cells
//
// A word names a cell and the life of upf-u to whose counters its meters refer. A blob is put into a free
// cell whole before its word is stored, in one piece, and the cell before it becomes free after that: at
// whichever instruction upf-c is killed, each word names a whole blob. Nobody else writes; the next upf-c
// reads (Open), and writes a file of its own, which takes the old one's name once it has all.
//
// The file is only as good as its machine's memory: it is not believed after a reboot, nor when upf-c was
// away for longer than CP functions are waited for.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/upfc/state"
)

const (
	keptMagic  = 0x4370754735_3143 // "C15Gup C"
	keptLayout = 1
	keptAlign  = 4096
	// endedMax is how many deletions of late are known: more than can be under way at once.
	endedMax = 4096
)

// keptHeader begins the file. What changes is stored in one piece.
type keptHeader struct {
	magic    uint64
	layout   uint32
	version  uint32   // of the blobs
	machine  [36]byte // the kernel's boot_id
	sessions uint32
	life     uint64      // the present one of upf-u
	alive    int64       // Unix seconds: when upf-c last was
	meta     uint64      // word of META
	boots    [256]uint64 // boot id by life
}

// Word names a cell: its unit, the length of the blob and a life. 0: none; a length is never 0.
type Word uint64

func wordOf(unit, length uint32, life uint8) Word {
	return Word(uint64(unit)<<32 | uint64(length)<<8 | uint64(life))
}

func (w Word) unit() uint32   { return uint32(w >> 32) }
func (w Word) length() uint32 { return uint32(w) >> 8 }

// Life is the life of upf-u to whose counters the meters refer.
func (w Word) Life() uint8 { return uint8(w) }

// keptTables is where header and words lie in the octets at the file's beginning.
func keptTables(b []byte, sessions uint32) (h *keptHeader, table, ended []uint64) {
	h = (*keptHeader)(unsafe.Pointer(&b[0]))
	table = unsafe.Slice((*uint64)(unsafe.Pointer(&b[keptAlign])), sessions)
	ended = unsafe.Slice((*uint64)(unsafe.Pointer(&b[keptAlign+8*int(sessions)])), endedMax)
	return h, table, ended
}

// keptChunks is where the chunks begin.
func keptChunks(sessions uint32) int64 {
	return (keptAlign + 8*(int64(sessions)+endedMax) + keptAlign - 1) &^ (keptAlign - 1)
}

// machineBoot changes with every start of the machine.
func machineBoot() (id [36]byte) {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	copy(id[:], b)
	return id
}

// File is the file that is written. Its methods are the store's, under the store's lock; those of a nil one do
// nothing.
type File struct {
	path     string
	f        *os.File
	b        []byte // header and words
	header   *keptHeader
	table    []uint64
	ended    []uint64
	chunksAt int64
	outside  map[uint32]bool // chunks for which the file had no room
	full     error           // why
}

// Create makes the file under a name of its own; commit gives it its name.
func Create(path string, sessions uint32, now time.Time) (k *File, err error) {
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path + ".new")
			_ = f.Close()
		}
	}()
	size := keptChunks(sessions)
	if err := reserve(f, 0, size); err != nil {
		return nil, fmt.Errorf("room for %d octets: %w", size, err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	k = &File{path: path, f: f, b: b, chunksAt: size, outside: map[uint32]bool{}}
	k.header, k.table, k.ended = keptTables(b, sessions)
	k.header.magic, k.header.layout, k.header.version = keptMagic, keptLayout, state.Version
	k.header.machine, k.header.sessions = machineBoot(), sessions
	k.stamp(now)
	return k, nil
}

// reserve makes a new part of a file room that there is for certain: a page that cannot be had when it is
// written to would be a SIGBUS.
func reserve(f *os.File, at, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, at, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return reserveByWriting(f, at, size)
	}
	return err
}

// reserveByWriting is reserve for file systems that have no other way.
func reserveByWriting(f *os.File, at, size int64) error {
	zero := make([]byte, 64*1024)
	for end := at + size; at < end; {
		n, err := f.WriteAt(zero[:min(int64(len(zero)), end-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// commit gives the file its name, in place of the one that an earlier upf-c left.
func (k *File) commit() error {
	if k == nil {
		return nil
	}
	return os.Rename(k.path+".new", k.path)
}

// close lets go of a file that never got its name.
func (k *File) close() {
	if k != nil {
		_ = unix.Munmap(k.b)
		_ = k.f.Close()
	}
}

// stamp notes that upf-c lives.
func (k *File) stamp(now time.Time) {
	if k != nil {
		atomic.StoreInt64(&k.header.alive, now.Unix())
	}
}

// chunk is memory for cells, in the file where it has room.
func (k *File) chunk(i uint32) ([]byte, error) {
	if k != nil {
		at := k.chunksAt + int64(i)*slabChunk
		err := reserve(k.f, at, slabChunk)
		if err == nil {
			var b []byte
			if b, err = unix.Mmap(int(k.f.Fd()), at, slabChunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
				return b, nil
			}
		}
		k.outside[i] = true
		k.full = err
	}
	return unix.Mmap(-1, 0, slabChunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
}

// in is the word of a cell, 0 when it is not in the file.
func (k *File) in(unit, length uint32, life uint8) uint64 {
	if k.outside[uint32(uint64(unit)*slabUnit/slabChunk)] {
		return 0
	}
	return uint64(wordOf(unit, length, life))
}

func (k *File) session(index, unit, length uint32, life uint8) {
	if k != nil && int(index) < len(k.table) {
		atomic.StoreUint64(&k.table[index], k.in(unit, length, life))
	}
}

func (k *File) noSession(index uint32) {
	if k != nil && int(index) < len(k.table) {
		atomic.StoreUint64(&k.table[index], 0)
	}
}

func (k *File) deletion(i int, unit, length uint32, life uint8) {
	if k != nil {
		atomic.StoreUint64(&k.ended[i], k.in(unit, length, life))
	}
}

func (k *File) noDeletion(i int) {
	if k != nil {
		atomic.StoreUint64(&k.ended[i], 0)
	}
}

func (k *File) meta(unit, length uint32) {
	if k != nil {
		atomic.StoreUint64(&k.header.meta, k.in(unit, length, 0))
	}
}

// begin notes which upf-u a life is.
func (k *File) begin(life uint8, bootID uint64) {
	if k != nil {
		atomic.StoreUint64(&k.header.boots[life], bootID)
		atomic.StoreUint64(&k.header.life, uint64(life))
	}
}

// Left is the file that an earlier upf-c left.
type Left struct {
	b      []byte
	header *keptHeader
	Table  []uint64 // the word of each session
	Ended  []uint64 // of each deletion of late
	chunks []byte
}

// ErrNothingLeft: no earlier upf-c left a file.
var ErrNothingLeft = errors.New("no earlier upf-c left any state")

// Open opens the file unless it says nothing of the present. wait bounds how long ago it was written, 0: any
// time.
func Open(path string, now time.Time, wait time.Duration) (*Left, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNothingLeft
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() < keptAlign {
		return nil, fmt.Errorf("%d octets are no state", st.Size())
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	h := (*keptHeader)(unsafe.Pointer(&b[0]))
	age := now.Sub(time.Unix(h.alive, 0))
	switch {
	case h.magic != keptMagic || h.layout != keptLayout:
		err = errors.New("it is not upf-c's, or of another version")
	case !state.Reads(h.version):
		err = fmt.Errorf("it has blobs of version %d, this upf-c reads %d to %d", h.version, state.Oldest, state.Version)
	case h.machine != machineBoot():
		err = errors.New("it is from before the machine's last start")
	case wait > 0 && age > wait:
		err = fmt.Errorf("it is %s old, and no CP function is waited for so long", age.Round(time.Second))
	case keptChunks(h.sessions) > int64(len(b)):
		err = errors.New("it is cut short")
	}
	if err != nil {
		_ = unix.Munmap(b)
		return nil, err
	}
	l := &Left{b: b, chunks: b[keptChunks(h.sessions):]}
	l.header, l.Table, l.Ended = keptTables(b, h.sessions)
	return l, nil
}

// Close lets go of it.
func (l *Left) Close() {
	if l != nil {
		_ = unix.Munmap(l.b)
	}
}

// Blob is what a word names, nil when it names nothing in the file.
func (l *Left) Blob(w Word) []byte {
	from := uint64(w.unit()) * slabUnit
	if w.length() == 0 || from+uint64(w.length()) > uint64(len(l.chunks)) {
		return nil
	}
	return l.chunks[from:][:w.length():w.length()]
}

// Boot is the upf-u of a life.
func (l *Left) Boot(life uint8) uint64 { return l.header.boots[life] }

// CountersPath is where the last counters of a upf-u are saved.
func CountersPath(path string, bootID uint64) string {
	return fmt.Sprintf("%s.counters-%016x", path, bootID)
}

// DropCounters removes those that nobody refers to any more.
func DropCounters(path string) {
	if path == "" {
		return
	}
	dir, name := filepath.Split(path)
	entries, _ := os.ReadDir(filepath.Clean(dir))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+".counters-") {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Meta is META, as it was kept.
func (l *Left) Meta() []byte { return l.Blob(Word(l.header.meta)) }
