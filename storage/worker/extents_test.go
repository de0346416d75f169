package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// Nothing is looked up for traces of which nothing was judged before: what is kept grows for months, and each look into it costs more.
func TestIssueNewTracesNeedNoLookAtWhatIsKept(t *testing.T) {
	store := storagetest.Open(t)
	w := on(t, store)
	w.config.LearnEvery = time.Hour // what is learned has traces judged again
	w.learnedAt, w.learning = time.Now(), time.Hour
	looks := 0
	w.before = func(statement string) error {
		if statement == "verdicts of traces" {
			looks++
		}
		return nil
	}
	early, late := manyTraces(20), manyTracesFrom(20, 20)
	store.Insert(t, early...)
	nextSecond(t)
	passes(t, w)
	store.Insert(t, late[:90]...)
	nextSecond(t)
	passes(t, w)
	if looks != 0 {
		t.Errorf("%d looks for traces that are new", looks)
	}
	store.Insert(t, late[88:]...)
	passes(t, w)
	if looks == 0 {
		t.Error("no look for a trace of which more arrived")
	}
	want := storagetest.Open(t)
	want.Insert(t, append(early, late...)...)
	passes(t, on(t, want))
	same(t, store, dump(t, want))
}

// What was judged before extents were kept is judged as a whole when more of it arrives.
func TestIssueTracesJudgedBeforeExtentsWereKept(t *testing.T) {
	engine := enginetest.Start(t)
	spans := manyTraces(30)
	want := storagetest.OpenOn(t, engine)
	want.Insert(t, spans...)
	passes(t, on(t, want))
	store := storagetest.OpenOn(t, engine)
	early := spans[:0:0]
	for i, s := range spans {
		if i%5 != 0 && i%5 != 2 { // neither entries nor the callees that go on
			early = append(early, s)
		}
	}
	store.Insert(t, early...)
	passes(t, on(t, store))
	forgetExtents(t, store)
	for i, s := range spans {
		if i%5 == 0 || i%5 == 2 {
			store.Insert(t, s)
		}
	}
	passes(t, on(t, store))
	same(t, store, dump(t, want))
}

// nextSecond waits for it: raw spans tell the second of their arrival only, and those of the last are looked at twice where a worker goes up to
// now.
func nextSecond(t *testing.T) {
	t.Helper()
	for now := time.Now().Unix(); time.Now().Unix() == now; time.Sleep(10 * time.Millisecond) {
	}
}

// forgetExtents leaves a database as a worker that kept no extents left it.
func forgetExtents(t *testing.T, store *storagetest.Store) {
	t.Helper()
	for _, sql := range []string{"TRUNCATE TABLE %s.trace_extents", "ALTER TABLE %s.worker_progress DELETE WHERE step = 'extents' SETTINGS mutations_sync = 1"} {
		if _, err := store.Engine.Query(fmt.Sprintf(sql, store.Database)); err != nil {
			t.Fatal(err)
		}
	}
}
