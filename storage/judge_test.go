package storage_test

import (
	"testing"
	"time"

	"github.com/laxity-dev/laxity/storage/storagetest"
	"github.com/laxity-dev/laxity/storage/worker"
)

// judge lets a worker judge what is stored.
func judge(t *testing.T, store *storagetest.Store) {
	t.Helper()
	w, err := worker.New(worker.Config{Store: store.DB, DaysEvery: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.PassNow(t.Context()); err != nil {
		t.Fatal(err)
	}
}
