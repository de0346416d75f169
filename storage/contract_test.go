package storage_test

import (
	"testing"
	"time"

	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

func TestMeasured(t *testing.T) {
	store := storagetest.Open(t)
	spans := reportSpans()
	store.Insert(t, spans...)
	store.Insert(t, spans...) // every span arrives twice
	q := storage.ContractQuestion{Window: storage.Window{From: noon, To: noon.Add(time.Hour)}, Service: "shop", Route: "/buy"}
	before, err := store.Measured(t.Context(), q)
	if err != nil || before.OrphanTime != nil {
		t.Errorf("orphan work before anybody judged: %v, %v", before.OrphanTime, err)
	}
	judge(t, store)
	measured, err := store.Measured(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "contract", measured)
	q.Route = "' OR 1 = 1 --"
	if none, err := store.Measured(t.Context(), q); err != nil || none.Requests != 0 || none.MissedRatio != nil || none.Retries != nil {
		t.Errorf("a route that is not there: %+v, %v", none, err)
	}
}
