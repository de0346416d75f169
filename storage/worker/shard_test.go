package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/laxity-dev/laxity/engine/enginetest"
	"github.com/laxity-dev/laxity/storage"
	"github.com/laxity-dev/laxity/storage/storagetest"
)

// Variables that make the test binary a worker which passes until it is killed.
const (
	dsnVariable   = "LAXITY_TEST_WORKER_DSN"
	shardVariable = "LAXITY_TEST_WORKER_SHARD"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(dsnVariable); dsn != "" {
		fmt.Fprintln(os.Stderr, passForEver(dsn, os.Getenv(shardVariable)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func passForEver(dsn, shard string) error {
	store, err := storage.Open(storage.Config{DSN: dsn})
	if err != nil {
		return err
	}
	part, err := storage.ParseShard(shard)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		w, err := New(Config{Store: store, Shard: part, DaysEvery: 1})
		if err != nil {
			return err
		}
		if err := w.PassNow(context.Background()); err != nil {
			return err
		}
	}
}

// runWorker starts a worker in a process of its own and kills it after some time.
func runWorker(t *testing.T, dsn, shard string, lives time.Duration) {
	t.Helper()
	worker := exec.CommandContext(t.Context(), os.Args[0])
	worker.Env = append(os.Environ(), dsnVariable+"="+dsn, shardVariable+"="+shard)
	var errs strings.Builder
	worker.Stderr = &errs
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatalf("worker: %v %s", err, errs.String())
	}
	time.Sleep(lives) // the moment of the kill is what is tried
	if err := worker.Process.Kill(); err != nil {
		t.Fatalf("worker ended by itself: %s", errs.String())
	}
	if err := worker.Wait(); worker.ProcessState.ExitCode() != -1 {
		t.Fatalf("worker: %v %s", err, errs.String())
	}
}

func shardOf(t *testing.T, store *storagetest.Store, number, of int) *Worker {
	t.Helper()
	w, err := New(Config{Store: store.DB, DaysEvery: 1, Shard: storage.Shard{Number: number, Of: of}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Two workers that share the traces, killed again and again while spans arrive, leave the rows that one leaves in peace.
func TestShardsKilled(t *testing.T) {
	engine := enginetest.Start(t)
	spans := manyTraces(80)
	reference := storagetest.OpenOn(t, engine)
	reference.Insert(t, spans...)
	passes(t, on(t, reference))
	want := dump(t, reference)

	store := storagetest.OpenOn(t, engine)
	random := rand.New(rand.NewPCG(5, 6))
	kills := 6
	if os.Getenv("LAXITY_SOAK") != "" {
		kills = 100
	}
	for n := range kills {
		store.Insert(t, spans[n*len(spans)/kills:(n+1)*len(spans)/kills]...)
		runWorker(t, store.DSN(), fmt.Sprintf("%d/2", n%2+1), time.Duration(random.IntN(300))*time.Millisecond)
	}
	second := shardOf(t, store, 2, 2)
	passes(t, second)
	passes(t, shardOf(t, store, 1, 2))
	same(t, store, want)
	if judged := second.stats.traces.Load(); judged == 80 {
		t.Error("one shard judged every trace")
	}

	// Another division begins where this one is.
	progress, err := store.Progress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if progress[storage.StepVerdicts].IsZero() {
		t.Errorf("no common watermark: %v", progress)
	}
	third := shardOf(t, store, 3, 3)
	passes(t, third)
	if n := third.stats.traces.Load(); n > 20 { // raw spans of the watermark's own second are looked at twice
		t.Errorf("another division judged %d traces again", n)
	}
	same(t, store, want)
}

// A worker that judges nothing but a shard leaves the rollups to the first, and readers see the earliest of the watermarks.
func TestShardsShareOneWatermark(t *testing.T) {
	store := storagetest.Open(t)
	store.Insert(t, manyTraces(4)...)
	passes(t, shardOf(t, store, 2, 2))
	progress, err := store.Progress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, known := progress[storage.StepVerdicts]; known || !progress[storage.StepMinutes].IsZero() {
		t.Errorf("one of two shards gave %v", progress)
	}
	passes(t, shardOf(t, store, 1, 2))
	if progress, err = store.Progress(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at := progress[storage.StepVerdicts]; at.IsZero() || !at.Equal(progress["verdicts 2/2"]) {
		t.Errorf("watermark %s of %v", at, progress)
	}
}

func TestParseShard(t *testing.T) {
	for _, text := range []string{"", "0/2", "3/2", "1", "1/2/3", "-1/2", "1/0", "a/b", "1/2000", "0/0"} {
		if s, err := storage.ParseShard(text); err == nil {
			t.Errorf("%q was read as %v", text, s)
		}
	}
	if s, err := storage.ParseShard("2/3"); err != nil || s != (storage.Shard{Number: 2, Of: 3}) {
		t.Errorf("%v, %v", s, err)
	}
}

// Orphan time is a counter: it counts a finding once and never falls.
func TestOrphanTimeIsACounter(t *testing.T) {
	store := storagetest.Open(t)
	spans := manyTraces(3)
	store.Insert(t, spans...)
	w := on(t, store)
	read := func() (found, back float64) {
		var text strings.Builder
		if err := w.WriteMetrics(&text); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			var value float64
			if i := strings.LastIndex(line, " "); i > 0 {
				_, _ = fmt.Sscan(line[i:], &value)
			}
			switch {
			case strings.HasPrefix(line, "deadline_orphan_time_seconds_total{service=\"model\""):
				found += value
			case strings.HasPrefix(line, "deadline_orphan_time_taken_back_seconds_total{"):
				back += value
			}
		}
		return found, back
	}
	passes(t, w)
	first, back := read()
	if first < 3 || back != 0 {
		t.Errorf("%g s found, %g s taken back", first, back)
	}
	store.Insert(t, spans...)
	passes(t, w)
	if again, _ := read(); again != first {
		t.Errorf("%g s after the same spans again, %g s before", again, first)
	}
	if err := store.DeleteTrace(t.Context(), spans[0].Trace); err != nil {
		t.Fatal(err)
	}
	passes(t, w)
	if again, _ := read(); again != first {
		t.Errorf("%g s after a deletion, %g s before", again, first)
	}
}
