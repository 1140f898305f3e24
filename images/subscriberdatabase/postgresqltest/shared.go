package postgresqltest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is one server for the tests of a package, each of which has databases of its own.
var shared struct {
	sync.Mutex
	server    *Server
	err       error
	databases int
}

// Main runs the tests of a package, and ends what Database has started.
func Main(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.Close()
	}
	os.Exit(code)
}

// Database returns the URI of a new database of a server that the package's tests share. The package has Main for TestMain.
func Database(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = Start(settings...)
	}
	if errors.Is(shared.err, ErrMissing) {
		t.Skip(shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	shared.databases++
	name := fmt.Sprintf("test%d", shared.databases)
	shared.server.Exec(t, "CREATE DATABASE "+name)
	return shared.server.URIOf(name)
}
