package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/storage/storagetest"
)

// What one second of a pass gets through: traces of five spans, raw spans and hops.
func BenchmarkPass(b *testing.B) {
	store := storagetest.Open(b)
	var spans int
	for n := range 10 {
		batch := manyTracesFrom(n*2000, 2000)
		spans += len(batch)
		store.Insert(b, batch...)
	}
	busy := engineCPU(b, store)
	for b.Loop() {
		if _, err := store.Engine.Query("TRUNCATE TABLE " + store.Database + ".worker_progress"); err != nil {
			b.Fatal(err)
		}
		w, err := New(Config{Store: store.DB, DaysEvery: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		if err := w.PassNow(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(spans*b.N)/b.Elapsed().Seconds(), "spans/s")
	b.ReportMetric((engineCPU(b, store)-busy)/float64(spans*b.N), "engine-µs/span")
}

// engineCPU is the processor time of the engine's statements so far, in microseconds.
func engineCPU(b *testing.B, store *storagetest.Store) float64 {
	b.Helper()
	out, err := store.Engine.Query("SELECT value FROM system.events WHERE event = 'OSCPUVirtualTimeMicroseconds'")
	if err != nil {
		b.Fatal(err)
	}
	var busy float64
	_, _ = fmt.Sscan(out, &busy)
	return busy
}
