package main

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

func TestNotify(t *testing.T) {
	for sentence, name := range map[string]string{
		"a socket of the file system": filepath.Join(t.TempDir(), "notify"),
		"an abstract socket":          "@" + t.TempDir(),
	} {
		t.Run(sentence, func(t *testing.T) {
			l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			t.Setenv("NOTIFY_SOCKET", name)
			if err := notify("READY=1"); err != nil {
				t.Fatal(err)
			}
			_ = l.SetReadDeadline(time.Now().Add(time.Minute))
			said := make([]byte, 64)
			n, err := l.Read(said)
			if err != nil || string(said[:n]) != "READY=1" {
				t.Errorf("heard %q, %v", said[:n], err)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
		if err := notify("READY=1"); err == nil {
			t.Error("a socket that is not there was told")
		}
	})
	t.Run("no service manager", func(t *testing.T) {
		t.Setenv("NOTIFY_SOCKET", "")
		if err := notify("READY=1"); err != nil {
			t.Error(err)
		}
	})
}
