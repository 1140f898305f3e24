package main

import (
	"bufio"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/free5gc/pfcp"
)

// The SMF's library drops a message as a whole because of one IE that it does not know, or whose type
// it cannot decode. So every sort of message that our UPF sends it is decoded here; upf-c's
// TestMessagesToFree5GC keeps the file as upf-c sends them.
func TestMessagesOfTheUPFCanBeRead(t *testing.T) {
	f, err := os.Open("../../upf/upfc/agent/testdata/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		name, text, _ := strings.Cut(lines.Text(), " ")
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			var m pfcp.Message
			if err := m.Unmarshal(b); err != nil {
				t.Errorf("free5GC's SMF cannot read it: %v", err)
			}
		})
	}
	if n < 10 {
		t.Errorf("only %d messages", n)
	}
}
