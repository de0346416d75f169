// Package recordtest holds the contract of a [record.Store] as tests that every implementation runs.
package recordtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/sdk/record"
)

// Run tests a store. Its keys begin with "contract-" and the name of the test.
func Run(t *testing.T, s record.Store) {
	t.Run("create, read, replace", func(t *testing.T) { testPut(t, s) })
	t.Run("list below a key", func(t *testing.T) { testList(t, s) })
	t.Run("concurrent changes lose nothing", func(t *testing.T) { testChange(t, s) })
	t.Run("watch finds old and new", func(t *testing.T) { testWatch(t, s) })
}

func testPut(t *testing.T, s record.Store) {
	ctx := t.Context()
	if _, err := s.Get(ctx, "contract-put.a"); !errors.Is(err, record.ErrNotFound) {
		t.Fatalf("get of nothing: %v", err)
	}
	if _, err := s.Put(ctx, "contract-put.a", []byte(`"old"`), 7); !errors.Is(err, record.ErrChanged) {
		t.Fatalf("put over a revision that never was: %v", err)
	}
	first, err := s.Put(ctx, "contract-put.a", []byte(`"one"`), 0)
	if err != nil || first == 0 {
		t.Fatalf("create: revision %d, %v", first, err)
	}
	if _, err := s.Put(ctx, "contract-put.a", []byte(`"again"`), 0); !errors.Is(err, record.ErrChanged) {
		t.Fatalf("create twice: %v", err)
	}
	second, err := s.Put(ctx, "contract-put.a", []byte(`"two"`), first)
	if err != nil || second == first {
		t.Fatalf("replace: revision %d, %v", second, err)
	}
	if _, err := s.Put(ctx, "contract-put.a", []byte(`"three"`), first); !errors.Is(err, record.ErrChanged) {
		t.Fatalf("replace an old revision: %v", err)
	}
	e, err := s.Get(ctx, "contract-put.a")
	if err != nil || string(e.Value) != `"two"` || e.Revision != second || e.Key != "contract-put.a" {
		t.Fatalf("read %+v, %v", e, err)
	}
	for _, bad := range []string{"", "a..b", "a b", "a.*", "a.>", ".a", "ä"} {
		if _, err := s.Put(ctx, bad, []byte("1"), 0); !errors.Is(err, record.ErrKey) {
			t.Errorf("key %q: %v", bad, err)
		}
	}
}

func testList(t *testing.T, s record.Store) {
	ctx := t.Context()
	for _, k := range []string{"contract-list.b", "contract-list.b.one", "contract-list.b.one.deep", "contract-list.b2", "contract-list.a"} {
		if _, err := s.Put(ctx, k, []byte(`1`), 0); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(ctx, "contract-list.b")
	var keys []string
	for _, e := range list {
		keys = append(keys, e.Key)
	}
	if want := "[contract-list.b contract-list.b.one contract-list.b.one.deep]"; err != nil || fmt.Sprint(keys) != want {
		t.Fatalf("listed %v, %v; want %s", keys, err, want)
	}
	if list, err := s.List(ctx, "contract-list.nothing"); err != nil || len(list) != 0 {
		t.Fatalf("listed %v, %v", list, err)
	}
}

func testChange(t *testing.T, s record.Store) {
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := record.Change(t.Context(), s, "contract-change", func(n int, _ bool) (int, error) { return n + 1, nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n, err := record.Get[int](t.Context(), s, "contract-change"); err != nil || n != writers*each {
		t.Fatalf("%d changes of %d, %v", n, writers*each, err)
	}
	stop := errors.New("stop")
	if n, err := record.Change(t.Context(), s, "contract-change", func(int, bool) (int, error) { return 0, stop }); !errors.Is(err, stop) || n != writers*each {
		t.Fatalf("a change that was called off: %d, %v", n, err)
	}
}

func testWatch(t *testing.T, s record.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := s.Put(ctx, "contract-watch.in.old", []byte(`1`), 0); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 16)
	err := s.Watch(ctx, "contract-watch.in", func(e record.Entry) { found <- e.Key })
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"contract-watch.other", "contract-watch.in.new.deep"} {
		if _, err := s.Put(ctx, k, []byte(`1`), 0); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for len(seen) < 2 {
		select {
		case k := <-found:
			seen[k] = true
		case <-time.After(20 * time.Second):
			t.Fatalf("found only %v", seen)
		}
	}
	if seen["contract-watch.other"] {
		t.Error("found a key that nobody watches")
	}
}
