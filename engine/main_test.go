package engine_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
)

// sharedEngine serves the tests that need nothing special of their engine.
var sharedEngine = sync.OnceValues(func() (*enginetest.Engine, error) {
	dir, err := os.MkdirTemp("", "laxity-engine-")
	if err != nil {
		return nil, fmt.Errorf("directory of the shared engine: %w", err)
	}
	return enginetest.New(enginetest.Options{Data: dir, MaxQueries: 4})
})

func shared(t *testing.T) *enginetest.Engine {
	t.Helper()
	used = true
	e, err := sharedEngine()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var used bool

func TestMain(m *testing.M) {
	code := m.Run()
	if used {
		if e, err := sharedEngine(); err == nil {
			if err := e.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
			_ = os.RemoveAll(e.Dir)
		}
	}
	os.Exit(code)
}

// eventually waits for what becomes true soon.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
