package stack

import (
	"runtime"
	"testing"
	"unsafe"
)

// deep calls itself until so much of the stack is in use, and says whether the stack has been moved meanwhile.
//
//go:noinline
func deep(use int, mark uintptr, at *int) bool {
	var b [512]byte
	runtime.KeepAlive(&b)
	if use > 0 && deep(use-len(b), mark, at) {
		return true
	}
	return uintptr(unsafe.Pointer(at)) != mark
}

// What a request needs of the stack is there when it begins, and the stack stays where it is. Without, it is moved: that it lies where it did would be chance.
func TestGrow(t *testing.T) {
	for sentence, x := range map[string]struct {
		grow  func()
		moves bool
	}{"grown at once": {Grow, false}, "as goroutines begin": {func() {}, true}} {
		t.Run(sentence, func(t *testing.T) {
			moved := make(chan bool)
			go func() {
				x.grow()
				var here int
				moved <- deep(room*3/4, uintptr(unsafe.Pointer(&here)), &here)
			}()
			if <-moved != x.moves {
				t.Errorf("the stack has been moved: %v, want %v", !x.moves, x.moves)
			}
		})
	}
}
