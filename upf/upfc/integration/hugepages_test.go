package integration

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const hugepages = "/sys/kernel/mm/hugepages/hugepages-2048kB/"

func hugepagesOf(t *testing.T, kind string) int {
	t.Helper()
	text, err := os.ReadFile(hugepages + kind)
	if err != nil {
		t.Skip("this kernel has no hugepages of 2 MiB")
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// exactlyFree lets so many hugepages be free while the test runs.
func exactlyFree(t *testing.T, pages int) {
	t.Helper()
	before := hugepagesOf(t, "nr_hugepages")
	set := func(n int) { _ = os.WriteFile(hugepages+"nr_hugepages", []byte(strconv.Itoa(n)), 0o644) }
	t.Cleanup(func() { set(before) })
	set(before - hugepagesOf(t, "free_hugepages") + pages)
	if n := hugepagesOf(t, "free_hugepages"); n != pages {
		t.Skipf("this machine gives %d free hugepages of 2 MiB, the test wants %d", n, pages)
	}
}

// segment is upf-u's shared memory as a process maps it: which it is, and the size of its pages in KiB; zero: none.
func segment(t *testing.T, p *process) (inode string, page int) {
	t.Helper()
	smaps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, at, found := strings.Cut(string(smaps), "memfd:upf-shm")
	if !found {
		return "", 0
	}
	before := smaps[:len(smaps)-len(at)]
	fields := strings.Fields(string(before[bytes.LastIndexByte(before, '\n')+1:]))
	if _, err := fmt.Sscanf(at[strings.Index(at, "KernelPageSize:"):], "KernelPageSize: %d kB", &page); err != nil {
		t.Fatal(err)
	}
	return fields[4], page
}

// upf-u, killed alone, finds its hugepages again though upf-c maps some of them, also when it is slow to let go.
func TestIntegrationHugepagesSurviveAKillOfUPFU(t *testing.T) {
	r := newRig(t)
	r.upfu.kill()
	for r.mapsUPFU() {
		time.Sleep(2 * time.Millisecond)
	}
	text, err := os.ReadFile(r.path("upf-u.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r.file("upf-u.yaml", strings.Replace(string(text), "hugepages: false", "hugepages: true", 1))
	exactlyFree(t, 128/2) // memory: 128
	t.Cleanup(func() { r.upfu.kill() })
	onHugepages := func(what string) {
		t.Helper()
		r.await(time.Minute, what+" has its memory", func() bool { _, page := segment(t, r.upfu); return page != 0 })
		if _, page := segment(t, r.upfu); page != 2048 {
			t.Errorf("%s has its counters on pages of %d KiB, want hugepages", what, page)
		}
		r.await(time.Minute, "upf-c maps "+what, func() bool {
			its, _ := segment(t, r.upfc)
			own, _ := segment(t, r.upfu)
			return its == own
		})
	}
	r.startUPFU()
	onHugepages("the first upf-u")
	r.upfu.kill()
	r.startUPFU()
	onHugepages("its successor")

	if err := r.upfc.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.upfu.kill()
	r.startUPFU()
	// Its packet buffers and rules have their pages; for those of the counters it has to wait.
	r.await(time.Minute, "upf-u takes what there is", func() bool { return hugepagesOf(t, "free_hugepages") == 0 })
	time.Sleep(300 * time.Millisecond) // nothing shows that it waits
	if err := r.upfc.cmd.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	onHugepages("one that was faster than upf-c")
}
